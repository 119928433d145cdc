// A slider that reports its value while it is dragged. At most one message is unanswered. The next
// message has the newest value, and is sent when the run of the last message has ended.

const ANSWER_TIMEOUT_MS = 1500; // a lost answer must not block the slider
const BUSY_LIMIT_MS = 6000; // longest wait for a slow run before it is interrupted
const RETRIES = 2; // how often a message is sent again if its run ended without an answer
const SETTLE_MS = 300; // from the last key press until the value is settled
const SAY_MS = 6000; // how long a message about a typed value stays
const PLAY_MS = 700; // from one position to the next
const MAX_STOPS = 2000;

const sliders = new WeakMap();

function scriptRunning() {
  const app = document.querySelector("[data-test-script-state]");
  const state = app ? app.getAttribute("data-test-script-state") : "notRunning";
  // A page that has lost its session is inert until the new session has run.
  return Boolean(app?.inert) || state === "running" || state === "rerunRequested";
}

// Each part becomes an attribute of the slider, under its last class.
const PARTS = `<div class="live-slider"><div class="head"><label class="label" for="range"></label>
  <button class="help" type="button">?</button><button class="player" type="button"></button>
  <span class="reading"><span class="affix prefix"></span><input class="number" type="text"
  inputmode="decimal" autocomplete="off"><span class="affix suffix"></span></span></div>
  <div class="tip" role="tooltip" popover="manual"></div>
  <div class="over"><button class="enlarge" type="button" aria-label="Enlarge the curve"></button></div>
  <div class="plot" role="img"><span class="title"></span><div class="drawing">
  <svg class="svg" viewBox="0 0 100 100" preserveAspectRatio="none"></svg><i class="rider"></i></div></div>
  <div class="panel" popover><div class="asked"></div><div class="table"></div></div>
  <div class="large" popover></div>
  <input class="range" id="range" type="range" min="0" step="1">
  <div class="ends"><span class="end low"></span><button class="menu" type="button"></button>
  <span class="said" role="status"></span><span class="end high"></span></div></div>`;

const round = (value, digits) => Number(value.toPrecision(digits));

// Values of a log slider: even steps of the logarithm, three digits, no duplicates.
function logStops({ low, high, step, integer }) {
  const decades = Math.log10(high / low);
  const count = Math.min(MAX_STOPS, Math.max(1, Math.round(decades / (step || 0.02))));
  const stops = [];
  for (let i = 0; i <= count; i += 1) {
    let value = round(low * 10 ** ((decades * i) / count), 3);
    if (integer) value = Math.round(value);
    value = i === 0 ? low : i === count ? high : Math.min(high, Math.max(low, value));
    if (!stops.length || value > stops[stops.length - 1]) stops.push(value);
  }
  return stops;
}

function makeScale(spec) {
  const { low, high, scale, integer } = spec;
  if (scale === "log") {
    const stops = logStops(spec);
    return {
      last: stops.length - 1,
      valueAt: (i) => stops[i],
      positionOf: (value) => {
        const distance = (stop) => Math.abs(Math.log(stop / value));
        let best = 0;
        stops.forEach((stop, i) => (best = distance(stop) < distance(stops[best]) ? i : best));
        return best;
      },
    };
  }
  const step = spec.step || (integer ? 1 : (high - low) / 100);
  const last = Math.max(1, Math.ceil((high - low) / step - 1e-9));
  return {
    last,
    valueAt: (i) => (i >= last ? high : round(low + i * step, 12)),
    positionOf: (value) => Math.min(last, Math.round((value - low) / step)),
  };
}

const short = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

// "%.2f", "%d" or "%.3g" with any text around it, as in Python.
function makeFormat(pattern) {
  const match = /%(?:\.(\d+))?([dfg])/.exec(pattern);
  const plain = (text) => text.replaceAll("%%", "%");
  const [prefix, suffix] = match
    ? [plain(pattern.slice(0, match.index)), plain(pattern.slice(match.index + match[0].length))]
    : ["", ""];
  const digits = match && match[1] !== undefined ? Number(match[1]) : 6;
  const kind = match ? match[2] : "g";
  const number = (value) => {
    if (kind === "d") return String(Math.round(value));
    const text = kind === "f" ? value.toFixed(digits) : String(round(value, digits || 1));
    // A typed value is shown with all its digits, so that the screen shows the number that is used.
    return Math.abs(Number(text) - value) <= 1e-9 * Math.abs(value) ? text : String(value);
  };
  return { prefix, suffix, number, whole: (value) => prefix + number(value) + suffix };
}

const GROUPED = [[",", "\\."], ["\\.", ","], [" ", "[.,]"], ["['’]", "[.,]"]].map(
  ([mark, point]) => new RegExp(`^[+-]?[1-9]\\d{0,2}(${mark}\\d{3})+(${point}\\d*)?$`),
);
const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// Possible meanings of a typed text: "1 540" means 1540, but "1,540" means 1540 or 1.54. A single
// point is always a decimal point, as in all numbers on the screen.
function readings(typed) {
  const text = typed.replaceAll("−", "-").replace(/\s/g, " ");
  if (PLAIN.test(text)) return [Number(text)];
  const found = [];
  if (GROUPED.some((pattern) => pattern.test(text))) {
    // The last mark is a decimal mark if it differs from the first.
    const marks = text.replace(/[-+\d]/g, "");
    const last = marks.at(-1);
    const end = last === marks[0] ? text.length : text.lastIndexOf(last);
    const digits = (part) => part.replace(/[^-+\d]/g, "");
    found.push(Number(`${digits(text.slice(0, end))}.${digits(text.slice(end))}`));
  }
  const pointed = text.replace(",", ".");
  if (PLAIN.test(pointed)) found.push(Number(pointed));
  return found;
}

class LiveSlider {
  constructor(root) {
    Object.assign(this, { root, value: null, dirty: false, path: [], specText: "" });
    this.held = false; // pointer down
    this.settled = true; // part of the next message
    // Sequence numbers: of the unanswered message, or 0; of the last answered and the last sent one.
    Object.assign(this, { inflight: 0, acked: 0, seq: 0, retries: 0, epoch: null, session: null });
    this.build();
    this.watchRuns();
  }

  build() {
    const template = document.createElement("template");
    template.innerHTML = PARTS;
    for (const part of template.content.querySelectorAll("[class]"))
      this[[...part.classList].at(-1)] = part;
    this.root.append(template.content);
    this.menu.popoverTargetElement = this.panel;
    this.enlarge.popoverTargetElement = this.large;
    this.large.onclick = () => this.large.hidePopover();
    this.large.ontoggle = ({ newState }) =>
      document.documentElement.toggleAttribute("data-dpv-large", newState === "open");
    this.showPlaying(false);
    this.asked.onchange = ({ target: { name, value } }) => this.trigger("choice", { name, value });
    this.listening = new AbortController();
    const { signal } = this.listening;
    window.addEventListener("dpviz:curves", () => this.takeCurve(), { signal });
    this.listen(signal);
  }

  // The curve lies between label and track; its menu has the choices and a table of its numbers.
  takeCurve() {
    const curve = window.dpvizCurves?.[this.spec.curve];
    if (curve === this.curve && this.specText === this.curveSpec) return;
    Object.assign(this, { curve, curveSpec: this.specText });
    const { bands, lines, breaks } = curve ?? { bands: [], lines: [], breaks: [] };
    const x = (value) => (100 * this.scale.positionOf(value)) / this.scale.last;
    const ends = (points) => points.map(([value, y]) => `${x(value)} ${100 - 100 * y}`);
    const path = (name, d) => (d ? `<path class="${name}" d="M${d}"/>` : "");
    this.svg.innerHTML = [
      ...bands.map(([kind, points]) => path(`band ${kind}`, ends(points).join("L"))),
      ...breaks.map((value) => path("break", `${x(value)} 100v-22`)),
      ...lines.map(([kind, points]) => path(kind, ends(points).join("L"))),
      ...lines.map(([kind, points]) => path(`dots ${kind}`, ends(points).map((at) => `${at}h0`).join("M"))),
    ].join("");
    this.path = (lines[0]?.[1] ?? []).map(([value, y]) => [x(value), y]);
    this.title.textContent = curve?.title ?? "";
    this.title.className = `title ${curve?.side ?? ""}`;
    this.plot.setAttribute("aria-label", curve?.words ?? "");
    this.table.innerHTML = curve?.table ?? "";
    this.large.innerHTML = curve?.large ?? "";
    this.enlarge.hidden = !curve?.large;
    if (this.value !== null) this.decorate();
  }

  // Put the rider on the first line, above the thumb.
  ride(share) {
    const after = this.path.findIndex(([x]) => x >= share);
    this.rider.hidden = after < 0 || this.path[0][0] > share;
    if (this.rider.hidden) return;
    const [[left, low], [right, high]] = [this.path[Math.max(0, after - 1)], this.path[after]];
    const y = low + ((share - left) / (right - left || 1)) * (high - low);
    Object.assign(this.rider.style, { left: `${share}%`, bottom: `${100 * y}%` });
  }

  // The menu's choices are select boxes, which Python writes.
  showMenu({ text, choices }) {
    if (choices === this.choices) return;
    this.choices = choices;
    this.asked.innerHTML = choices;
    this.menu.hidden = !choices;
    this.menu.textContent = text;
    this.menu.setAttribute("aria-label", `Curve of ${this.spec.label}: ${text}, numbers`);
  }

  listen(signal) {
    const release = () => this.release();
    this.player.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.range.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.range.disabled) return;
      this.pause();
      this.held = true;
    });
    this.range.addEventListener("input", () => {
      this.pause();
      this.onInput();
    });
    this.range.addEventListener("change", release);
    // The pointer may be released anywhere.
    for (const name of ["pointerup", "pointercancel"])
      window.addEventListener(name, release, { capture: true, signal });
    this.range.addEventListener("focus", () => setTimeout(() => this.askForCurve(), SETTLE_MS));
    this.range.addEventListener("blur", () => {
      if (!this.settled && !this.playing) this.settle();
    });
    this.number.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.commitNumber();
      if (event.key === "Escape") {
        this.say("");
        this.show();
      }
    });
    this.number.addEventListener("input", () => (this.edited = true));
    this.number.addEventListener("blur", () => this.commitNumber());
    this.number.addEventListener("focus", () => {
      this.pause(); // otherwise the next step would overwrite the typed text
      this.number.select();
    });
    for (const name of ["mouseenter", "focus", "click"])
      this.help.addEventListener(name, () => this.toggleTip(true));
    for (const name of ["mouseleave", "blur"])
      this.help.addEventListener(name, () => this.toggleTip(false));
    this.help.addEventListener("keydown", ({ key }) => key === "Escape" && this.toggleTip(false));
  }

  // An answer counts only after its run has ended. The slider is shown early in a run, and a
  // message sent at this moment would interrupt the run before its figure is drawn.
  watchRuns() {
    const app = document.querySelector("[data-test-script-state]");
    if (!app) return;
    this.observer = new MutationObserver(() => this.pump());
    this.observer.observe(app, { attributeFilter: ["data-test-script-state", "inert"] });
  }

  update(args) {
    const [data] = args.data;
    Object.assign(this, { data, send: args.setStateValue, trigger: args.setTriggerValue });
    const specText = JSON.stringify(data.spec);
    if (specText !== this.specText) {
      this.specText = specText;
      this.applySpec(data.spec);
    }
    this.seq = Math.max(this.seq, data.ack);
    this.acked = Math.max(this.acked, data.ack);
    this.showMenu(data.menu);
    this.takeCurve();
    this.takeValue(data);
    this.pump();
  }

  applySpec(spec) {
    this.say("");
    this.spec = spec;
    this.scale = makeScale(spec);
    this.format = makeFormat(spec.format);
    this.range.max = String(this.scale.last);
    this.range.disabled = spec.disabled;
    this.root.host.closest(".stElementContainer").dataset.dpvControl = spec.name; // for page.css
    this.number.disabled = spec.disabled;
    this.label.textContent = spec.label;
    this.range.setAttribute("aria-label", spec.label);
    this.number.setAttribute("aria-label", `${spec.label}: exact value`);
    this.help.hidden = !spec.help;
    this.player.hidden = !spec.play;
    this.player.disabled = spec.disabled;
    this.showPlaying(Boolean(this.playing));
    this.help.setAttribute("aria-label", `About ${spec.label}: ${spec.help}`);
    this.tip.textContent = spec.help;
    this.plot.hidden = !spec.curve;
    const { classList } = this.plot.parentElement;
    classList.toggle("with-curve", Boolean(spec.curve));
    classList.toggle("on-demand", !spec.always);
    this.prefix.textContent = this.format.prefix;
    this.suffix.textContent = this.format.suffix;
    this.low.textContent = spec.low_label;
    this.high.textContent = spec.high_label;
    const longest = Math.max(
      ...[spec.low, spec.high, this.scale.valueAt(Math.floor(this.scale.last / 2))].map(
        (value) => this.format.number(value).length,
      ),
    );
    this.number.style.width = `${Math.max(4, longest + 1)}ch`;
    if (this.value !== null) this.show(this.edited);
  }

  // A value that the program has set (reset, link) replaces any other value except that of a held
  // thumb. The page sends its value to a new session.
  takeValue(data) {
    const changed = this.epoch !== data.epoch;
    const anew = this.session !== null && this.session !== data.session;
    this.epoch = data.epoch;
    this.session = data.session;
    if (anew && this.value !== data.value) {
      Object.assign(this, { dirty: true, inflight: 0, retries: 0, waits: true });
    } else if (changed && this.held) {
      this.dirty = true; // send again, because messages of the old epoch are ignored
    } else if (changed) {
      clearTimeout(this.settleTimer);
      this.stopTimer();
      this.say("");
      Object.assign(this, { dirty: false, settled: true, inflight: 0, value: data.value });
      this.show();
    }
  }

  // Move the thumb to Python's value when no message is open. Before that, the answer to an older
  // message would move the thumb back.
  reconcile() {
    const busy = this.held || this.dirty || this.inflight || !this.settled || scriptRunning();
    if (busy || !this.data || this.value === this.data.value) return;
    this.value = this.data.value;
    this.show();
  }

  show(edited = false) {
    this.edited = edited; // the user types
    this.range.value = String(this.scale.positionOf(this.value));
    this.decorate();
  }

  decorate() {
    const share = (100 * Number(this.range.value)) / this.scale.last;
    this.range.style.setProperty("--share", `${share}%`);
    this.ride(share);
    this.range.setAttribute("aria-valuetext", this.format.whole(this.value));
    if (!this.edited) this.number.value = this.format.number(this.value);
  }

  onInput() {
    clearTimeout(this.settleTimer);
    if (!this.held) this.settleTimer = setTimeout(() => this.settle(), SETTLE_MS);
    this.moveTo(Number(this.range.value));
  }

  // Move step by step to the end; start from the beginning if the thumb is at the end.
  play() {
    const atEnd = Number(this.range.value) >= this.scale.last;
    if (atEnd) this.moveTo(0);
    this.playing = setInterval(() => this.advance(), PLAY_MS);
    this.showPlaying(true);
  }

  advance() {
    // Wait if the last step is still being drawn or another control has just been used, because a
    // message sent now would contain old values of the other controls.
    if (this.inflight || this.dirty || scriptRunning()) return;
    const next = Number(this.range.value) + 1;
    if (next <= this.scale.last) this.moveTo(next);
    if (next >= this.scale.last) this.pause();
  }

  moveTo(position) {
    this.say("");
    this.value = this.scale.valueAt(position);
    this.show();
    Object.assign(this, { dirty: true, settled: false, retries: 0 });
    this.pump();
  }

  pause() {
    if (!this.playing) return;
    this.stopTimer();
    this.settle();
  }

  stopTimer() {
    clearInterval(this.playing);
    this.playing = null;
    this.showPlaying(false);
  }

  showPlaying(playing) {
    this.player.textContent = playing ? "❚❚" : "▶";
    const name = this.spec ? this.spec.label : "";
    this.player.setAttribute("aria-label", `${playing ? "Pause" : "Play"} ${name}`);
  }

  release() {
    if (!this.held) return;
    this.held = false;
    if (!this.settled) this.settle();
  }

  settle() {
    clearTimeout(this.settleTimer);
    this.settled = true;
    this.dirty = true;
    this.pump();
  }

  commitNumber() {
    const text = this.number.value.trim();
    if (this.number.value === this.format.number(this.value)) return void this.show();
    const { low, high, integer } = this.spec;
    const read = readings(text).filter(Number.isFinite);
    // Of two possible meanings, use the meaning that is valid for the slider.
    const possible = read.filter((one) => !integer || Number.isInteger(one));
    const inside = possible.filter((one) => one >= low && one <= high);
    const [typed] = [read, possible, inside].find((some) => some.length === 1) ?? [];
    if (typed === undefined) {
      this.show();
      const stays = `${this.format.number(this.value)} stays`;
      const why = read.length ? `is ${read.join(" or ")}?` : "is no number:";
      this.say(text === "" ? stays : `${short(text)} ${why} ${stays}`);
      return;
    }
    const whole = integer ? Math.round(typed) : typed;
    this.value = Math.min(high, Math.max(low, whole));
    this.show();
    if (typed > high) this.say(`${short(text)} is too large: at most ${this.format.number(high)}`);
    else if (typed < low) this.say(`${short(text)} is too small: at least ${this.format.number(low)}`);
    else if (whole !== typed) this.say(`${short(text)} is no whole number: ${whole} is used`);
    else this.say(read.length > 1 ? `${short(text)} is read as ${typed}` : "");
    this.settle();
  }

  // Show a message about a typed value until the next change, but not longer than some seconds.
  say(text) {
    clearTimeout(this.sayTimer);
    this.said.textContent = text;
    if (text) this.sayTimer = setTimeout(() => this.say(""), SAY_MS);
  }

  // Some sliders get their curve only when they have the focus. A drag sends a message anyway.
  askForCurve() {
    const asks = this.spec.curve && !this.spec.always && !this.curve;
    if (asks && this.settled && !this.held && this.range.matches(":focus")) this.settle();
  }

  // Send a waiting value, if no message is unanswered.
  pump() {
    if (this.closed || !this.send) return;
    if (this.inflight && this.answered()) {
      this.inflight = 0;
      clearTimeout(this.answerTimer);
    }
    if (this.inflight) return;
    if (!this.dirty) return void this.reconcile();
    // A new session knows this slider only after its first run has ended.
    if (this.waits && scriptRunning()) return;
    this.waits = false;
    this.dirty = false;
    this.seq += 1;
    this.inflight = this.seq;
    this.sentAt = performance.now();
    this.waitForAnswer();
    const { value, seq, epoch } = this;
    const focused = this.held || this.range.matches(":focus");
    this.send("state", { value, seq, epoch, focused, dragging: !this.settled });
  }

  answered() {
    return this.acked >= this.inflight && !scriptRunning();
  }

  waitForAnswer() {
    clearTimeout(this.answerTimer);
    this.answerTimer = setTimeout(() => {
      const running = scriptRunning();
      const patient = performance.now() - this.sentAt < BUSY_LIMIT_MS;
      // Do not interrupt a slow run again and again, because then nothing would be shown. After
      // the release the newest value is sent without waiting.
      if (running && patient && (this.held || !this.dirty)) {
        this.waitForAnswer();
        return;
      }
      const lost = this.acked < this.inflight && !running;
      this.inflight = 0;
      if (lost && this.retries < RETRIES) {
        this.retries += 1;
        this.dirty = true;
      }
      this.pump();
    }, ANSWER_TIMEOUT_MS);
  }

  toggleTip(open) {
    if (!this.tip.showPopover) {
      this.help.title = this.spec.help;
      return;
    }
    if (open === this.tip.matches(":popover-open")) return;
    this.tip.togglePopover(open);
    if (!open) return;
    const at = this.help.getBoundingClientRect();
    const size = this.tip.getBoundingClientRect();
    const left = Math.min(window.innerWidth - size.width - 8, Math.max(8, at.left - 12));
    const above = at.top - size.height - 8;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
  }

  close() {
    this.closed = true;
    clearInterval(this.playing);
    clearTimeout(this.settleTimer);
    clearTimeout(this.answerTimer);
    clearTimeout(this.sayTimer);
    this.listening.abort();
    if (this.observer) this.observer.disconnect();
    this.root.querySelector(".live-slider")?.remove();
  }
}

export default function render(args) {
  const root = args.parentElement;
  let slider = sliders.get(root);
  if (!slider) {
    slider = new LiveSlider(root);
    sliders.set(root, slider);
  }
  slider.update(args);
  return () => {
    slider.close();
    sliders.delete(root);
  };
}
