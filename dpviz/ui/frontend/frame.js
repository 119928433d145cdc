// What every page needs in the browser, beside its own components.

// Fetch plotly.js while the server is still importing.
function fetchAhead(address) {
  if (document.querySelector(`link[href="${address}"]`)) return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "preload", as: "script", href: address });
  document.head.appendChild(link);
}

// Streamlit writes a changed piece of HTML anew, and the focus of a keyboard goes with the old
// nodes: the part with the same name gets it back, before anything is painted.
const partsOf = (html) => [...html.querySelectorAll("[tabindex], a[href], summary")];
const nameOf = (part) => (part.firstElementChild ?? part).textContent;
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
  again?.focus({ preventScroll: true }); // which is followed in turn
}

// A click beside everything takes the focus away for good.
function forget({ target }) {
  if (!held?.part.contains(target)) rewritten.disconnect();
}

export default ({ data }) => {
  fetchAhead(data);
  // Listening twice is listening once.
  document.addEventListener("focusin", follow);
  document.addEventListener("pointerdown", forget);
};
