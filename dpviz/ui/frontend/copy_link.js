// A button that copies the page's whole link. If the browser forbids copying, the link is shown and
// selected, so that the user can copy it with the keyboard.

export default ({ parentElement, data: [origin] }) => {
  parentElement.origin = origin || window.location.origin; // for a class, the origin of its links
  if (parentElement.querySelector("button")) return;
  const [button, said, box] = ["button", "output", "input"].map((tag) => document.createElement(tag));
  Object.assign(button, { type: "button", textContent: "Copy link" });
  Object.assign(box, { readOnly: true, hidden: true, ariaLabel: "The whole link" });
  button.addEventListener("click", async () => {
    const { pathname, search } = window.location; // read now, since sliders change the link
    const link = parentElement.origin + pathname + search;
    try {
      await navigator.clipboard.writeText(link);
      box.hidden = true;
      said.textContent = "Copied: the link with all settings.";
    } catch {
      box.value = link;
      box.hidden = false;
      box.focus();
      box.select();
      said.textContent = "The browser doesn't let a page copy: press Ctrl+C (Mac: ⌘C).";
    }
  });
  parentElement.append(button, box, said);
};
