// Code that every page needs in the browser, in addition to its components.

// Run plotly.js, which takes a second, while the server still computes; the figure waits for it.
function loadAhead(address) {
  if (window.Plotly || document.querySelector(`script[src="${address}"]`)) return;
  const script = Object.assign(document.createElement("script"), { src: address });
  script.onload = script.onerror = () => window.Plotly ?? script.remove(); // the figure tries again
  document.head.appendChild(script);
}

// Streamlit replaces the nodes of changed HTML, so that the keyboard focus is lost. The part with
// the same name gets the focus again, before the browser paints.
const partsOf = (html) => [...html.querySelectorAll("[tabindex], a[href], summary, button")];
const nameOf = (part) => part.dataset.of ?? (part.firstElementChild ?? part).textContent;
const rewritten = new MutationObserver(focusAgain);
let held = null;

function follow({ target }) {
  rewritten.disconnect();
  const html = target.closest('[data-testid="stHtml"]');
  held = html && { part: target, html, at: partsOf(html).indexOf(target) };
  if (html) rewritten.observe(html, { childList: true, subtree: true });
}

function focusAgain() {
  const { part, html, at } = held;
  if (part.isConnected || document.activeElement !== document.body) return;
  const found = partsOf(html);
  const same = (one) => one && nameOf(one) === nameOf(part);
  const again = same(found[at]) ? found[at] : found.find(same);
  again?.focus({ preventScroll: true }); // calls follow() again
}

// The help text of a figure stays open when another figure replaces the figure.
const toggled = new WeakMap();
const KEPT = ".dpv-about, .dpv-lesson details";

function keepOpen({ target }) {
  const html = target.matches?.(KEPT) && target.closest('[data-testid="stHtml"]');
  if (!html) return;
  const restore = () => {
    const part = html.querySelector(KEPT);
    if (part) part.open = toggled.get(html);
  };
  if (!toggled.has(html)) new MutationObserver(restore).observe(html, { childList: true });
  toggled.set(html, target.open);
}

// A click outside removes the focus permanently.
function forget({ target }) {
  if (!held?.part.contains(target)) rewritten.disconnect();
}

// Opening a page should be one step for Back. Streamlit may make three steps: the new page's values
// with the path of the old page, its short link, its full link. After the first step, a step
// without an action of the user replaces the step before.
const BY_HAND = ["pointerdown", "keydown", "click", "change", "drop"];

function keepSteps() {
  if (window.dpvizKeepsSteps) return;
  window.dpvizKeepsSteps = true;
  let sinceStep = true;
  let sinceOpened = false;
  const touch = () => (sinceStep = sinceOpened = true);
  for (const name of BY_HAND) window.addEventListener(name, touch, true);
  // If the full link was set before this code ran, the history has the short link; Back skips it.
  const [{ name: short }] = performance.getEntriesByType("navigation");
  const passBy = (event) => {
    if (window.location.href !== short) return;
    event.stopImmediatePropagation();
    window.history.back();
  };
  if (window.location.href !== short) window.addEventListener("popstate", passBy, true);
  const { pushState, replaceState } = window.history;
  window.history.pushState = (state, title, url) => {
    const opens = new URL(url, window.location).pathname !== window.location.pathname;
    const completes = opens ? !sinceStep : !sinceOpened;
    if (opens) sinceOpened = false;
    sinceStep = false;
    (completes ? replaceState : pushState).call(window.history, state, title, url);
  };
}

// The hint of the first visit is shown until the user closes it or moves epsilon, then never again,
// because the headline beside it needs the space. Every run makes its text again, so an attribute
// of the page's root says whether it is shown.
const HINT = "dpviz hint closed";

// Keep a value for the next visits, or return the kept one. A browser may be without storage.
function kept(name, value) {
  try {
    if (value === undefined) return window.localStorage.getItem(name);
    window.localStorage.setItem(name, value);
  } catch {
    return null;
  }
}

function closeHint() {
  document.documentElement.dataset.dpvHint = "closed";
  kept(HINT, "yes");
}

let firstEpsilon;
function watchHint({ type, target }) {
  if (document.documentElement.dataset.dpvHint === "closed") return;
  const epsilon = PLACES.epsilon()?.value;
  if (type === "pointerdown" || type === "keydown") firstEpsilon ??= epsilon;
  const moved = firstEpsilon !== undefined && epsilon !== firstEpsilon;
  const part = type === "click" && target.closest?.(".dpv-hint button");
  if (moved || part) closeHint();
  // A click on the hint does what the hint asks for.
  if (part && part.matches(".dpv-act")) document.querySelector(".st-key-hint button")?.click();
}

// Targets of skip links, which are the first stops of the Tab key and not redrawn by Streamlit.
// No observer sees when a slider's script fills its shadow root, so the root's host counts before.
const hostOf = () => document.querySelector(
  '[data-testid=stMain] [class*="-epsilon"] :is([data-testid=stBidiComponentIsolated], input)');
const PLACES = {
  epsilon: () => hostOf()?.shadowRoot?.querySelector(".range") ?? hostOf(),
  picture: () => document.querySelector(".live-figure .image"),
};

// Attributes of the page's root that tell the style sheet what is on the page. Selectors with
// ":has" would be evaluated at each change of the page, which takes a fifth of the time from a key
// to its picture.
const EXPLORES = /(^|\/)(wavecluster|kmeans|learn)?$/; // the start page is an explorer
const hasStage = () => EXPLORES.test(location.pathname) || location.pathname.endsWith("/compare");
const FAULT = `[data-testid=stMain] [data-testid=stException],
  :is(.st-key-explorer, [data-testid=stMain]:not(:has(.st-key-explorer))) [data-testid=stAlert]:not(.st-key-dpv-corrected *)`;
const MARKS = {
  // The first picture may take a while, and an empty page would look broken.
  waits: () => EXPLORES.test(location.pathname) && !PLACES.picture() &&
    document.querySelector("[data-testid=stMain] h1") && !document.querySelector(FAULT),
  explorer: () => EXPLORES.test(location.pathname),
  first: () => root.hasAttribute("data-dpv-first") && EXPLORES.test(location.pathname) && !document.querySelector(`.gtitle, .drawn, ${FAULT}`),
  lesson: () => document.querySelector(".dpv-lesson"),
  projector: () => document.querySelector(".dpv-projector"),
  ...PLACES,
};

// Further scores are shown after a click on "more scores", also in the next runs and visits.
const MORE = "dpviz more scores";

function toggleMore({ target }) {
  if (target.closest?.(".dpv-stage")) toggleStage();
  if (!target.closest?.(".dpv-more")) return;
  kept(MORE, root.toggleAttribute("data-dpv-more") ? "shown" : "hidden");
  mark();
}

// On a small laptop or a tablet the maps need the width of the side bar, which starts folded there.
const FOLDED = [769, 1150]; // pixels, as in page.css; Streamlit itself folds it on a phone
function foldOnce() {
  const bar = document.querySelector("[data-testid=stSidebar]"), wide = innerWidth >= FOLDED[0];
  const button = bar?.querySelector("[data-testid=stSidebarCollapseButton] button");
  if (window.dpvizFolded || !EXPLORES.test(location.pathname)) return;
  if (!button && !(wide && bar?.dataset.collapsed === "true")) return;
  window.dpvizFolded = true;
  setTimeout(() => root.toggleAttribute("data-dpv-placed", true), 1500); // folding takes 300 ms
  if (wide && innerWidth < FOLDED[1]) button?.click();
}

function mark() {
  foldOnce();
  if (!hasStage()) toggleStage(false);
  const expanded = root.hasAttribute("data-dpv-more");
  document.querySelector(".dpv-more")?.setAttribute("aria-expanded", expanded);
  for (const word of document.querySelectorAll(".dpv-word"))
    word.setAttribute("aria-pressed", word.dataset.of === document.documentElement.dataset.dpvLit);
  for (const [name, find] of Object.entries(MARKS))
    document.documentElement.toggleAttribute(`data-dpv-${name}`, Boolean(find()));
}

function keepMarks() {
  if (window.dpvizKeepsMarks) return;
  window.dpvizKeepsMarks = true;
  const marks = new MutationObserver(mark);
  marks.observe(document.body, { childList: true, subtree: true });
  marks.observe(document.documentElement, { attributeFilter: ["data-dpv-lit"] });
  mark();
}

function addSkips() {
  if (document.querySelector(".dpv-skip")) return;
  const skip = document.createElement("nav");
  skip.className = "dpv-skip";
  skip.setAttribute("aria-label", "Skip");
  for (const [name, words] of [["epsilon", "epsilon"], ["picture", "the picture"]]) {
    const link = document.createElement("a");
    Object.assign(link, { href: "#", textContent: `Skip to ${words}` });
    link.dataset.to = name;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const place = PLACES[name]();
      place?.focus();
      place?.scrollIntoView({ block: "center" });
    });
    skip.append(link);
  }
  document.body.prepend(skip);
}

// After a restart of the server or a long sleep, a new session ignores the user's actions until its
// first run has ended, and resets the controls. So the page is inert until then.
const CONNECTION = "data-test-connection-state";
const SCRIPT = "data-test-script-state";
const NEXT_MS = 500; // a new server runs twice; the second run begins within this time
const LONGEST_MS = 30_000;

function waitForRun() {
  const app = document.querySelector(`[${CONNECTION}]`);
  if (!app || app.dpvizWaits) return;
  app.dpvizWaits = true;
  let began, ended, last, longest, focused;
  const free = () => {
    clearTimeout(longest);
    app.inert = false;
    if (document.activeElement === document.body) focused?.focus({ preventScroll: true });
  };
  const look = () => {
    if (app.getAttribute(CONNECTION) !== "CONNECTED") {
      if (!app.inert) {
        focused = deepFocus();
        focused?.blur();
      }
      clearTimeout(ended);
      clearTimeout(longest);
      began = ended = last = longest = undefined;
      app.inert = true;
    } else if (app.inert) {
      longest ??= setTimeout(free, LONGEST_MS);
      if (app.getAttribute(SCRIPT) !== "notRunning") began = true;
      else if (last) free();
      else if (began) ended ??= setTimeout(passed, NEXT_MS);
    }
  };
  const passed = () => {
    last = true;
    look();
  };
  new MutationObserver(look).observe(app, { attributeFilter: [CONNECTION, SCRIPT] });
  const hold = (event) => {
    if (app.inert && event.key.length === 1) event.stopImmediatePropagation();
  };
  window.addEventListener("keydown", hold, true);
}

function deepFocus() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}

// Keys for a talk: steps of epsilon and the next draw, unless the user is typing.
const STEP = 5; // positions of the slider: a tenth of a decade

function pressed(event) {
  const [at] = event.composedPath();
  const typing = at.isContentEditable || at.matches?.("input:not([type=range]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key.toLowerCase() === "f" && hasStage()) toggleStage();
  else if (event.key === "n") {
    const named = (one) => one.textContent.includes("Redraw") && !one.disabled;
    [...document.querySelectorAll("[data-testid=stButton] button")].find(named)?.click();
  } else if (event.key === "," || event.key === ".") nudge(event.key === "," ? -1 : 1);
  else if (event.key === "?")
    for (const shown of document.querySelector(".dpv-keys").getAnimations()) shown.play();
}

function nudge(way) {
  const slider = PLACES.epsilon();
  if (slider?.type !== "range" || document.querySelector(".stApp[inert]")) return;
  slider.stepUp(way * STEP);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}

// The stage: a picture as large as the window allows, epsilon and the sentence. A clicker sends keys
// of a keyboard; on the stage they move epsilon, or the step of a lesson, wherever the focus is.
const CLICKS = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
const onStage = () => root.dataset.dpvStage === "on";
const { documentElement: root } = document;
let scrolled = 0;
function toggleStage(on = !onStage()) {
  if (on === onStage()) return;
  const main = document.querySelector("[data-testid=stMain]");
  if (on) scrolled = main.scrollTop;
  deepFocus()?.blur();
  if (on) root.dataset.dpvStage = "on";
  else delete root.dataset.dpvStage;
  document.querySelector(".dpv-stage")?.setAttribute("aria-pressed", on);
  main.scrollTop = on ? 0 : scrolled;
  window.dispatchEvent(new Event("dpviz-refit"));
}

function clicked(event) {
  const way = CLICKS[event.key];
  if (!onStage() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" ? root.hasAttribute("data-dpv-large") : !way) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.key === "Escape") toggleStage(false);
  else {
    const name = way > 0 ? "next" : "back"; // of a lesson, or of the scores of the curves
    const step = document.querySelector(`.st-key-learn-${name} button, .st-key-compare-${name} button`);
    step ? step.click() : nudge(way);
  }
}

// Figures and tables have the size of the screen; for printing they are scaled to the paper.
const DRAWN = ".live-figure, [data-testid=stDataFrame]";
const PAPER = 700; // pixels across A4, inside its margins

function toPaper() {
  const app = document.querySelector(".stApp");
  root.toggleAttribute("data-dpv-dark", app && getComputedStyle(app).colorScheme === "dark");
  for (const drawn of document.querySelectorAll(DRAWN)) {
    const wide = drawn.querySelector(".main-svg, canvas")?.clientWidth ?? 0;
    if (wide > PAPER) drawn.style.zoom = PAPER / wide;
  }
}

function fromPaper() {
  for (const drawn of document.querySelectorAll(DRAWN)) drawn.style.zoom = "";
}

// Streamlit sets the dark theme only on the app. Lists and panels outside the app need it, too.
const themed = new MutationObserver(tellTheme);

function tellTheme() {
  const app = document.querySelector(".stApp");
  if (!app) return;
  document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  themed.observe(app, { attributes: true, attributeFilter: ["class"] });
}

export default ({ data: [plotly] }) => {
  tellTheme();
  keepSteps();
  addSkips();
  keepMarks();
  waitForRun();
  document.documentElement.dataset.dpvHint ??= kept(HINT) ? "closed" : "open";
  if (kept(MORE) === "shown") document.documentElement.toggleAttribute("data-dpv-more", true);
  document.addEventListener("click", toggleMore);
  for (const type of ["pointerdown", "keydown", "pointerup", "keyup", "click"])
    document.addEventListener(type, watchHint, true);
  loadAhead(plotly);
  // Adding the same listener again has no effect.
  document.addEventListener("focusin", follow);
  document.addEventListener("pointerdown", forget);
  document.addEventListener("keydown", pressed);
  window.addEventListener("keydown", clicked, true);
  if (/[?&]embed=true/.test(location.search) && hasStage()) root.dataset.dpvStage = "frame";
  document.addEventListener("toggle", keepOpen, true);
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", fromPaper);
};
