// A plotly figure in one persistent element, redrawn by Plotly.react.

const ARRAY_TYPES = {
  f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
};
const icon = (path) => ({ width: 24, height: 24, path });
const DISK = icon("M5 3h11l3 3v15H5zM8 4v5h7V4zM8 13v7h8v-7z");
const SHEET = icon("M6 2h8l5 5v15H6zM13 3v5h5M9 12h7v1.5H9zM9 15h7v1.5H9zM9 18h5v1.5H9z");

const SCROLL_BAR = 16; // pixels below a figure that is wider than its page
const NARROW = 560; // width in pixels below which a legend needs several lines
const NARROWEST = 200; // least width in pixels of maps side by side; otherwise one is shown
const LEAST_MAP = 180; // least height of a map in pixels
const LEAST_FILL = 260; // least height in pixels of a figure that ends with the window
const FLIP = 18; // additional pixels above a single map, for half of the button
const PROJECTED = 0.06; // additional share of the window's height on a projector
const EDGE = 12; // pixels beside a map
const LEGEND_MARK = 45; // pixels of a legend's mark with the space beside it
const BAR = 64; // pixels of a colour bar with its numbers
const SMALLEST_NUMBER = 7; // font size in pixels of the smallest readable number in a cell

const ICON_COLOR = "#7d8791"; // visible in the light and the dark theme

const figures = new WeakMap();

// ---- the message from Python, see encode() in live_figure.py

function decode(bytes) {
  const copy = bytes.slice(); // a copy starts at offset 0, so that arrays are aligned
  const length = new DataView(copy.buffer).getUint32(0, true);
  const text = new TextDecoder().decode(copy.subarray(4, 4 + length));
  const head = JSON.parse(text);
  head.signature = text; // contains a digest of the arrays
  for (const { path, type, shape, offset } of head.arrays)
    put(head.figure, path, view(copy.buffer, 4 + length + offset, ARRAY_TYPES[type], shape));
  return head;
}

function view(buffer, offset, Type, [rows, columns]) {
  if (columns === undefined) return new Type(buffer, offset, rows);
  const width = columns * Type.BYTES_PER_ELEMENT;
  return Array.from({ length: rows }, (_, i) => new Type(buffer, offset + i * width, columns));
}

function put(target, path, value) {
  path.slice(0, -1).reduce((node, name) => node[name], target)[path.at(-1)] = value;
}

// ---- hover text of a pair of heatmaps

// A row of customdata whose cells are made on access. Making all cells would take longer than
// drawing the figure.
function lazyRow(cell) {
  return new Proxy([], {
    get: (row, name) =>
      typeof name === "string" && /^\d+$/.test(name) ? cell(Number(name)) : Reflect.get(row, name),
  });
}

function pairUp(traces, pairs) {
  for (const [left, right] of pairs) {
    const [a, b] = [traces[left]?.z, traces[right]?.z];
    if (!a || !b || a.length !== b.length) continue;
    const { across, up } = traces[left].meta ?? {};
    const rows = (other) => a.map((_, i) =>
      lazyRow((j) => [other[i][j], b[i][j] - a[i][j], across?.[j], up?.[i]]));
    traces[left].customdata = rows(b);
    traces[right].customdata = rows(a);
  }
}

// ---- large type of the page on a projector, with which all sizes of the figure grow

function enlarge(node, factor) {
  if (!node || typeof node !== "object" || ArrayBuffer.isView(node)) return;
  for (const [name, part] of Object.entries(node)) {
    if (!part || typeof part !== "object") continue;
    if (/font$/.test(name) && typeof part.size === "number") part.size *= factor;
    else if (name === "margin") for (const side of "lrtb") part[side] *= factor;
    else if (name !== "z" && name !== "customdata") enlarge(part, factor);
  }
}

// ---- the title, and the stamp below it, which are wrapped so that they are never truncated

const TITLE_LINE = 16; // pixels of a line
const SPARE = 4; // pixels around maps that fill a frame or the stage
const TICKS = 20; // pixels below a map for the numbers of its axis
const LETTERS = [6.3, 5.8]; // average width in pixels of a letter of title and stamp

// Title and stamp are plain text without tags, so line breaks between words are safe.
function wrapped(text, letters) {
  const lines = [];
  for (const word of text.split(/ (?!·)/)) { // no line begins with a separator
    const line = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && line.length <= letters) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}

// In frames and on the stage, the maps have all the space: the numbers of the axes are inside them.
function spread(layout, factor) {
  Object.assign(layout.margin, { l: SPARE * factor, r: SPARE * factor });
  const stamp = layout.title.subtitle.text;
  layout.title.subtitle.text = `${layout.title.text} · ${stamp}`;
  layout.title.text = "";
  for (const [name, axis] of Object.entries(layout))
    if (/^[xy]axis/.test(name)) Object.assign(axis, { title: "", ticks: "", ticklabelposition: "inside" });
}

// Wrap and join title and stamp, and enlarge the top margin by all lines except the first; return
// the added pixels. If the figure fills the window, they are below the panels.
function wrapTitle(layout, width, factor, fills) {
  const { title, margin } = layout;
  if (!title?.subtitle) return 0;
  if (fills === "all") spread(layout, factor);
  const lines = [title.text, title.subtitle.text].map((text, part) =>
    wrapped(text, Math.max(12, Math.floor((width - margin.l - margin.r) / (factor * LETTERS[part])))));
  const small = `<span style="font-size:${title.subtitle.font.size}px">`;
  title.text = [...lines[0], ...lines[1].map((line) => `${small}${line}</span>`)].join("<br>");
  delete title.subtitle; // Plotly would place it differently for each number of lines
  if (fills === "all") {
    margin.t = TITLE_LINE * factor;
    const below = (lines[1].length - 1) * TITLE_LINE * factor + SPARE; // below the first line
    margin.b = below + (TITLE_LINE - 1) * factor;
    title.text = lines[1].map((line) => `${small}${line}</span>`).join("<br>");
    Object.assign(title, { y: 0, yref: "container", yanchor: "bottom", pad: { b: below } });
    return 0;
  }
  if (fills) {
    margin.t -= 1.75 * TITLE_LINE * factor;
    const below = (lines.flat().length - 1) * TITLE_LINE * factor; // below the first line
    margin.b += below + TITLE_LINE * factor;
    margin.under = margin.b - TICKS * factor; // with the axis title
    Object.assign(title, { y: 0, yref: "container", yanchor: "bottom", pad: { b: below + 6 * factor } });
    return 0;
  }
  // Plotly places the bottom of the first line at y.
  Object.assign(title, { y: 1, yref: "container", yanchor: "top", pad: { t: 17 * factor } });
  const more = (lines.flat().length - 1) * TITLE_LINE * factor;
  margin.t += more;
  return more;
}

// Number of a horizontal legend's lines after the first, which would cover headings on a phone.
function legendLines({ data, layout }, width, factor) {
  const room = (width - layout.margin.l - layout.margin.r) / factor;
  const names = data.filter((trace) => trace.showlegend).map((trace) => trace.name);
  const needed = names.reduce((sum, name) => sum + LEGEND_MARK + LETTERS[0] * name.length, 0);
  return Math.ceil(needed / room) - 1;
}

// ---- maps, which fill the page and have square cells

// Height of a figure with maps in a row. Cells keep their scale, so additional height is useless.
// Two maps are close to each other if there is more width than they need; if there is too little
// width, only the map of a side is shown.
function fitted(figure, width, height, factor, side) {
  const { data, layout } = figure;
  const { shape, rows } = layout.meta ?? {};
  let { across } = layout.meta ?? {};
  if (!across || rows > 1) return height;
  const bars = [layout.coloraxis, ...data.map((trace) => trace.marker ?? trace)]
    .filter((one) => one?.colorbar && one.showscale !== false).map((one) => one.colorbar);
  const reach = () => width - layout.margin.l - layout.margin.r;
  const [low, high] = layout.xaxis.domain;
  if (across === 2 && (high - low) * reach() < NARROWEST) {
    const names = ["x domain", "x2 domain"].map((panel) => layout.annotations
      .map(({ xref, text }) => xref === panel && /<b>(.*?)<\/b>/.exec(text)?.[1]).find(Boolean));
    figure.single = side ? names.reverse() : names;
    single(figure, bars, side, factor);
    across = 1;
  }
  if (!shape) return height;
  const { t, b } = layout.margin;
  const [start, end] = layout.xaxis.domain;
  const inner = reach(), beside = (end - start) * inner;
  const fits = Math.min(height, Math.max(LEAST_MAP, Math.ceil(beside * shape)) + t + b);
  const map = (fits - t - b) / shape / inner;
  if (across === 1 && map < 1) layout.xaxis.domain = [0, map];
  if (across === 2 && map < end - start) {
    const next = layout.xaxis2.domain[0], from = map + next - end, part = map / (end - start);
    for (const name of Object.keys(layout).filter((one) => /^xaxis/.test(one)))
      layout[name].domain = layout[name].domain.map((at) =>
        at < next ? at * part : from + (at - next) * part);
    for (const bar of bars) bar.x = bar.x === undefined ? from + map + 0.01 : bar.x - end + map;
  }
  return fits;
}

// Keep one of two maps, on the axes of the first map; a colour bar is to the right.
function single(figure, bars, side, factor) {
  const { layout } = figure;
  const panel = side ? "2" : "";
  const here = (ref) => ref === "paper" || /\d/.exec(ref)?.[0] === (panel || undefined);
  const moved = (ref) => ref?.replace(/^([xy])2/, "$1");
  figure.data = figure.data.filter((trace) => here(trace.xaxis ?? "x"));
  for (const trace of figure.data) Object.assign(trace, { xaxis: "x", yaxis: "y" });
  for (const kind of ["annotations", "shapes"]) {
    layout[kind] = (layout[kind] ?? []).filter((one) => here(one.xref));
    for (const one of layout[kind])
      Object.assign(one, { xref: moved(one.xref), yref: moved(one.yref) });
  }
  for (const axis of ["xaxis", "yaxis"]) {
    const { title } = layout[axis];
    const kept = layout[axis + panel];
    Object.assign(kept, { title, showticklabels: true, ticklabeloverflow: undefined, domain: [0, 1] });
    for (const name of ["anchor", "scaleanchor"]) if (kept[name]) kept[name] = moved(kept[name]);
    delete kept.matches;
    layout[axis] = kept;
    delete layout[`${axis}2`];
  }
  layout.margin.t += FLIP * factor;
  layout.margin.r = (bars.length ? BAR : EDGE) * factor;
  for (const bar of bars) Object.assign(bar, { x: 1.01, xanchor: "left" });
}

// ---- the theme as a plotly template, which the figure's own settings override

function themeOf(node) {
  const style = getComputedStyle(node);
  const read = (name) => style.getPropertyValue(name).trim();
  const text = read("--st-text-color") || style.color;
  const background = read("--st-background-color") || "#ffffff";
  const line = read("--st-border-color") || text;
  const family = read("--st-font") || style.fontFamily;
  const colorway = read("--st-chart-categorical-colors").split(",").filter(Boolean);
  const signature = [text, background, line, family, colorway].join("|");
  return { text, background, line, family, colorway, signature };
}

function templateOf({ text, background, line, family, colorway }, factor) {
  const axis = {
    automargin: true, gridcolor: line, linecolor: line, tickcolor: line, zerolinecolor: line,
    title: { standoff: 8 },
  };
  const bar = { outlinewidth: 0, thickness: 12, tickcolor: line };
  return {
    layout: {
      font: { color: text, family, size: 13 * factor },
      title: { font: { size: 15 }, x: 0, xanchor: "left", xref: "paper" },
      paper_bgcolor: background,
      plot_bgcolor: background,
      colorway: colorway.length ? colorway : undefined,
      coloraxis: { colorbar: bar },
      hoverlabel: { bgcolor: background, bordercolor: line, font: { color: text, family } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ICON_COLOR, activecolor: text },
      xaxis: axis,
      yaxis: axis,
    },
    data: { heatmap: [{ colorbar: bar }] },
  };
}

// ---- loading plotly.js once

let loading = null;

function loadPlotly(url) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  loading ??= new Promise((resolve, reject) => {
    const ahead = document.querySelector(`script[src="${url}"]`); // see loadAhead() in frame.js
    const script = ahead ?? Object.assign(document.createElement("script"), { src: url });
    const ended = () =>
      window.Plotly ? resolve(window.Plotly) : (script.remove(), reject(new Error(url)));
    for (const event of ["load", "error"]) script.addEventListener(event, ended);
    if (!ahead) document.head.appendChild(script);
  }).catch((error) => {
    loading = null; // the next redraw tries again
    throw error;
  });
  return loading;
}

// ---- a separate page with one figure, which the browser prints or saves as PDF

function printed(svg, name, { width, height }) {
  const sheet = document.createElement("iframe");
  sheet.style.cssText = "position:fixed;width:0;height:0;border:0";
  document.body.append(sheet);
  const page = sheet.contentDocument;
  page.title = name;
  const style = page.createElement("style");
  style.textContent = `@page { size: ${width}px ${height}px; margin: 0; }
    html, body { margin: 0; } svg { display: block; print-color-adjust: exact; }`;
  page.head.append(style);
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  page.body.append(page.importNode(picture, true));
  const { title } = document; // the browser uses the title as file name
  document.title = name;
  sheet.contentWindow.addEventListener("afterprint", () => {
    document.title = title;
    sheet.remove();
  });
  sheet.contentWindow.focus();
  sheet.contentWindow.print();
}

// ---- pieces that the headline counts, and a note on one cluster, above the figure

const HEARD = ["pointerover", "pointerout", "focusin", "focusout", "click", "keydown"];
const RING = 16; // radius in pixels of a ring around a place
// The image is beside the plot, not around it, because elements inside an image can't get keyboard
// focus; it is the target of a skip link.
const PARTS = `<button class="flip" type="button" hidden></button><div class="plot"></div>
  <div class="image" role="img" aria-label="Picture, not drawn yet" tabindex="-1"></div>
  <p class="problem" hidden></p><svg class="lights"></svg>
  <aside class="note" role="dialog" tabindex="-1" hidden>
  <button type="button" class="close" aria-label="Close the note">✕</button><b></b><p></p>
  <button type="button" class="below">All stages, below</button></aside>`;

// ---- one figure

class LiveFigure {
  constructor(root) {
    this.frame = document.createElement("div");
    this.frame.className = "live-figure";
    this.frame.innerHTML = PARTS;
    [this.flip, this.plot, this.image, this.problem, this.lights, this.note] = this.frame.children;
    this.side = 0;
    this.flip.addEventListener("click", () => {
      this.side = 1 - this.side;
      this.redraw();
    });
    this.note.firstElementChild.addEventListener("click", () => this.pick(null));
    this.note.lastElementChild.addEventListener("click", () => this.openBelow());
    root.appendChild(this.frame);
    (this.observer = new ResizeObserver(() => this.resize())).observe(this.frame);
    this.listening = new AbortController();
    const hear = (type, act) => window.addEventListener(type, act, { signal: this.listening.signal });
    hear("dpviz-save", ({ detail }) => {
      const asked = this.ready && detail.figure === this.head.key;
      if (asked) this.save(window.Plotly, detail.format).catch((error) => this.fail(error));
    });
    hear("dpviz-refit", () => this.head && this.redraw());
    for (const type of HEARD) hear(type, (event) => this.pieces?.of && this.hear(event));
  }

  update({ data, setTriggerValue }) {
    this.waiting = data;
    this.send = setTriggerValue;
    if (!this.drawing) this.drawing = this.drain();
  }

  // Draw one figure at a time; of figures that arrive meanwhile, only the newest is drawn.
  async drain() {
    while (this.waiting && !this.closed) {
      // A held slider sends its next value first, so that the server works during the drawing.
      if (this.ready) await new Promise((next) => setTimeout(next));
      const bytes = this.waiting;
      this.waiting = null;
      try {
        await this.draw(bytes);
      } catch (error) {
        this.fail(error);
      }
    }
    this.drawing = null;
    this.resize();
  }

  async draw(bytes) {
    const theme = themeOf(this.frame), head = decode(bytes);
    const signature = head.signature + theme.signature;
    if (signature === this.drawn) return;
    if (!this.ready) this.frame.style.minHeight = `${head.height}px`;
    const Plotly = await loadPlotly(head.script);
    if (this.closed) return;
    this.frame.style.minHeight = "";
    document.documentElement.removeAttribute("data-dpv-waits"); // frees the place of the picture
    Object.assign(this, { head, bytes });
    const factor = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.width = this.frame.clientWidth;
    const width = Math.max(this.width, head.least_width);
    if (factor !== 1) enlarge(head.figure, factor);
    const staged = document.documentElement.dataset.dpvStage; // "on", or "frame"
    if (head.fills && staged) head.fills = "all";
    this.wraps = wrapTitle(head.figure.layout, width, factor, head.fills);
    const share = head.share && head.share + (factor > 1 ? PROJECTED : 0);
    // Title and stamp may be below the window's end, because the maps need the space.
    const under = head.fills === "maps" ? head.figure.layout.margin.under : 0;
    const rest = head.fills || staged ? window.innerHeight - this.placeInPage() + under : 0;
    const least = Math.max(head.height, Math.round(share * window.innerHeight));
    const room = rest > LEAST_FILL * (staged === "on" ? 0.5 : factor) ? rest : Math.max(least, rest);
    const { legend, margin } = head.figure.layout;
    if (legend?.yref === "container")
      margin.t += legendLines(head.figure, width, factor) * TITLE_LINE * factor;
    pairUp(head.figure.data, head.pairs);
    const height = fitted(head.figure, width, room, factor, this.side);
    this.flip.hidden = !head.figure.single;
    const [shown, other] = head.figure.single || [];
    const ariaLabel = `Show the map “${other}” instead of “${shown}”`;
    Object.assign(this.flip, { textContent: `⇄ ${other}`, ariaLabel });
    this.flip.style.top = `${Math.max(0, (margin?.t ?? 0) - 2 * FLIP * factor)}px`;
    const above = legend?.orientation === "h" && legend.y >= 1 && !legend.yref;
    const beside = legend && legend.orientation !== "h" && (legend.x ?? 1) >= 1;
    if (width < NARROW && (above || beside)) {
      // Otherwise the legend would overlap the title or leave no space for the picture.
      Object.assign(legend, { orientation: "h", y: -0.22, yanchor: "top", x: 0, xanchor: "left" });
      if (beside) head.figure.layout.margin.r = 14;
    }
    if (legend?.yref === "container") {
      // Keep the planned distance from the top, with larger type and more lines of the title.
      const below = (1 - legend.y) * head.height * factor + this.wraps;
      legend.y = 1 - below / height;
    }
    this.plot.style.minWidth = `${head.least_width}px`;
    const scrolls = head.least_width > this.frame.clientWidth;
    this.frame.style.overflowX = scrolls ? "auto" : "hidden";
    this.frame.style.height = `${height + (scrolls ? SCROLL_BAR : 0)}px`;
    this.plot.style.height = `${height}px`;
    this.image.setAttribute("aria-label", head.alt);
    const layout = {
      uirevision: "kept",
      margin: { l: 48, r: 16, t: 56, b: 40 },
      ...head.figure.layout,
      template: templateOf(theme, factor),
      height,
      autosize: true,
    };
    if (this.ready && this.revision !== layout.uirevision && layout.meta?.across) {
      // Start anew for other data or another domain, since a map that Plotly shrank keeps its shape.
      Plotly.purge(this.plot);
      this.ready = this.clicking = this.boxing = this.picking = false;
    }
    this.revision = layout.uirevision;
    this.config ??= this.makeConfig(Plotly, head.boxable);
    const still = !this.ready || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const glide = still ? () => {} : this.fade();
    await Plotly.react(this.plot, head.figure.data, layout, this.config);
    glide();
    for (const svg of this.plot.querySelectorAll(".main-svg")) svg.ariaHidden = "true";
    if (this.pieces?.run !== head.figure.pieces?.run) document.documentElement.dataset.dpvLit = "";
    this.pieces = head.figure.pieces;
    if (!this.ready) this.plot.on("plotly_afterplot", () => this.drawnAgain());
    this.drawnAgain();
    this.showNote(head);
    if (this.pieces.grids && !this.picking) {
      this.picking = true;
      this.plot.on("plotly_click", ({ points }) => this.pick(this.clusterAt(points[0])));
      this.plot.on("plotly_hover", ({ points }) => this.link(this.clusterAt(points[0])));
      this.plot.on("plotly_unhover", () => this.link({}));
    }
    if (head.clickable && !this.clicking) {
      this.clicking = true;
      this.plot.on("plotly_click", ({ points }) => this.clicked(points[0]));
    }
    if (head.boxable && !this.boxing) {
      this.boxing = true;
      this.plot.on("plotly_selected", (event) => this.boxed(Plotly, event));
    }
    this.drawn = signature;
    this.frame.classList.add("drawn");
    this.problem.hidden = true;
    this.ready = true;
  }

  // Distance of the figure from the top of the window if the page is not scrolled.
  placeInPage() {
    const main = this.frame.closest("[data-testid=stMain]");
    return Math.round(this.frame.getBoundingClientRect().top + (main?.scrollTop ?? 0));
  }

  // Made once, because with a new config Plotly.react builds a new plot and loses the zoom.
  makeConfig(Plotly, boxable) {
    const save = (format) => () => this.save(Plotly, format);
    const camera = Plotly.Icons.camera;
    const png = { name: "png", title: "Download as PNG", icon: camera, click: save("png") };
    const svg = { name: "svg", title: "Download as SVG", icon: DISK, click: save("svg") };
    const pdf = { name: "pdf", title: "Print, or save as PDF", icon: SHEET, click: save("pdf") };
    const domain = {
      name: "domain", title: "Draw the domain as a box", icon: Plotly.Icons.selectbox,
      attr: "dragmode", val: "select",
      click: () => Plotly.relayout(this.plot, { dragmode: "select" }),
    };
    return {
      displaylogo: false,
      showSendToCloud: false,
      responsive: false, // a ResizeObserver notices more than changes of the window
      modeBarButtons: [[png, svg, pdf], ["zoom2d", "pan2d", "resetScale2d"],
        ...(boxable ? [[domain]] : [])],
    };
  }

  async save(Plotly, format) {
    const size = { width: this.plot.clientWidth, height: this.plot.clientHeight };
    const filename = this.head.base_name;
    if (format === "pdf") {
      const svg = await Plotly.toImage(this.plot, { format: "svg", imageDataOnly: true, ...size });
      return printed(svg, filename, size);
    }
    const scale = format === "png" ? 2 : 1;
    return Plotly.downloadImage(this.plot, { format, filename, scale, ...size });
  }

  // The old cells fade over the new ones; the returned function moves centres from old to new places.
  fade() {
    for (const old of this.plot.querySelectorAll(".dpv-old")) old.remove();
    for (const image of this.plot.querySelectorAll(".hm image")) {
      if (image.style.opacity === "0" || !image.closest(".heatmaplayer")) continue;
      const old = image.closest(".heatmaplayer").appendChild(image.cloneNode());
      old.setAttribute("class", "dpv-old");
    }
    const centres = () => [...this.plot.querySelectorAll(".points:has(~ .text .textpoint) .point")]
      .map((one) => [one, one.getAttribute("transform").match(/-?[\d.]+/g)]);
    const before = centres(), numbers = ".points:has(.point) ~ .text .textpoint";
    return () => centres().forEach(([one, to], i) => {
      const [x, y] = (before[i]?.[1] ?? to).map((from, axis) => from - to[axis]);
      if (Math.hypot(x, y) <= 1) return;
      for (const part of [one, this.plot.querySelectorAll(numbers)[i]])
        part?.animate({ translate: [`${x}px ${y}px`, "0px 0px"] }, 150);
    });
  }

  drawnAgain() {
    this.hideBlur();
    this.light();
  }

  // Axes of a map.
  axes(panel) {
    return ["xaxis", "yaxis"].map((name) => this.plot._fullLayout[panel === 1 ? name : name + panel]);
  }

  // The cluster at a place: its map and number; if the right map is empty there, the true cluster.
  clusterAt({ x, y, xaxis }) {
    const [number, right] = (this.pieces.grids ?? []).map(({ z, ends: [[left, wide], [low, high]] }) =>
      z[Math.floor((y - low) / high)]?.[Math.floor((x - left) / wide)] ?? 0);
    const on = xaxis._id === "x" ? 1 : 2;
    return on === 2 && right ? { panel: 2, number: right, on } : { panel: 1, number, on };
  }

  // Outline a cluster and its partner on the other map.
  link({ panel, number }) {
    const marks = this.pieces?.links?.[panel]?.[number] ?? [];
    if (String(marks) === String(this.linked)) return;
    this.linked = marks;
    this.light();
  }

  // A word of the headline lights up its pieces while the pointer or the focus is on it, and after a
  // click until Escape or a second click.
  hear({ type, target, key }) {
    const root = document.documentElement.dataset;
    const kind = target.closest?.(".dpv-word")?.dataset.of;
    if (type === "keydown" && key === "Escape") {
      root.dpvLit = this.passing = "";
      this.pick(null);
    } else if (type === "keydown" && key === "Enter" && target.dataset?.at) {
      const [panel, , number] = target.dataset.at.split(",").map(Number);
      this.pick({ panel, number, on: panel });
    } else if (!kind || type === "keydown") return;
    else if (type === "click") {
      root.dpvLit = root.dpvLit === kind ? "" : kind;
      this.passing = "";
    } else this.passing = /over|in$/.test(type) ? kind : "";
    this.light();
  }

  // Cells of one cluster, or a ring around a place, on a map, as a path in pixels.
  cellsOf([panel, grid, number, height]) {
    if (grid === null) {
      const [x, y] = this.axes(panel).map(({ _offset, d2p }, axis) => _offset + d2p([number, height][axis]));
      return `M${x - RING} ${y}a${RING} ${RING} 0 1 0 ${2 * RING} 0a${RING} ${RING} 0 1 0 ${-2 * RING} 0z`;
    }
    const { z, ends } = this.pieces.grids[grid], parts = [];
    const [x, y] = this.axes(panel).map(({ _offset, d2p }, axis) => (cell) =>
      (_offset + d2p(ends[axis][0] + cell * ends[axis][1])).toFixed(1));
    z.forEach((row, j) => {
      for (let to, from = row.indexOf(number); from >= 0; from = row.indexOf(number, to)) {
        for (to = from; row[to] === number;) to += 1;
        parts.push(`M${x(from)} ${y(j)}H${x(to)}V${y(j + 1)}H${x(from)}z`);
      }
    });
    return parts.join("");
  }

  // Draw all pieces of the lit word, and the outlines of the clusters at the pointer and the note.
  light() {
    const kind = this.passing || document.documentElement.dataset.dpvLit, { activeElement } = document;
    const lit = this.pieces?.of?.[kind] ?? [];
    const outlined = [this.linked, this.head.note?.marks].filter((marks) => marks?.length);
    const path = (marks) => `<path d="${marks.map((mark) => this.cellsOf(mark)).join("")}"/>`;
    // A figure with one panel has no second pair of axes.
    const maps = `<path d="${[1, 2].map((panel) => this.axes(panel)).map(([across, up]) => across ?
      `M${across._offset} ${up._offset}h${across._length}v${up._length}h${-across._length}z` : "").join("")}"/>`;
    const named = (name) => this.pieces.grids ? `tabindex="0" role="button" aria-label="What broke ${name}?"` : "";
    // The mask leaves the outer half of each outline.
    const html = !lit.length && !outlined.length ? "" : `<clipPath id="dpv-maps">${maps}</clipPath>
      <mask id="dpv-cells">${maps}<g class="holes">${lit.map(([, marks]) => path(marks)).join("")}
      ${outlined.map(path).join("")}</g></mask><g mask="url(#dpv-cells)">
      ${lit.length ? `<g class="dim">${maps}</g>` : ""}<g clip-path="url(#dpv-maps)">
      ${outlined.map(path).join("")}${lit.map(([name, marks]) =>
        `<g class="piece" data-at="${marks[0]}" ${named(name)}>${path(marks)}</g>`).join("")}</g></g>`;
    if (html === this.shown) return; // otherwise a piece would lose the focus
    const focused = this.lights.contains(activeElement) && activeElement.dataset.at;
    this.lights.style.width = `${this.plot.clientWidth}px`;
    this.lights.innerHTML = this.shown = html;
    this.lights.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
  }

  // Ask for the note on a cluster, or close the note.
  pick(at) {
    if (!this.pieces.grids || !(at ? at.number : this.head.note)) return;
    if (!at && this.note.contains(document.activeElement)) this.image.focus({ preventScroll: true });
    this.note.hidden ||= !at;
    this.opens = Boolean(at);
    this.send("picked", at);
  }

  // The note is on the map that was not clicked, in the corner far from the cluster.
  showNote({ note }) {
    this.note.hidden = !note;
    if (!note) return;
    const [, title, text, below] = this.note.children, [panel, right, low] = note.corner;
    this.note.setAttribute("aria-label", note.title);
    [title.textContent, text.textContent, below.hidden] = [note.title, note.text, !note.below];
    const [across, up] = this.axes(panel);
    this.note.style.left = `${across._offset + right * (across._length - this.note.offsetWidth)}px`;
    this.note.style.top = `${up._offset + low * (up._length - this.note.offsetHeight)}px`;
    if (this.opens) this.note.focus({ preventScroll: true });
    this.opens = false;
  }

  openBelow() {
    const panel = document.querySelector(`.st-key-${this.head.note.below} summary`);
    if (!panel.parentElement.open) panel.click();
    panel.scrollIntoView();
    panel.focus({ preventScroll: true });
  }

  // Hide numbers that are too small to read; they appear again after zooming in.
  hideBlur() {
    for (const { style } of this.plot.querySelectorAll(".heatmap-label text"))
      style.visibility = parseFloat(style.fontSize) < SMALLEST_NUMBER ? "hidden" : "";
  }

  // Send the point's position and its trace's "meta" to the program.
  clicked(point) {
    if (point) this.send("clicked", { x: point.x, y: point.y, meta: point.data.meta ?? null });
  }

  // Send the box as the new domain; then remove the selection, so that dragging zooms again.
  boxed(Plotly, event) {
    const ranges = Object.entries(event?.range ?? {});
    if (!ranges.length) return;
    const of = (axis) => ranges.find(([name]) => name.startsWith(axis))[1].map(Number);
    if (this.head.boxable) this.send("boxed", { x: of("x"), y: of("y") });
    const whole = Array.from(this.plot.data, () => null);
    Plotly.update(this.plot, { selectedpoints: whole }, { selections: [], dragmode: "zoom" });
  }

  resize() {
    const width = this.plot.clientWidth;
    if (!width || !this.ready || this.drawing || width === this.plot._fullLayout?.width) return;
    if (this.wraps || this.head.figure.layout.meta?.across) {
      if (this.frame.clientWidth === this.width) return;
      // The title wraps differently and maps may change their height or place, and Plotly's own
      // resize would start from the panels that it shrank for the old width.
      return void this.redraw();
    }
    window.Plotly.Plots.resize(this.plot).catch(() => {}); // a hidden plot is drawn when shown
  }

  redraw() {
    this.drawn = null;
    this.waiting ??= this.bytes;
    this.drawing ??= this.drain();
  }

  fail(error) {
    console.warn("The figure could not be drawn", error);
    this.problem.textContent =
      "This chart could not be drawn, because its drawing program did not load. " +
      "Reload the page; the numbers beside it are not affected.";
    this.problem.hidden = false;
    this.frame.classList.add("drawn"); // there will be no other picture
  }

  close() {
    this.closed = true;
    this.observer.disconnect();
    this.listening.abort();
    if (window.Plotly && this.ready) window.Plotly.purge(this.plot);
    this.frame.remove();
  }
}

export default function render(args) {
  const root = args.parentElement;
  const figure = figures.get(root) ?? new LiveFigure(root);
  figures.set(root, figure);
  figure.update(args);
  return () => {
    figure.close();
    figures.delete(root);
  };
}
