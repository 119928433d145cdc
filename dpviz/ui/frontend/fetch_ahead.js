// Lets the browser fetch plotly.js while the server is still importing.
export default ({ data }) => {
  keepSteps();
  if (document.querySelector(`link[href="${data}"]`)) return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "preload", as: "script", href: data });
  document.head.appendChild(link);
};

// A page is opened by a short link and completes it at once: that is one step for Back, not two.
// What no hand did since a page was opened is such a completion, and takes the place of its link.
const BY_HAND = ["pointerdown", "keydown", "click", "change", "drop"];

function keepSteps() {
  if (window.dpvizKeepsSteps) return;
  window.dpvizKeepsSteps = true;
  let touched = false;
  for (const name of BY_HAND) window.addEventListener(name, () => (touched = true), true);
  const { pushState, replaceState } = window.history;
  window.history.pushState = (state, title, url) => {
    const opens = new URL(url, window.location).pathname !== window.location.pathname;
    const step = opens || touched ? pushState : replaceState;
    if (opens) touched = false;
    step.call(window.history, state, title, url);
  };
}
