// Buttons that make a figure of the page save itself, see live_figure.js.

const FORMATS = {
  png: ["Picture (PNG)", "As on the screen, at twice the resolution"],
  svg: ["Picture (SVG)", "Vector graphics, to edit"],
  pdf: ["Picture (PDF)", "One page of vector graphics, by the print dialog: choose Save as PDF there"],
};

export default function render({ data: [figure], parentElement }) {
  parentElement.querySelector(".save-picture")?.remove();
  const row = document.createElement("div");
  row.className = "save-picture";
  for (const [format, [label, title]] of Object.entries(FORMATS)) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: label, title });
    button.addEventListener("click", () => {
      window.dispatchEvent(new CustomEvent("dpviz-save", { detail: { figure, format } }));
    });
    row.append(button);
  }
  parentElement.append(row);
}
