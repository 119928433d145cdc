"""Audits of anybody's code: an estimator with ``fit``, or a program that reads a CSV file.

The code runs in a separate process. Half of the runs on all pairs of data sets choose one pair and
one event. New runs on this pair test the event once, so the confidence is for all pairs.
"""

from __future__ import annotations

import base64
import inspect
import json
import math
import os
import pickle
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any
from zlib import crc32

import numpy as np

from dpviz.audit import external_runs
from dpviz.audit.bounds import (
    CONFIDENCE,
    POWER,
    best_event,
    highest,
    lower_bound,
    share_bounds,
    visible,
)
from dpviz.audit.classifier import CLASSIFIER_NAME, classifier_scores
from dpviz.audit.pairs import MANY, PAIRS, Box, Pair, pairs
from dpviz.audit.runs import checked_runs, event_in_words
from dpviz.audit.scores import position
from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, check_number, reason, shown
from dpviz.base.numbers import counted
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.privacy.ledger import Neighbours, Relation

#: Usual number of runs on each data set; box of the records; limits for one run and for memory.
RUNS, BOX, SECONDS, MEMORY = 2_000, ((0.0, 1.0), (0.0, 1.0)), 10.0, 2_000

#: Number of runs in which two new processes are compared, and maximum seconds to load the code.
_TWICE, _LOADING = 20, 120.0

#: Number of first choosing runs on each pair (a quarter of them, if this is more), and number of
#: pairs that get the other choosing runs.
_FIRST, _KEPT = 200, 3

#: Parts of error messages for a method's file, to which ``--set`` does not apply.
_OF_FILE = {
    "gives": "a file with a CARD and a function run, or ",
    "change": "mend the file, or change --claim",
}

#: Variable of the code's process, so that a script that audits its own class starts no more audits.
_INSIDE = "DPVIZ_AUDITED"

#: Number of runs that are asked for together.
_BATCH = 25

#: Number of other records per column whose labels are predicted.
_PROBES = 5

_FAILS, _ERROR_TEXT = "error at the end of the run", "text of the error"

#: A run: a list of names, shapes and numbers; or the text of its error.
_Row = list[tuple[str, list[int], Floats]] | str


@dataclass(frozen=True, kw_only=True)
class PairSeen:
    """A pair of the audit; ``chosen`` is the cautious bound of its choosing runs, not a test."""

    name: str
    description: str
    chosen: float


@dataclass(frozen=True, kw_only=True)
class ExternalAudit:
    """What an audit of anybody's code found.

    ``epsilon_lower`` (at the claimed ``delta``) and ``delta_lower`` (at the claimed epsilon) are
    for ``event`` on the pair ``scenario``; the confidence is for all pairs. ``repeats``: a new
    process gives the same noise again. ``visible``: real epsilon of one published number that these
    runs nearly always show (None: more runs are needed). If not ``violated``, nothing is proven.
    """

    code: str
    parameters: Mapping[str, str]
    relation: Relation
    claim: float
    delta: float
    epsilon_lower: float
    delta_lower: float
    confidence: float
    runs: int
    scenario: str
    description: str
    event: str
    violated: bool
    repeats: bool
    seed: int
    numbers: int
    visible: float | None
    highest: float
    pairs: tuple[PairSeen, ...]
    unseen: Mapping[str, str]
    notes: tuple[str, ...]
    repeat: tuple[str, ...]

    def sections(self) -> list[tuple[str, list[str]]]:
        """The report: titles and lines."""
        claimed = f"epsilon {self.claim:g}" + (f", delta {self.delta:g}" if self.delta else "")
        measured = f"{self.epsilon_lower:.3g} or more with {self.confidence:.0%} confidence"
        if self.delta:
            measured += f" (delta {self.delta_lower:.2g} or more at epsilon {self.claim:g})"
        if self.violated and self.epsilon_lower <= self.claim:
            verdict = f"REFUTED: claimed {claimed}, but a new process repeats the noise"
        elif self.violated:
            verdict = f"REFUTED: claimed {claimed}, measured epsilon {measured}"
        else:
            verdict = f"not refuted: claimed {claimed}, measured epsilon {measured}; this proves "
            verdict += "nothing"
        code = self.code
        if self.parameters:
            code += f"({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"
        change = "added or removed" if self.relation == "add_remove" else "replaced"
        shows = (
            "With these runs, Laplace noise of no real epsilon is visible in "
            f"{POWER:.0%} of audits: give more runs."
            if self.visible is None
            else "One number with Laplace noise of a real epsilon of "
            f"{self.visible:.3g} or more is visible in {POWER:.0%} of audits with these runs; a "
            "loss that is spread over many numbers, or that no pair shows, may be larger."
        )
        unseen = [f"{name}: {why}" for name, why in self.unseen.items()]
        run = [one.name for one in self.pairs]
        others = ", ".join(name for name in PAIRS if name not in (*run, MANY))
        return [
            (verdict, [f"{code}; one record {change}", *self.notes]),
            (f"Pair {self.scenario}", [self.description, self.event]),
            (
                "Runs",
                [
                    f"{self.runs:,} on each data set: half of them chose among "
                    f"{counted(len(self.pairs), 'pair')} and {counted(self.numbers, 'score')}, the "
                    "others tested the choice once.",
                    *(f"{one.name}: {one.description}" for one in self.pairs),
                ],
            ),
            (
                "What this audit can't see",
                [
                    shows,
                    f"No audit with these runs shows more than {self.highest:.3g}.",
                    *unseen,
                    *[f"more than about 1,000 records: only with --scenario {MANY}"]
                    * (MANY not in run),
                    f"other pairs ({others}): only with --scenario",
                    f"numbers after the first {external_runs.MOST_NUMBERS:,} of an array: only in "
                    "its sums and extremes; later entries of other lists: not compared",
                    "noise in numbers that are not published: it may be too small",
                    "times, warnings, files, and what a run publishes before its error: not "
                    "compared",
                ],
            ),
            ("Repeat", list(self.repeat)),
        ]

    def text(self) -> str:
        """The report as plain text."""
        return "\n".join("\n  ".join([title, *lines]) for title, lines in self.sections())

    def markdown(self) -> str:
        """The report as Markdown."""
        parts = []
        for level, (title, lines) in enumerate(self.sections()):
            body = (
                ["```sh", *lines, "```"]
                if title == "Repeat"
                else [f"* {_plain(line)}" for line in lines]
            )
            parts.append("\n".join([f"{'##' if level else '#'} {_plain(title)}", "", *body]))
        return "\n\n".join(parts)


def _plain(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_<>[]#|" else sign for sign in text)


def audit_external(
    target: str | None = None,
    *,
    command: str | None = None,
    given: Mapping[str, Any] | None = None,
    claim: float = 1.0,
    delta: float = 0.0,
    runs: int | None = None,
    scenario: str | None = None,
    box: Box = BOX,
    relation: Relation = "add_remove",
    publishes: Sequence[str] | None = None,
    header: bool = True,
    seconds: float | None = None,
    memory: int | None = None,
    seed: int = 0,
    runner: str | None = None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> ExternalAudit:
    """Audit ``MODULE:CLASS`` or ``FILE.py:CLASS`` with these parameters, or a command.

    ``claim`` and ``delta`` are also the estimator's epsilon and delta, if it takes them and
    ``given`` does not have them. ``runs`` are the runs on each data set of a pair. ``scenario``
    names one of :data:`dpviz.audit.pairs.PAIRS` instead of the usual pairs. Records are in ``box``,
    one pair of bounds per column. ``publishes``: published attributes (default: all that end in
    ``_``). ``seconds`` limits a run, ``memory`` (MB) its process. With a ``runner`` (see
    :class:`CodeProcess`), the usual pairs include a pair of many records. Raises InputError if the
    code can't be loaded, fails in every run, crashes or does not end, or a number is out of range.
    """
    limits = {"runs": runs, "seconds": seconds, "memory": memory}
    runs = checked_runs(RUNS if runs is None else runs)
    limits |= {} if runner else {"runs": runs}
    # A run of a method's file may be on many records.
    seconds = SECONDS * (6 if runner else 1) if seconds is None else seconds
    memory = MEMORY if memory is None else memory
    _check(claim, delta, seconds, memory, seed)
    Neighbours(relation=relation)
    chosen_pairs = pairs(scenario, many=runner is not None)
    axes = [np.linspace(low, high, _PROBES) for low, high in box]
    probes = np.stack(np.meshgrid(*axes[:3]), axis=-1).reshape(-1, min(len(axes), 3))
    middle = [sum(bounds) / 2 for bounds in box[3:]]
    asked = {
        "target": target,
        "command": command,
        "publishes": publishes,
        "header": header,
        "box": [list(bounds) for bounds in box],
        "probes": np.hstack([probes, np.tile(middle, (len(probes), 1))]).tolist(),
        "memory": memory * 2**20,
        "scenario": scenario,
        "runner": runner,
        **(_OF_FILE if runner else {}),
    }
    values = dict(given or {})
    code = target or command or ""
    half = runs // 2
    work = Work(2 * (_TWICE + half * len(chosen_pairs) + runs - half), "runs", progress, cancelled)
    with CodeProcess(code, asked, seconds) as process:
        notes = process.begin(values, {"epsilon": claim, "delta": delta})
        audited = _Audited(process, chosen_pairs, box, relation, seed, work)
        with CodeProcess(code, asked, seconds) as other:
            other.begin(values, {})
            again = _Audited(other, chosen_pairs, box, relation, seed + 1, work)
            repeats, more = _compared(audited, again)
        notes += more
        # Some of the choosing runs are enough to see which pairs show little.
        begun = half if half <= _FIRST else max(half // 4, _FIRST)
        choices, seen, score_count = [], [], 0
        for number, pair in enumerate(chosen_pairs):
            sides = [audited.rows(number, side, 0, begun) for side in (0, 1)]
            refused = [all(isinstance(row, str) for row in side) for side in sides]
            if pair.few and scenario is None and refused[0]:
                notes.append(_left_out(pair, str(sides[0][0]), both=refused[1]))
                continue
            failed = [row for side in sides for row in side if isinstance(row, str)]
            if failed:
                notes.append(
                    f"{len(failed):,} of {2 * begun:,} choosing runs on the pair {pair.name} end "
                    f"with an error: {failed[0]}."
                )
            names, gain = _gain(sides, delta)
            choices.append((gain, number, sides))
            seen.append(
                PairSeen(
                    name=pair.name, description=pair.described(relation), chosen=max(gain, 0.0)
                )
            )
            score_count += len(names)
        choices.sort(key=lambda one: -one[0])
        if begun < half:
            for _, number, sides in choices[:_KEPT]:
                for side in (0, 1):
                    sides[side] += audited.rows(number, side, begun, half)
            choices = [
                (_gain(sides, delta)[1], number, sides) for _, number, sides in choices[:_KEPT]
            ]
        # If pairs are equal, choose the first one, because it is the simplest.
        _, number, sides = max(choices, key=lambda one: one[0])
        for side in (0, 1):
            sides[side] += audited.rows(number, side, half, runs)
        work.finish()
        unseen = process.unseen
    pair = chosen_pairs[number]
    names, without, joined, scales = _scored(sides, half)
    bound = lower_bound(without, joined, delta)
    event = replace(bound.event, value=bound.event.value / scales[bound.event.score])
    words = event_in_words(
        names[event.score],
        replace(bound, event=event),
        ("without", "with the record")
        if relation == "add_remove"
        else ("before", "after the record is replaced"),
    )
    return ExternalAudit(
        code=code,
        parameters={name: shown(repr(value), 80) for name, value in values.items()},
        relation=relation,
        claim=claim,
        delta=delta,
        epsilon_lower=bound.epsilon,
        delta_lower=_delta(bound.without, bound.joined, runs - half, event.joined_more, claim),
        confidence=CONFIDENCE,
        runs=runs,
        scenario=pair.name,
        description=pair.described(relation),
        event=words,
        violated=bool(repeats or bound.epsilon > claim),
        repeats=repeats,
        seed=seed,
        numbers=score_count,
        visible=visible(runs, claim, delta),
        highest=highest(runs, delta),
        pairs=tuple(seen),
        unseen=unseen,
        notes=tuple(notes),
        repeat=_repeat(pair, asked, values, claim, delta, limits, relation, seed),
    )


def assert_private(
    estimator: object, claim: float = 1.0, delta: float = 0.0, **how: Any
) -> ExternalAudit:
    """Audit an estimator in a test; raise AssertionError with the report if the claim is refuted.

    ``estimator`` is ``"MODULE:CLASS"``, a class, or an object with ``get_params``. All runs use the
    parameters of this object, except its seed. ``how`` is as in :func:`audit_external`.
    """
    given = dict(how.pop("given", {}))
    if not isinstance(estimator, str):
        kind = estimator if inspect.isclass(estimator) else type(estimator)
        if kind is not estimator:
            if not hasattr(estimator, "get_params"):
                raise InputError(
                    f"{kind.__name__} has no get_params: give the class, and its parameters as "
                    "given={...}."
                )
            own = dict(estimator.get_params(deep=False))
            given = {k: v for k, v in own.items() if k not in external_runs.SEEDS} | given
        module: str | None = kind.__module__
        if module == "__main__":
            module = inspect.getsourcefile(kind)
        estimator = f"{module}:{kind.__qualname__}"
    found = audit_external(estimator, given=given, claim=claim, delta=delta, **how)
    if found.violated:
        raise AssertionError(found.text())
    return found


def _check(claim: float, delta: float, seconds: float, memory: int, seed: int) -> None:
    for name, value, low, high, example in (
        ("claim", claim, 1e-9, 1e3, "1"),
        ("delta", delta, 0, 1 - 1e-9, "1e-6"),
        ("seconds", seconds, 1e-3, 1e6, "10"),
        ("memory", memory, 1, 1e7, "2000"),
        ("seed", seed, 0, 2**63, "0"),
    ):
        if not low <= check_number(name, value) <= high:
            raise InputError(
                f"{name} = {value:g}: give a number from {low:g} to {high:g}, for example "
                f"{example}."
            )


def _delta(without: float, joined: float, n: int, joined_more: bool, claim: float) -> float:
    often, seldom = (joined, without) if joined_more else (without, joined)
    error = (1 - CONFIDENCE) / 2
    low, _ = share_bounds(round(often * n), n, error)
    _, high = share_bounds(round(seldom * n), n, error)
    return max(low - math.exp(min(claim, 700)) * high, 0.0)


# -- runs ----------------------------------------------------------------------------------


class CodeProcess:
    """The process that runs the code; ends with the ``with`` block.

    ``asked`` has the target, or the command, and limits. ``runner`` is ``MODULE:CLASS`` of a class
    that runs the target instead of :class:`dpviz.audit.external_runs.Estimator`; ``gives`` names
    other possible targets in an error.
    """

    def __init__(self, code: str, asked: Mapping[str, Any], seconds: float) -> None:
        self._code, self._asked, self._seconds = code, asked, seconds
        self.unseen: dict[str, str] = {}

    def __enter__(self) -> CodeProcess:
        """Start the process, and load the code in it."""
        if _INSIDE in os.environ:
            raise InputError(
                "an audit starts while audited code is loaded: put the call of the audit below "
                '`if __name__ == "__main__":`.'
            )
        # A killed process can't remove its files.
        self._folder = TemporaryDirectory(prefix="dpviz-audit-")
        self._process = subprocess.Popen(
            [sys.executable, external_runs.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", _INSIDE: "1"},
            # Programs that the code starts end together with it.
            start_new_session=True,
        )
        try:
            self.facts = self._first()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _first(self) -> Any:
        more = {"path": [one for one in sys.path if one], "folder": self._folder.name}
        self._say(json.dumps({**self._asked, **more}))
        facts = self._answer(_LOADING, "while it was loaded")
        if "failed" in facts:
            if (sentence := facts["failed"].removeprefix("InputError: ")) != facts["failed"]:
                raise InputError(f"{shown(self._code, 120)}: {shown(sentence.rstrip('.'), 500)}.")
            gives = self._asked.get("gives", "")
            raise InputError(
                f"{shown(self._code, 120)} can't be loaded ({shown(facts['failed'], 300)}): give "
                f"{gives}MODULE:CLASS or FILE.py:CLASS of an estimator with fit."
            )
        return facts

    def begin(self, given: dict[str, Any], claimed: Mapping[str, float]) -> list[str]:
        """Send the parameters, and those claimed values that the code takes; return notes."""
        takes, notes = self.facts["takes"], []
        unknown = [name for name in given if name not in takes]
        if unknown and not self.facts["open"]:
            raise InputError(
                f"{shown(self._code)} has no parameter {shown(unknown[0])}: choose from "
                f"{shown(', '.join(takes) or 'none', 300)}."
            )
        given |= {
            name: value
            for name, value in claimed.items()
            if name in takes and name not in given and (value or name == "epsilon")
        }
        seed = self.facts["seed"]
        if seed in given and given[seed] is not None:
            notes.append(f"{seed} = {given[seed]!r} makes runs equal: leave it out for new noise.")
        elif self.facts["seeded"]:
            notes.append(
                f"The default of {seed} makes runs equal, so a user who does not change it gets "
                "noise that anybody can repeat; each run of this audit has a new seed."
            )
        try:
            sent = base64.b64encode(pickle.dumps(given))
        except Exception as error:  # objects may fail in any way
            raise InputError(f"a parameter can't be sent to a process ({reason(error)}).") from None
        self._say(sent.decode())
        answer = self._answer(_LOADING, "while it was made")
        if "failed" in answer:
            change = self._asked.get("change", "give others with --set, or change the class")
            raise InputError(
                f"{shown(self._code, 120)} can't be made with these parameters "
                f"({shown(answer['failed'], 300)}): {change}."
            )
        return notes

    def rows(self, points: Floats, seeds: Sequence[int], where: str) -> list[_Row]:
        """One run on points (n, d) for each seed: their rows."""
        self._say(json.dumps({"points": points.tolist(), "seeds": [int(seed) for seed in seeds]}))
        found: list[_Row] = []
        for _ in seeds:
            answer = self._answer(self._seconds, where)
            found.append(
                answer["failed"]
                if "failed" in answer
                else [(name, shape, np.array(part)) for name, shape, part in answer["row"]]
            )
        self.unseen |= self._answer(self._seconds, where)["unseen"]
        return found

    def _say(self, line: str) -> None:
        assert self._process.stdin  # noqa: S101 - a pipe
        with suppress(BrokenPipeError):  # there will be no answer
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _answer(self, seconds: float, where: str) -> Any:
        late: list[bool] = []

        def end() -> None:
            late.append(True)
            self._kill()

        clock = Timer(seconds, end)
        clock.daemon = True
        clock.start()
        assert self._process.stdout  # noqa: S101 - a pipe
        line = self._process.stdout.readline()
        clock.cancel()
        if line.endswith(b"\n"):
            return json.loads(line)
        if late:
            raise InputError(
                f"{shown(self._code, 120)} did not end within {seconds:g} s {where}: give a larger "
                "--seconds, or mend the code; a delay that depends on a record shows this record."
            )
        status = self._process.wait()
        name = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        raise InputError(
            f"{shown(self._code, 120)} ended its process ({name}) {where}: give a larger --memory, "
            "or mend the code; a crash that depends on a record shows this record."
        )

    def _kill(self) -> None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()

    def __exit__(self, *_: object) -> None:
        """End the process and all its programs."""
        self._kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe  # noqa: S101 - a pipe
                pipe.close()
        self._folder.cleanup()


@dataclass(frozen=True)
class _Audited:
    process: CodeProcess
    pairs: Sequence[Pair]
    box: Box
    relation: Relation
    seed: int
    work: Work

    def rows(self, number: int, side: int, begin: int, end: int) -> list[_Row]:
        """Rows of the runs from ``begin`` to ``end`` on one data set of a pair."""
        pair = self.pairs[number]
        points = pair.points(self.box, self.relation)[side]
        where = f'on data set {side + 1} of the pair "{pair.name}"'
        stream = np.random.default_rng((self.seed, crc32(pair.name.encode()), side))
        seeds = stream.integers(2**62, size=end)[begin:]
        found: list[_Row] = []
        for start in range(0, end - begin, _BATCH):
            self.work.check()
            batch = seeds[start : start + _BATCH].tolist()
            found += self.process.rows(points, batch, where)
            self.work.advance(len(batch))
        return found


def _left_out(pair: Pair, error: str, *, both: bool) -> str:
    if both:
        return f"The code refuses both data sets of {pair.name}: {error}."
    return (
        f"The code refuses the first data set of {pair.name} ({error}) and accepts the second, so "
        "an answer shows that there are more records. Much code asks for some records, so this "
        f"audit leaves the pair out; --scenario {pair.name} compares it."
    )


def _compared(audited: _Audited, again: _Audited) -> tuple[bool, list[str]]:
    """Whether a new process with other seeds repeats runs on the first usable data set; notes."""
    for number, side in np.ndindex(len(audited.pairs), 2):
        rows = audited.rows(number, side, 0, _TWICE)
        if not all(isinstance(row, str) for row in rows):
            break
    else:
        raise InputError(
            f"every run fails ({shown(rows[0], 300)}): mend the code or its parameters."
        )
    repeated = again.rows(number, side, 0, _TWICE)
    first, second = ([_key(row) for row in part] for part in (rows, repeated))
    different = len(set(first))
    if different == 1:
        return False, [
            f"The first {_TWICE} runs are equal: maybe the code has no noise, or a fixed seed."
        ]
    # If rows are exchangeable, the same order has a chance of at most 1 in 10!.
    if first == second and different >= _TWICE // 2:
        return True, ["A new process repeats the noise of the last one: its seed is fixed."]
    return False, []


def _gain(sides: Sequence[list[_Row]], delta: float) -> tuple[list[str], float]:
    names, without, joined, _ = _scored(sides, len(sides[0]))
    return names, best_event(without, joined, delta)[0]


def _key(row: _Row) -> object:
    return row if isinstance(row, str) else tuple((name, part.tobytes()) for name, _, part in row)


def _scored(sides: Sequence[list[_Row]], half: int) -> tuple[list[str], Floats, Floats, Floats]:
    """Names, scores (runs, scores) on both data sets, and factors of all scores.

    The first ``half`` runs train a classifier, which gives the last score. They also choose the
    factors, which make small numbers about as large as 1, because a bound rounds its scores.
    """
    names, without, joined = _table(sides)
    first, second = classifier_scores(without, joined, half)
    without, joined = np.column_stack([without, first]), np.column_stack([joined, second])
    both = np.abs(np.concatenate([without[:half], joined[:half]]))
    largest = np.where(np.isfinite(both), both, 0).max(axis=0)
    small = (largest > 0) & (largest < 1)
    scales: Floats = np.ones(len(largest))
    scales[small] = 10 ** np.minimum(np.ceil(-np.log10(largest[small])), 300)
    return [*names, CLASSIFIER_NAME], without * scales, joined * scales, scales


def _table(sides: Sequence[list[_Row]]) -> tuple[list[str], Floats, Floats]:
    """Names of all scores, and scores (runs, scores) on both data sets; missing scores are NaN."""
    sizes: dict[str, tuple[int, list[int]]] = {}
    for row in (*sides[0], *sides[1]):
        for name, shape, part in () if isinstance(row, str) else row:
            if name not in sizes or sizes[name][0] < len(part):
                sizes[name] = len(part), shape
    failed = any(isinstance(row, str) for rows in sides for row in rows)
    names, columns, starts = [_FAILS, _ERROR_TEXT] if failed else [], [], {}
    for name, (size, shape) in sizes.items():
        starts[name] = len(names)
        names += [f"{name}{position(place)}" for place in np.ndindex(*shape)][:size]
    for rows in sides:
        table = np.full((len(rows), len(names)), np.nan)
        for line, row in zip(table, rows, strict=True):
            if isinstance(row, str):
                line[:2] = 1, crc32(row.encode("utf-8", "backslashreplace"))
                continue
            if failed:
                line[:2] = 0, 0
            for name, _, part in row:
                line[starts[name] : starts[name] + len(part)] = part
        columns.append(table)
    return names, columns[0], columns[1]


def _repeat(
    pair: Pair,
    asked: Mapping[str, Any],
    given: Mapping[str, Any],
    claim: float,
    delta: float,
    limits: Mapping[str, float | None],
    relation: Relation,
    seed: int,
) -> tuple[str, ...]:
    words = ["dpviz", "audit"]
    words += [asked["target"]] if asked["target"] else ["--command", asked["command"]]
    for name, value in ({} if asked["runner"] else given).items():
        words += ["--set", f"{name}={value!r}"]
    words += ["--claim", f"{claim!r},{delta!r}" if delta else f"{claim!r}"]
    # Both parts of a file's audit have defaults of their own, so name only limits that were given.
    for name, value in limits.items():
        words += [] if value is None else [f"--{name}", f"{value!r}"]
    words += ["--seed", str(seed)]
    if not asked["runner"]:
        words += ["--domain", ";".join(f"{low!r},{high!r}" for low, high in asked["box"])]
        words += ["--neighbours", relation]
    if asked["scenario"]:
        words += ["--scenario", asked["scenario"]]
    if asked["publishes"]:
        words += ["--publishes", ",".join(asked["publishes"])]
    if not asked["header"]:
        words += ["--no-header"]
    bounds = [tuple(one) for one in asked["box"]]
    show = (
        f"from dpviz.audit.pairs import PAIRS; "
        f"print(*PAIRS[{pair.name!r}].points({bounds!r}, {relation!r}), sep='\\n')"
    )
    return shlex.join(words), shlex.join(["python", "-c", show])
