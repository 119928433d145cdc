// Keyboard focus, in addition to Streamlit's own: into panels, and to the top of a new page.

const PANEL = "[data-testid=stPopoverBody]";
const STOPS = "a[href], button, input, select, textarea, summary, [tabindex]";

// Stops of the Tab key in a panel; a group of radio buttons has one stop.
function stopsOf(panel) {
  const stops = [...panel.querySelectorAll(STOPS)].filter(
    (one) => one.tabIndex >= 0 && !one.disabled && one.getClientRects().length,
  );
  const chosen = stops.filter((one) => one.type === "radio" && one.checked);
  return stops.filter(
    (one) => one.type !== "radio" || one.checked || !chosen.some(({ name }) => name === one.name),
  );
}

// Call `act` when the page satisfies a condition. A release of many records takes minutes, but the
// wait ends after PATIENCE milliseconds.
const PATIENCE = 600000;

function when(isThere, act) {
  const seen = new MutationObserver(() => {
    const found = isThere();
    if (!found) return;
    seen.disconnect();
    act(found);
  });
  seen.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => seen.disconnect(), PATIENCE);
}

// Streamlit adds an open panel at the end of the page, so the Tab key would pass the whole page
// before the panel, and would start at the top again after the panel closes.
let opener = null;

function enterPanel(button) {
  const before = document.querySelector(PANEL);
  opener = button;
  const stop = () => {
    const panel = document.querySelector(PANEL);
    return panel && panel !== before && stopsOf(panel)[0];
  };
  when(stop, (first) => document.activeElement === button && first.focus());
}

function leavePanel(panel, { target, key, shiftKey }) {
  const stops = stopsOf(panel);
  // From the button the browser itself moves the focus.
  if (key === "Tab" && target === (shiftKey ? stops[0] : stops.at(-1))) opener.focus();
  if (key === "Escape") when(() => !panel.isConnected, () => backTo(opener));
}

function backTo(place) {
  if (document.activeElement !== document.body) return;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus();
}

// If a click removes its button, the focus moves to the nearest heading above that still exists.
// Headings are compared by their texts, because they may be redrawn. After a link to another page
// the focus moves to the top, as when a browser loads a page.
function afterwards(pressed) {
  const headings = () => [...document.querySelectorAll("h2, h3")];
  const words = headings()
    .filter((one) => one.compareDocumentPosition(pressed) & Node.DOCUMENT_POSITION_FOLLOWING)
    .map((one) => one.textContent);
  const heading = () => {
    const word = words.findLast((word) => headings().some((one) => one.textContent === word));
    return headings().find((one) => one.textContent === word);
  };
  const place = () =>
    (pressed.localName === "button" && heading()) || document.querySelector(".dpv-skip");
  when(() => !pressed.isConnected, () => backTo(place()));
}

function pressed(event) {
  const { target, key } = event;
  const press = key === "Enter" || key === " ";
  const panel = target.closest?.(PANEL);
  const button = target.closest?.("[data-testid=stPopoverButton]");
  const own = target.closest?.("[data-testid=stMain] :is(a[href], button)");
  if (panel && opener?.isConnected) leavePanel(panel, event);
  else if (press && button) enterPanel(button);
  else if (press && own) afterwards(own);
}

// A panel opens below its button and ends at the window's lower edge, where it might be only two
// lines high. So the page scrolls up, and is longer while the panel is open.
const ROOM = 360;

function makeRoom({ target }) {
  const button = target.closest?.("[data-testid=stPopoverButton]");
  const part = button?.closest("[data-testid=stMainBlockContainer], [data-testid=stSidebarUserContent]");
  if (!part || button.getAttribute("aria-expanded") === "true") return;
  const below = window.innerHeight - button.getBoundingClientRect().bottom;
  if (below >= ROOM) return;
  part.style.paddingBottom = "60vh";
  button.scrollIntoView({ block: "center" });
  const open = () => document.querySelector(PANEL);
  when(open, () => when(() => !open(), () => (part.style.paddingBottom = "")));
}

export default () => {
  // Adding the same listener again has no effect.
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", makeRoom, true);
};
