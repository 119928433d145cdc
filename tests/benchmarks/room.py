"""Measure a school class in a game room: sixty players on one server, and the teacher's screen.

Players use the app's own protocol, as a browser does; the teacher has a real browser.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
from playwright.async_api import async_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from tests.benchmarks.screen import server
from tests.browser.conftest import FLAGS, system_browser

#: Number of players, seconds between two guesses of a player, and seconds of the whole game.
PLAYERS, EVERY, SECONDS = 60, 5.0, 120.0

#: Largest number of seconds that a player waits for an answer.
_PATIENCE = 60.0

#: Stores the time at which the teacher's screen first shows each number of guesses.
_WATCH = """() => { window.seen = []; let last = 0; setInterval(() => {
  const found = document.body.innerText.match(/Class: [\\d,]+ of ([\\d,]+) right/);
  const guesses = found ? +found[1].replace(',', '') : 0;
  if (guesses > last) window.seen.push([Date.now() / 1000, last = guesses]);
}, 20) }"""


@dataclass
class Player:
    """A player who always guesses that the person is in the data."""

    url: str
    room: str
    page: str = ""
    button: str = ""
    waits: bool = False
    fragment: str = ""
    guesses: int = 0
    sent: list[float] = field(default_factory=list)

    async def play(self, place: float, entered: asyncio.Semaphore, start: asyncio.Event) -> None:
        """Enter, wait for the start, and guess; ``place`` spreads the players over the interval."""
        host = urlsplit(self.url).netloc
        address = f"ws://{host}/_stcore/stream"
        async with connect(address, subprotocols=["streamlit"], origin=self.url) as socket:
            first = self._message()
            first.rerun_script.page_name = "game"
            await socket.send(first.SerializeToString())
            await self._read(socket, lambda: bool(self.button))
            entered.release()
            await start.wait()
            begin = time.time() + place * EVERY
            for number in range(int(SECONDS / EVERY)):
                await asyncio.sleep(max(0.0, begin + number * EVERY - time.time()))
                if self.waits:  # after a wrong guess, for "Next draw"
                    await self._press(socket, lambda: not self.waits)
                self.sent.append(time.time())
                await self._press(socket, lambda: self.guesses >= len(self.sent))

    async def _press(self, socket: ClientConnection, until: object) -> None:
        guess = self._message()
        script = guess.rerun_script
        script.page_script_hash, script.fragment_id = self.page, self.fragment
        pressed = script.widget_states.widgets.add()
        pressed.id, pressed.trigger_value = self.button, True
        await socket.send(guess.SerializeToString())
        await self._read(socket, until)

    def _message(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = f"room={self.room}"
        message.rerun_script.context_info.url = f"{self.url}/game"
        return message

    async def _read(self, socket: ClientConnection, until: object) -> None:
        """Read the server's messages until a run has ended and the condition is true."""
        assert callable(until)
        while True:
            message = ForwardMsg()
            message.ParseFromString(await asyncio.wait_for(socket.recv(), _PATIENCE))
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.page = message.new_session.page_script_hash
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                if element.button.label.startswith(("The person is in", "Next draw")):
                    self.waits = element.button.label == "Next draw"
                    self.button, self.fragment = element.button.id, message.delta.fragment_id
                if found := re.search(r"You: [\d,]+ of ([\d,]+) right", element.html.body):
                    self.guesses = int(found[1].replace(",", ""))
            elif kind == "script_finished" and until():
                return


async def play(url: str) -> tuple[list[float], list[tuple[float, int]], int]:
    """Let a class play; returns times of guesses, the teacher's screen, the players' own total."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=system_browser(), args=FLAGS)
        page = await browser.new_page(viewport={"width": 1280, "height": 720})
        await page.goto(f"{url}/game")
        await page.get_by_role("button", name="Open a room").click()
        room = await page.locator(".dpv-room b").inner_text()
        await page.evaluate(_WATCH)
        players = [Player(url, room) for _ in range(PLAYERS)]
        entered, start = asyncio.Semaphore(0), asyncio.Event()
        games = [
            asyncio.create_task(one.play(number / PLAYERS, entered, start))
            for number, one in enumerate(players)
        ]
        for _ in players:
            await entered.acquire()
        start.set()
        await asyncio.gather(*games)
        await asyncio.sleep(EVERY)
        seen = await page.evaluate("window.seen")
        await browser.close()
    sent = sorted(moment for one in players for moment in one.sent)
    return sent, seen, sum(one.guesses for one in players)


def main() -> None:
    """Print how soon the teacher's screen shows a guess; check that no guess is lost."""
    with server() as url:
        sent, seen, scored = asyncio.run(play(url))
    shown = [
        next(when for when, guesses in seen if guesses >= number) - moment
        for number, moment in enumerate(sent[: seen[-1][1]], 1)
    ]
    print(f"room of {PLAYERS}, a guess every {EVERY:g} s, {SECONDS:g} s")
    print(f"  guesses sent {len(sent)}, in players' scores {scored}, on the screen {seen[-1][1]}")
    print("  teacher's update p50 {:.2f} s, p95 {:.2f} s".format(*np.percentile(shown, [50, 95])))
