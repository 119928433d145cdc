// The stages of a method as a row of buttons with live pictures; small buttons choose a view.

const strips = new WeakMap();

function element(tag, className, parent) {
  const node = document.createElement(tag);
  node.className = className;
  return parent.appendChild(node);
}

const button = (parent) => Object.assign(element("button", "", parent), { type: "button" });

// Add or remove children, so that buttons, and with them the focus, stay.
function fit(parent, number, make) {
  while (parent.children.length < number) make(parent);
  while (parent.children.length > number) parent.lastChild.remove();
  return [...parent.children];
}

function paint(canvas, picture, palettes) {
  const codes = picture ? atob(picture.cells) : "";
  canvas.className = picture ? "" : "none";
  canvas.width = picture ? picture.width : 1;
  canvas.height = codes.length / canvas.width || 1;
  if (!picture) return;
  const pixels = Uint32Array.from(codes, (code) => palettes[picture.palette][code.charCodeAt(0)]);
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), canvas.width);
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// "#rrggbb" as a pixel, whose bytes are red, green, blue and opacity.
function pixel(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (255 << 24) | (blue << 16) | (green << 8) | red;
}

class Strip {
  constructor(root) {
    this.bar = element("div", "strip", root);
    Object.assign(this.bar, { role: "toolbar", ariaLabel: "Stages of the method" });
    [this.cards, this.choices] = ["cards", "choices"].map((name) => element("div", name, this.bar));
    this.lights = element("style", "", document.head);
    this.bar.addEventListener("click", ({ target }) => {
      const picked = target.closest("button");
      // A click on the stage whose first view is shown leads to its controls in the side bar.
      const { controls, first } = this.data.cards[[...this.cards.children].indexOf(picked)] ?? {};
      const keys = first && controls.map((key) => `[class*="st-key-${key}-"]`);
      const aside = document.querySelector(`[data-testid=stSidebar] :is(${keys || ""}) input`);
      if (aside) document.querySelector("[data-testid=stExpandSidebarButton]")?.click();
      if (aside) aside.focus();
      else if (picked) this.send("picked", picked.dataset.pick);
    });
    this.bar.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const all = [...this.bar.querySelectorAll("button")];
      const next = step && all[all.indexOf(event.target) + step];
      if (!next) return;
      event.preventDefault();
      event.stopPropagation();
      next.focus();
    });
    for (const name of ["pointerover", "pointerout", "focusin", "focusout"])
      this.bar.addEventListener(name, () => this.light());
  }

  update({ data: [data], setTriggerValue }) {
    Object.assign(this, { data, send: setTriggerValue });
    const palettes = data.palettes.map((palette) => palette.map(pixel));
    const cards = fit(this.cards, data.cards.length, button);
    cards.forEach((one, at) => this.show(one, data.cards[at], palettes));
    fit(this.choices, data.choices.length, button).forEach((one, at) => {
      const { title, on, help, pick } = data.choices[at];
      Object.assign(one, { textContent: title, title: help, ariaPressed: on ?? null });
      one.dataset.pick = pick ?? title;
    });
    this.light();
  }

  show(one, card, palettes) {
    const whole = JSON.stringify([card, palettes]);
    if (whole === one.whole) return; // in a drag, most cards stay as they are
    one.whole = whole;
    const [pictures, text] = fit(one, 2, (parent) => element("span", "", parent));
    const drawn = fit(pictures, card.pictures.length, (parent) => element("canvas", "", parent));
    drawn.forEach((canvas, at) => paint(canvas, card.pictures[at], palettes));
    const [name, fact] = fit(text, 2, (parent) => element("span", "", parent));
    name.textContent = `${card.name} ${card.mark}`.trim();
    fact.textContent = card.fact;
    one.className = card.missing ? "missing" : card.mark && "broken";
    one.dataset.pick = card.pick;
    const end = () => one.offsetLeft + one.offsetWidth - this.cards.offsetWidth + 8;
    if (card.shown && !one.ariaCurrent) requestAnimationFrame(() => (this.cards.scrollLeft = end()));
    const ariaCurrent = card.shown ? "step" : null;
    Object.assign(one, { ariaLabel: card.label, title: card.label, ariaCurrent });
  }

  // Mark the controls of the stage that is shown, and of the stage under the pointer or the focus.
  light() {
    const active = (at) => this.cards.children[at].matches(":hover, :focus-visible");
    const keys = this.data.cards
      .flatMap(({ shown, controls }, at) => (shown || active(at) ? controls : []))
      .map((key) => `[class*="st-key-${key}-"]`);
    const text = keys.length ? `${keys.join()}{--dpv-lit:light-dark(#0b6aa2,#5ab3e8)}` : "";
    if (this.lights.textContent !== text) this.lights.textContent = text; // changes all styles
  }
}

export default function render(args) {
  const root = args.parentElement;
  if (!strips.has(root)) strips.set(root, new Strip(root));
  const strip = strips.get(root);
  strip.update(args);
  return () => {
    strip.lights.remove();
    strip.bar.remove();
    strips.delete(root);
  };
}
