// Keys for the steps of a lesson, as clickers send them. They also work after a slider was touched.

const ALWAYS = { PageDown: "next", j: "next", PageUp: "back", k: "back" };
// A control that has the focus needs these keys itself.
const FREE = { " ": "next", ArrowRight: "next", ArrowDown: "next", ArrowLeft: "back", ArrowUp: "back" };
const CONTROLS = "a, button, input, select, textarea, summary, [contenteditable], [tabindex='0']";

function pressed(event) {
  const [at] = event.composedPath();
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.repeat) return;
  const types = at.matches?.("input:not([type=range], [type=radio], [type=checkbox]), textarea");
  const held = at.closest?.(CONTROLS);
  const which = (!types && ALWAYS[event.key]) || (!held && FREE[event.key]);
  const button = which && document.querySelector(`.st-key-learn-${which} button`);
  // No lesson is on the page, or the page waits for a new session.
  if (!button || button.closest("[inert]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  button.click();
}

// On a projector the next key is the clicker's, so a slider gives the focus back.
function released({ target }) {
  if (!document.querySelector(".dpv-projector")) return;
  const slider = target.shadowRoot?.activeElement ?? target;
  if (slider.matches?.("input[type=range]")) slider.blur();
}

export default () => {
  if (window.dpvizLessonKeys) return;
  window.dpvizLessonKeys = true;
  window.addEventListener("keydown", pressed, true);
  window.addEventListener("pointerup", released, true);
};
