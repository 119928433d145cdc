// Lets the browser fetch plotly.js while the server is still importing.
export default ({ data }) => {
  keepSteps();
  if (document.querySelector(`link[href="${data}"]`)) return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "preload", as: "script", href: data });
  document.head.appendChild(link);
};

// Opening a page is one step for Back. Streamlit may take three: the new page's values under the
// path of the old page, its short link, its full link. What no hand did after the first of them
// takes the place of the one before.
const BY_HAND = ["pointerdown", "keydown", "click", "change", "drop"];

function keepSteps() {
  if (window.dpvizKeepsSteps) return;
  window.dpvizKeepsSteps = true;
  let sinceStep = true;
  let sinceOpened = false;
  const touch = () => (sinceStep = sinceOpened = true);
  for (const name of BY_HAND) window.addEventListener(name, touch, true);
  // Where the full link came before this code, the short one is left behind: Back passes it by.
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
