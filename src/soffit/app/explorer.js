// The page: a map and a table of the objects, questions, and edits of clusters.
// It talks through a channel: the server's (http.js) or the notebook's (widget.js).
const h = (tag, given, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in element && name !== "list") element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...present(children));
  return element;
};
const present = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== false);
const fill = (element, ...children) => element.replaceChildren(...present(children));
const PASSAGE = 80;  // Longer texts stand side by side, in boxes of their own.
const count = (n) => n.toLocaleString("en");
const few = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const share = (value) => (value === null ? "–" : `${Math.floor(value * 100 + 1e-9)}\u00a0%`);

class Explorer {
  constructor(root, channel) {
    this.root = root;
    this.channel = channel;
    this.colourBy = "cluster";
    this.view = { offset: 0, limit: 50, sort: "", descending: 0, search: "", cluster: "", selected: 0, moved: 0 };
    this.merging = new Set();
    this.shown = {};
    this.selection = [];
    this.build();
    this.scatter = new Scatter(this.ui.map);
    this.connect();
    this.run(() => this.start());
  }

  // --- frame ------------------------------------------------------------------------------------

  build() {
    const ui = (this.ui = {});
    const button = (text, title, act, extra) => h("button", { type: "button", title, onclick: act, ...extra }, text);
    ui.status = h("p", { className: "status", role: "status" }, "Loading");
    ui.undo = button("Undo", "Take back the last step (U)", () => this.undo(), { disabled: true, "data-do": "undo" });
    ui.save = button("Results", "Files, and the lines that repeat the result", () => this.showResults(), { "data-do": "results" });
    ui.title = h("h1", {}, "");
    ui.headline = h("p", { className: "headline" }, "");
    ui.map = h("div", { className: "map" });
    ui.colour = h("select", { "aria-label": "Colour by", onchange: () => this.recolour(ui.colour.value) });
    ui.lasso = button("Lasso", "Draw around objects (L, or hold Shift)", () => this.setLasso(this.scatter.mode !== "lasso"), { "aria-pressed": "false" });
    ui.legend = h("div", { className: "legend", hidden: true });
    ui.axes = h("p", { className: "axes" }, "");
    ui.tip = h("div", { className: "tip", hidden: true });
    ui.chosen = h("div", { className: "chosen", hidden: true });
    ui.changed = h("div", { className: "changed", hidden: true, role: "status" });
    ui.question = h("section", { className: "card question", "aria-label": "Question" });
    ui.number = h("section", { className: "card number", "aria-label": "Number of clusters" });
    ui.clusters = h("section", { className: "card clusters", "aria-label": "Clusters" });
    ui.checks = h("section", { className: "card checks", "aria-label": "To check", hidden: true });
    ui.search = h("input", { type: "search", placeholder: "Search all columns", "aria-label": "Search all columns", oninput: () => this.searchSoon() });
    ui.filters = h("span", { className: "filters" });
    ui.paging = h("span", { className: "paging" });
    ui.table = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Objects" });
    ui.dialog = h("dialog", { className: "results", "aria-label": "Results" });
    ui.message = h("div", { className: "message", hidden: true, role: "alert" });
    fill(this.root, 
      h("header", {}, h("div", { className: "about" }, ui.title, ui.headline), h("div", { className: "actions" }, ui.status, ui.undo, ui.save)),
      h("main", {},
        h("div", { className: "left" },
          h("section", { className: "picture", "aria-label": "Map" },
            h("div", { className: "tools" },
              h("label", {}, "Colour by ", ui.colour), ui.lasso,
              button("Whole map", "Show all objects (double click, or 0)", () => this.scatter.fit()), ui.changed),
            ui.map, ui.axes, ui.legend, ui.tip, ui.chosen),
          h("section", { className: "objects", "aria-label": "Table" },
            h("div", { className: "tools" }, ui.search, ui.filters, ui.paging), ui.table)),
        h("aside", {}, ui.question, ui.clusters, ui.number, ui.checks)),
      ui.dialog, ui.message);
  }

  connect() {
    this.scatter.onhover = (object, at) => this.hover(object, at);
    this.scatter.onpick = (object) => this.run(() => this.pick(object));
    this.scatter.onlasso = (objects) => this.run(() => this.select(objects));
    this.root.addEventListener("keydown", (event) => this.key(event));
    if (this.root.id === "explorer") {
      document.addEventListener("keydown", (event) => { if (!this.root.contains(event.target)) this.key(event); });
    }
    this.channel.listen((news) => this.run(() => this.hear(news)));
  }

  async run(work) {
    try {
      await work();
    } catch (error) {
      this.complain(error.message || String(error));
    }
  }

  complain(text) {
    const { message } = this.ui;
    message.textContent = text;
    message.hidden = !text;
    clearTimeout(this.fading);
    if (text) this.fading = setTimeout(() => { message.hidden = true; }, 9000);
  }

  async start() {
    this.state = await this.channel.get("state");
    this.scatter.setPoints(new Float32Array(await this.channel.array("points")));
    this.scatter.setLinks(new Uint32Array(await this.channel.array("links")), this.state.map.names);
    this.fillColours();
    await this.refresh();
    this.root.dataset.ready = "1";
  }

  async hear(news) {
    if (news.lost !== undefined) {
      this.lost = news.lost;
      this.showStatus();
      if (news.lost || !this.state) return;
    }
    if (!this.state) return;
    if (news.error) this.complain(news.error);
    if (news.busy !== undefined) {
      Object.assign(this.state, { busy: news.busy, phase: news.phase });
      this.showStatus();
    }
    if (this.refreshing) { this.again = true; return; }
    this.refreshing = true;
    try {
      do {
        this.again = false;
        try {
          this.state = await this.channel.get("state");
          await this.refresh();
        } catch (error) {
          // Newer news must not be lost with what went wrong here.
          if (!this.again) throw error;
        }
      } while (this.again);
    } finally {
      this.refreshing = false;
    }
  }

  // Whether a part of the page shows these values already. News arrives at any time: a button that
  // is drawn anew between pressing and releasing it would lose the click, and a slider its focus.
  shows(part, ...values) {
    const key = JSON.stringify(values);
    if (this.shown[part] === key) return true;
    this.shown[part] = key;
    return false;
  }

  // Draw what has changed; the old picture stays until the new one is there.
  async refresh() {
    const { state } = this;
    if (this.drawn !== state.version) {
      const names = ["slots", "strength", "moved"];
      const [slots, certainty, moved] = await Promise.all(names.map((name) => this.channel.array(name)));
      this.slots = new Uint16Array(slots);
      this.certainty = new Uint8Array(certainty);
      const flags = new Uint8Array(moved);
      this.movedObjects = [];
      for (let i = 0; i < flags.length; i++) if (flags[i]) this.movedObjects.push(i);
      const first = this.drawn === undefined;
      this.drawn = state.version;
      this.merging.clear();
      await this.recolour(this.colourBy);
      // Rings around half of all objects would say nothing.
      const few = this.movedObjects.length <= Math.max(state.n / 4, 30);
      if (!first) this.scatter.setFlag(1, few ? this.movedObjects : []);
      this.showChange(first);
      await this.loadRows();
    }
    this.showStatus();
    this.ui.title.textContent = state.title;
    this.ui.headline.textContent = state.headline;
    this.ui.undo.disabled = !state.can_undo;
    this.ui.save.hidden = state.folder === null;
    this.ui.axes.textContent = state.map.axes ? `→ ${state.map.axes[0]}   ↑ ${state.map.axes[1]}` : state.map.note;
    this.scatter.canvas.setAttribute("aria-label", `Map of the objects. ${state.headline}`);
    this.showClusters();
    this.showNumber();
    this.showChecks();
    await this.loadQuestion();
    this.root.dataset.version = state.version;
    this.root.dataset.busy = state.busy ? "1" : "0";
  }

  showStatus() {
    const { state } = this, { status } = this.ui;
    if (!state) return;
    if (this.lost) {
      status.textContent = "Connection lost";
      status.className = "status lost";
    } else if (state.busy) {
      status.textContent = state.phase && state.phase !== "fitting" ? `Fitting: ${state.phase}` : "Fitting";
      status.className = "status busy";
    } else {
      const n = state.answers.together + state.answers.apart;
      status.textContent = n || state.edits ? `Saved: ${few(n, "answer")}${state.edits ? `, ${few(state.edits, "edit")}` : ""}` : "Up to date";
      if (state.folder === null && (n || state.edits)) status.textContent = status.textContent.replace("Saved: ", "");
      status.className = "status";
    }
  }

  showChange(first) {
    const { changed } = this.ui, { state } = this;
    changed.hidden = first || !state.change;
    if (changed.hidden) return;
    fill(changed, h("span", {}, state.change));
    if (this.movedObjects.length) {
      changed.append(h("button", { type: "button", onclick: () => this.filter({ moved: 1, cluster: "", selected: 0 }) }, "List them"));
    }
    changed.append(h("button", { type: "button", className: "close", title: "Hide", "aria-label": "Hide", onclick: () => { changed.hidden = true; this.scatter.setFlag(1, []); } }, "×"));
  }

  // --- colours ----------------------------------------------------------------------------------

  fillColours() {
    const option = (value, text) => h("option", { value }, text);
    const columns = this.state.columns
      .map((column, index) => ({ ...column, index }))
      .filter((column) => column.kind === "number" || column.kind === "category");
    fill(this.ui.colour, 
      h("optgroup", { label: "Result" }, ["cluster", ...this.state.measures].map((name) => option(name, name[0].toUpperCase() + name.slice(1)))));
    if (columns.length) {
      this.ui.colour.append(h("optgroup", { label: "Your columns" }, columns.map((column) => option(`column:${column.index}`, column.name))));
    }
  }

  async recolour(by) {
    this.colourBy = by;
    this.ui.colour.value = by;
    const { state, scatter } = this, n = state.n;
    const strengths = new Uint8Array(n).fill(n > 50000 ? 170 : 215);
    if (by === "cluster") {
      // A certain object is solid, an uncertain one pale.
      const values = Float32Array.from(this.slots);
      for (let i = 0; i < n; i++) strengths[i] = 50 + Math.max(this.certainty[i] - 85, 0) * (n > 50000 ? 0.75 : 1.15);
      this.legend(null);
      scatter.setColours(values, strengths, this.tones.palette);
      return;
    }
    const values = new Float32Array(await this.channel.array(by));
    const column = by.startsWith("column:") ? state.columns[Number(by.slice(7))] : null;
    if (column && column.kind === "category") {
      for (let i = 0; i < n; i++) if (Number.isNaN(values[i])) values[i] = -1;
      this.legend(column.categories.map((name, i) => [this.tones.palette[i], name]));
      scatter.setColours(values, strengths, this.tones.palette);
      return;
    }
    const known = values.filter((value) => Number.isFinite(value)).sort();
    // The ends are those of nearly all objects, so that one far value does not hide the others.
    const low = known[Math.floor(0.005 * (known.length - 1))] ?? 0;
    const high = known[Math.ceil(0.995 * (known.length - 1))] ?? 1;
    const steps = 256, ramp = Explorer.ramp(this.tones.ramp, steps, by === "certainty");
    for (let i = 0; i < n; i++) {
      values[i] = Number.isFinite(values[i])
        ? Math.min(Math.max(Math.round((values[i] - low) / (high - low || 1) * (steps - 1)), 0), steps - 1) : -1;
    }
    this.legend({ ramp, low, high });
    scatter.setColours(values, strengths, ramp);
  }

  static ramp(stops, steps, turned) {
    const parts = (hex) => [1, 3, 5].map((from) => parseInt(hex.slice(from, from + 2), 16));
    const found = [];
    for (let i = 0; i < steps; i++) {
      const at = i / (steps - 1);
      const next = Math.max(stops.findIndex(([place]) => place >= at), 1);
      const [[a, one], [b, other]] = [stops[next - 1], stops[next]];
      const mix = parts(one).map((part, j) => Math.round(part + (parts(other)[j] - part) * (at - a) / (b - a)));
      found.push("#" + mix.map((part) => part.toString(16).padStart(2, "0")).join(""));
    }
    return turned ? found.reverse() : found;
  }

  legend(entries) {
    const { legend } = this.ui;
    legend.hidden = !entries;
    if (!entries) return;
    if (!entries.ramp) {
      const shown = entries.slice(0, 12);
      fill(legend, ...shown.map(([colour, name]) => h("span", {}, h("i", { className: "dot", style: { background: colour } }), name)));
      if (entries.length > shown.length) legend.append(h("span", {}, `and ${entries.length - shown.length} more`));
      return;
    }
    const bar = h("i", { className: "ramp", style: { background: `linear-gradient(90deg, ${entries.ramp.filter((_, i) => i % 15 === 0).join(",")})` } });
    const say = (value) => Number(value.toPrecision(3)).toLocaleString("en");
    fill(legend, h("span", {}, say(entries.low)), bar, h("span", {}, say(entries.high)));
  }

  // The colours that suit the background.
  get tones() {
    return this.state[getComputedStyle(this.root).getPropertyValue("--scheme").trim() === "dark" ? "dark" : "light"];
  }

  toneOf(slot) {
    const { palette } = this.tones;
    return palette[slot % palette.length];
  }

  dot(cluster) {
    // An answer may be newer than the state that is shown: the next state has its cluster.
    const found = this.state.clusters[cluster];
    return h("i", { className: "dot", style: { background: found ? this.toneOf(found.slot) : "transparent" } });
  }

  called(cluster) {
    const found = this.state.clusters[cluster];
    return found?.named ? found.name : `Cluster ${found ? found.name : cluster}`;
  }

  // --- the question -----------------------------------------------------------------------------

  async loadQuestion() {
    const found = await this.channel.get("question");
    const pair = found.question && found.question.objects.map((object) => object.row).join();
    this.asked = found.question;
    this.scatter.mark(found.question ? found.question.objects.map((object, i) => ({ object: object.row, label: "AB"[i] })) : []);
    const key = JSON.stringify([pair, found.waiting, found.reason, this.state.version, this.state.answers]);
    if (key === this.questionShown) return;
    this.questionShown = key;
    this.showQuestion(found);
  }

  showQuestion(found) {
    const { question } = this.ui, { state } = this;
    const n = state.answers.together + state.answers.apart;
    const tally = h("p", { className: "fine" },
      `${few(n, "answer")}: ${count(state.answers.together)} together, ${count(state.answers.apart)} apart` +
      (state.answers.skipped ? `, ${count(state.answers.skipped)} skipped` : ""));
    if (!found.question) {
      const text = found.waiting ? "The model is learning from your answers. The next question follows." : found.reason;
      fill(question, h("h2", {}, found.waiting ? "One moment" : "Nothing worth asking"), h("p", {}, text), tally);
      return;
    }
    const asked = found.question;
    const body = asked.columns.map((column) => this.compared(column, asked));
    const answer = (text, key, value) =>
      h("button", { type: "button", className: value, "data-do": value, onclick: () => this.answer(value) }, text, h("kbd", {}, key));
    fill(question, 
      h("h2", {}, "Do these two belong together?"),
      h("div", { className: "answers" }, answer("Together", "Y", "together"), answer("Apart", "N", "apart"), answer("Skip", "S", "skip")),
      h("table", { className: "pair" },
        h("thead", {}, h("tr", {}, h("td", {}), asked.objects.map((object, i) =>
          h("th", { scope: "col" }, h("span", { className: "letter" }, "AB"[i]), ` ${object.id}`)))),
        h("tbody", {}, this.state.pixels ? h("tr", {}, h("th", { scope: "row" }, "picture"), asked.objects.map((object) => h("td", {}, this.pixels(object)))) : null, body,
          h("tr", { className: "now" }, h("th", { scope: "row" }, "Cluster now"),
            asked.objects.map((object) => h("td", {}, this.dot(object.cluster), `${this.called(object.cluster)}, ${share(object.certainty)}`))))),
      asked.more ? h("p", { className: "fine" }, `${few(asked.more, "more column")} that differ${asked.more === 1 ? "s" : ""} less.`) : null,
      h("p", { className: "fine" }, `The answer concerns about ${few(asked.concerns, "object")}.`), tally);
  }

  compared(column, asked) {
    const marked = column.marked ? "differs" : "";
    if (column.kind === "picture") {
      const cells = asked.objects.map((object, i) => {
        const cell = h("td", {}, column.values[i] ? "…" : "");
        if (column.values[i]) {
          this.channel.picture(object.row, column.index)
            .then((src) => fill(cell, h("img", { src, alt: column.values[i] })))
            .catch(() => { cell.textContent = column.values[i]; });
        }
        return cell;
      });
      return h("tr", {}, h("th", { scope: "row" }, column.name), cells);
    }
    const long = column.kind === "text" ? "long" : "";
    if (long && Math.max(...column.values.map((value) => value.length)) > PASSAGE) {
      return h("tr", { className: column.used ? "" : "unused" }, h("th", { colSpan: 3 }, column.name,
        h("div", { className: "passages" }, column.values.map((value, i) =>
          h("div", { tabIndex: 0, role: "group", "aria-label": `${column.name} of ${"AB"[i]}` }, value || "–")))));
    }
    const apart = column.kind === "number" && column.marked ? h("small", {}, ` ${column.difference.toFixed(1)} sd`) : null;
    return h("tr", { className: column.used ? "" : "unused" },
      h("th", { scope: "row", title: column.used ? "" : "Not used for the clusters" }, column.name, apart),
      column.values.map((value) => h("td", { className: `${marked} ${long}` }, value === "" ? "–" : value)));
  }

  // An object of pixels as a picture.
  pixels(object) {
    const values = this.state.pixels.columns.map((place) => Number(object.values[place].replace(",", ".")) || 0);
    return this.picture(values, `Picture of ${object.id}`);
  }

  picture(values, label) {
    const { side, largest } = this.state.pixels;
    const canvas = h("canvas", { width: side, height: side, className: "pixels", role: "img", "aria-label": label });
    const pen = canvas.getContext("2d"), data = pen.createImageData(side, side);
    values.forEach((value, i) => {
      const tone = 255 - 255 * Math.max(value, 0) / (largest || 1);
      data.data.set([tone, tone, tone, 255], 4 * i);
    });
    pen.putImageData(data, 0, 0);
    return canvas;
  }

  async answer(value) {
    const asked = this.asked;
    if (!asked) return;
    this.asked = null;
    const [a, b] = asked.objects.map((object) => object.row);
    await this.run(async () => {
      await this.channel.do("answer", { a, b, answer: value });
      if (value === "skip") this.state = await this.channel.get("state");
      await this.loadQuestion();
    });
  }

  undo() {
    return this.run(async () => {
      await this.channel.do("undo");
      this.questionShown = null;
    });
  }

  // --- clusters ---------------------------------------------------------------------------------

  showClusters() {
    const { state } = this, { clusters } = this.ui;
    if (clusters.querySelector("input[type=text]")) return;
    if (this.shows("clusters", state.version, state.k, state.clusters)) return;
    const merge = h("button", { type: "button", "data-do": "merge", disabled: true, onclick: () => this.step("merge", { clusters: [...this.merging] }) }, "Merge");
    const tick = () => {
      merge.disabled = this.merging.size < 2;
      merge.textContent = this.merging.size < 2 ? "Merge" : `Merge ${this.merging.size}`;
    };
    const largest = Math.max(...state.clusters.map((cluster) => cluster.size), 1);
    const row = (cluster) => {
      const box = h("input", { type: "checkbox", checked: this.merging.has(cluster.cluster), "aria-label": `Choose ${this.called(cluster.cluster)} to merge`,
        onchange: () => { box.checked ? this.merging.add(cluster.cluster) : this.merging.delete(cluster.cluster); tick(); } });
      const name = h("button", { type: "button", className: "name", title: "Rename", "data-do": "rename", onclick: () => this.rename(cluster, name) }, this.called(cluster.cluster));
      const act = (text, title, what, work) => h("button", { type: "button", title, "data-do": what, onclick: work }, text);
      const words = cluster.words.slice(0, 2).map((word) =>
        h("li", {}, h("b", {}, word.column), ` ${word.here} `, h("span", {}, `overall ${word.overall}`)));
      return h("li", { "data-cluster": cluster.cluster },
        h("div", { className: "top" }, box, this.dot(cluster.cluster), name,
          h("span", { className: "size" }, count(cluster.size)),
          h("span", { className: "sure", title: "Mean certainty of its objects" }, share(cluster.certainty))),
        h("div", { className: "bar" }, h("i", { style: { width: `${100 * cluster.size / largest}%`, background: this.toneOf(cluster.slot) } })),
        cluster.picture ? this.picture(cluster.picture, `Mean picture of ${this.called(cluster.cluster)}`)
          : words.length ? h("ul", { className: "words" }, words) : null,
        h("div", { className: "acts" },
          act("Show", "Select its objects on the map and in the table", "show", () => this.showCluster(cluster.cluster)),
          act("Split", "Split it into two", "split", () => this.step("split", { cluster: cluster.cluster, n: 2 })),
          act("Freeze", "Hold it: its clear objects stay together, apart from other clusters", "freeze", () => this.step("freeze", { cluster: cluster.cluster }))));
    };
    fill(clusters, h("div", { className: "head" }, h("h2", {}, few(state.k, "cluster")), merge), h("ul", { className: "list" }, state.clusters.map(row)));
    tick();
  }

  rename(cluster, place) {
    const input = h("input", { type: "text", value: cluster.named ? cluster.name : "", placeholder: `Name of cluster ${cluster.name}`, "aria-label": "Name", maxLength: 80 });
    let open = true;
    const done = (keep) => {
      if (!open) return;
      open = false;
      const name = input.value.trim();
      input.replaceWith(place);
      if (keep && name !== (cluster.named ? cluster.name : "")) this.step("rename", { cluster: cluster.cluster, name });
      else this.showClusters();
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") done(true);
      if (event.key === "Escape") done(false);
    });
    input.addEventListener("blur", () => done(true));
    place.replaceWith(input);
    input.focus();
    input.select();
  }

  step(what, given) {
    return this.run(() => this.channel.do(what, { ...given, version: this.state.version }));
  }

  async showCluster(cluster) {
    const slot = this.state.clusters[cluster].slot, objects = [];
    for (let i = 0; i < this.slots.length; i++) if (this.slots[i] === slot) objects.push(i);
    this.scatter.setFlag(0, objects);
    this.selection = [];
    this.showSelection(`${this.called(cluster)}: ${few(objects.length, "object")}`);
    await this.run(() => this.filter({ cluster: String(cluster), selected: 0, moved: 0 }));
  }

  // --- the number of clusters -------------------------------------------------------------------

  showNumber() {
    const { state } = this, { number } = this.ui, evidence = state.evidence;
    if (number.contains(document.activeElement) && document.activeElement.type === "range" && this.sliding) return;
    if (this.shows("number", state.version, state.busy, state.k, state.chosen, state.n, evidence)) return;
    const most = Math.min(Math.max(20, state.k + 5, evidence ? Math.max(...evidence.ks) : 0), state.n);
    const value = h("output", {}, String(state.chosen ?? state.k));
    const slider = h("input", { type: "range", min: 1, max: most, value: state.chosen ?? state.k, "aria-label": "Number of clusters",
      oninput: () => { this.sliding = true; value.textContent = slider.value; },
      onchange: () => { this.sliding = false; this.step("clusters", { n: Number(slider.value) }); } });
    const parts = [h("div", { className: "head" }, h("h2", {}, "Number of clusters"), value), slider];
    if (evidence) {
      const top = Math.max(...evidence.credibility, 1e-9);
      parts.push(h("div", { className: "evidence", role: "img", "aria-label": "Credibility of each number" },
        evidence.ks.map((k, i) => h("button", { type: "button", title: `${k}: credibility ${share(evidence.credibility[i])}`,
          className: k === state.k ? "here" : "", onclick: () => this.step("clusters", { n: k }) },
          h("i", { style: { height: `${Math.max(100 * evidence.credibility[i] / top, 2)}%` } }), h("span", {}, String(k))))));
      parts.push(h("p", { className: "fine" }, evidence.sentence));
    } else {
      const ask = h("button", { type: "button", "data-do": "evidence", onclick: () => this.run(async () => {
        ask.disabled = true;
        ask.textContent = "Working";
        try {
          await this.channel.get("evidence");
          this.state = await this.channel.get("state");
        } finally {
          this.shown.number = null;
          this.showNumber();
        }
      }) }, "Show the evidence");
      parts.push(ask);
    }
    if (state.chosen !== null) parts.push(h("button", { type: "button", "data-do": "choose", onclick: () => this.step("clusters", { n: null }) }, "Let soffit choose"));
    fill(number, ...parts);
  }

  // --- what to check ----------------------------------------------------------------------------

  showChecks() {
    const { state } = this, { checks } = this.ui, items = [];
    if (state.advice) {
      items.push(h("li", {}, h("p", {}, state.advice),
        h("button", { type: "button", onclick: () => this.step("clusters", { n: state.needed }) }, `Use ${state.needed} clusters`)));
    }
    for (const entry of state.disputed) {
      const said = entry.answer === "together" ? "belong together" : "are apart";
      const other = entry.answer === "together" ? "apart" : "together";
      items.push(h("li", {},
        h("p", {}, h("b", {}, entry.names[0]), " and ", h("b", {}, entry.names[1]), ` ${said}, you said. `,
          entry.followed ? "Their neighbours suggest otherwise." : "The other answers and the data outvote it."),
        h("button", { type: "button", onclick: () => this.run(() => this.channel.do("answer", { a: entry.a, b: entry.b, answer: other })) }, `They ${other === "apart" ? "are apart" : "belong together"}`),
        h("button", { type: "button", onclick: () => this.run(() => this.channel.do("retract", { a: entry.a, b: entry.b })) }, "Forget the answer"),
        h("button", { type: "button", onclick: () => this.run(() => this.select([entry.a, entry.b])) }, "Show")));
    }
    for (const text of [...state.notes, ...state.cautions]) items.push(h("li", {}, h("p", {}, text)));
    checks.hidden = !items.length;
    fill(checks, h("h2", {}, "Worth a look"), h("ul", {}, items));
  }

  // --- selection --------------------------------------------------------------------------------

  setLasso(on) {
    this.scatter.mode = on ? "lasso" : "pan";
    this.ui.lasso.setAttribute("aria-pressed", String(on));
    this.ui.map.classList.toggle("lassoing", on);
  }

  async select(objects) {
    this.selection = objects;
    this.scatter.setFlag(0, objects);
    this.setLasso(false);
    await this.channel.do("select", { objects });
    this.showSelection(objects.length ? `${few(objects.length, "object")} selected` : "");
    await this.filter({ selected: objects.length ? 1 : 0, cluster: "", moved: 0 });
  }

  showSelection(text) {
    const { chosen } = this.ui, objects = this.selection;
    chosen.hidden = !text;
    if (!text) return;
    fill(chosen, h("span", {}, text));
    if (objects.length > 1) {
      chosen.append(h("button", { type: "button", "data-do": "group", title: "All of them belong to one cluster",
        onclick: () => this.run(async () => { await this.channel.do("together", { objects }); await this.clear(); }) }, "These belong together"));
    }
    chosen.append(h("button", { type: "button", "data-do": "clear", onclick: () => this.run(() => this.clear()) }, "Clear"));
  }

  async clear() {
    this.selection = [];
    this.scatter.setFlag(0, []);
    this.scatter.setFlag(1, []);
    this.showSelection("");
    await this.filter({ selected: 0, cluster: "", moved: 0 });
  }

  async pick(object) {
    if (object === null) return this.clear();
    await this.select([object]);
  }

  hover(object, at) {
    const { tip } = this.ui;
    if (object === null || object === undefined) { tip.hidden = true; this.hovered = null; return; }
    if (this.hovered !== object) {
      this.hovered = object;
      clearTimeout(this.hovering);
      tip.hidden = true;
      this.hovering = setTimeout(() => this.run(async () => {
        const found = await this.channel.get("object", { row: object });
        if (this.hovered !== object) return;
        const shown = this.state.columns.map((column, i) => [column.name, found.values[i]]).filter(([, value]) => value !== "").slice(0, 8);
        fill(tip, 
          h("strong", {}, `${this.state.id_name} ${found.id}`),
          h("p", {}, this.dot(found.cluster), `${this.called(found.cluster)} ${share(found.certainty)}`,
            found.second_share >= 0.05 ? `, ${this.called(found.second)} ${share(found.second_share)}` : ""),
          h("dl", {}, shown.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value.slice(0, 60))])));
        tip.hidden = false;
        const box = this.ui.map.getBoundingClientRect();
        tip.style.left = `${Math.min(at[0] + 16, Math.max(box.width - tip.offsetWidth - 8, 8))}px`;
        tip.style.top = `${Math.min(this.ui.map.offsetTop + at[1] + 14, this.ui.map.offsetTop + Math.max(box.height - tip.offsetHeight - 8, 8))}px`;
      }), 90);
    }
  }

  // --- the table --------------------------------------------------------------------------------

  filter(change) {
    Object.assign(this.view, change, { offset: 0 });
    return this.loadRows();
  }

  searchSoon() {
    clearTimeout(this.searching);
    this.searching = setTimeout(() => this.run(() => this.filter({ search: this.ui.search.value })), 250);
  }

  async loadRows() {
    const asked = (this.rowsAsked = (this.rowsAsked || 0) + 1);
    const found = await this.channel.get("rows", this.view);
    if (asked !== this.rowsAsked) return;
    this.showRows(found);
  }

  showRows(found) {
    const { state, view } = this, { table, paging, filters } = this.ui;
    const head = [[state.id_name, state.id_name], ["Cluster", "cluster"], ["Certainty", "certainty"], ...state.columns.map((column) => [column.name, column.name, column])];
    const sorted = (by) => (view.sort !== by ? "none" : view.descending ? "descending" : "ascending");
    const header = head.map(([name, by, column]) =>
      h("th", { scope: "col", "aria-sort": sorted(by), className: !column ? "" : column.kind === "number" ? "numeric" : "" },
        h("button", { type: "button", onclick: () => this.run(() => this.filter({ sort: by, descending: view.sort === by && !view.descending ? 1 : 0 })) }, name)));
    const body = found.rows.map((row) => h("tr", { onclick: () => this.run(() => this.mark(row.row)), "data-row": row.row },
      h("th", { scope: "row" }, row.id),
      h("td", {}, this.dot(row.cluster), this.called(row.cluster)),
      h("td", { className: "numeric" }, share(row.certainty)),
      row.values.map((value, i) => h("td", { className: state.columns[i].kind === "number" ? "numeric" : "" }, value))));
    fill(table, h("table", {}, h("thead", {}, h("tr", {}, header)), h("tbody", {}, body)));
    const last = found.offset + found.rows.length;
    const turn = (text, title, offset, off) => h("button", { type: "button", title, "aria-label": title, disabled: off, onclick: () => { view.offset = offset; this.run(() => this.loadRows()); } }, text);
    fill(paging, 
      turn("‹", "Earlier rows", Math.max(found.offset - view.limit, 0), found.offset === 0),
      h("span", {}, found.total ? `${count(found.offset + 1)} to ${count(last)} of ${count(found.total)}` : "No objects"),
      turn("›", "Later rows", last, last >= found.total));
    const chip = (text, change) => h("button", { type: "button", className: "chip", onclick: () => this.run(() => ("search" in change ? ((this.ui.search.value = ""), this.filter(change)) : this.clear())) }, text, " ×");
    fill(filters, 
      ...(view.cluster !== "" && state.clusters[view.cluster] ? [chip(this.called(view.cluster), { cluster: "" })] : []),
      ...(view.selected ? [chip("Selection", { selected: 0 })] : []),
      ...(view.moved ? [chip("Moved", { moved: 0 })] : []));
  }

  mark(object) {
    const asked = this.asked ? this.asked.objects.map((found, i) => ({ object: found.row, label: "AB"[i] })) : [];
    this.scatter.mark([...asked, { object, label: "" }]);
  }

  // --- results ----------------------------------------------------------------------------------

  async showResults() {
    const { dialog } = this.ui;
    await this.run(async () => {
      const { python, shell } = await this.channel.get("repeat");
      const said = h("p", { className: "fine", role: "status" }, `Files are written to ${this.state.folder}.`);
      const kinds = [["memberships", "Memberships", "your table with clusters and probabilities"], ["model", "Model", "to place new objects later"], ["report", "Report", "one HTML page to share"]];
      const boxes = kinds.map(([value, name, about]) => {
        const box = h("input", { type: "checkbox", value, checked: true });
        return [box, h("label", {}, box, h("b", {}, name), ` ${about}`)];
      });
      const links = h("ul", { className: "files" });
      const write = h("button", { type: "button", className: "primary", "data-do": "write", onclick: () => this.run(async () => {
        write.disabled = true;
        said.textContent = "Writing";
        try {
          const what = boxes.filter(([box]) => box.checked).map(([box]) => box.value);
          const { files } = await this.channel.do("export", { what });
          said.textContent = "Written:";
          fill(links, ...Object.entries(files).map(([name, path]) =>
            h("li", {}, h("a", { href: this.channel.file(name), download: "" }, path))));
        } catch (error) {
          said.textContent = error.message;
        } finally {
          write.disabled = false;
        }
      }) }, "Write files");
      const code = (title, text) => {
        const copy = h("button", { type: "button", onclick: async () => { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } }, "Copy");
        return h("div", { className: "code" }, h("div", { className: "head" }, h("h3", {}, title), copy), h("pre", { tabIndex: 0 }, text));
      };
      const { together, apart } = this.state.answers;
      const pairs = [together ? ["must_link", "must_link.csv"] : null, apart ? ["cannot_link", "cannot_link.csv"] : null].filter(Boolean);
      fill(dialog, 
        h("div", { className: "head" }, h("h2", {}, "Results"), h("button", { type: "button", className: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×")),
        h("div", { className: "kinds" }, boxes.map(([, label]) => label)), write, said, links,
        pairs.length ? h("p", {}, "Your answers: ", pairs.flatMap(([name, file], i) => [i ? " and " : "", h("a", { href: this.channel.file(name), download: "" }, file)])) : null,
        h("p", { className: "fine" }, "The same result without this page:"),
        shell ? code("Command line", shell) : null, code("Python", python));
      dialog.showModal();
    });
  }

  // --- keys -------------------------------------------------------------------------------------

  key(event) {
    const inText = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (this.ui.dialog.open || inText) return;
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && key === "z") { event.preventDefault(); this.undo(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      y: () => this.answer("together"), t: () => this.answer("together"),
      n: () => this.answer("apart"), a: () => this.answer("apart"),
      s: () => this.answer("skip"), u: () => this.undo(),
      l: () => this.setLasso(this.scatter.mode !== "lasso"),
      escape: () => { this.setLasso(false); this.run(() => this.clear()); },
    };
    if (acts[key]) {
      event.preventDefault();
      event.stopPropagation();
      acts[key]();
    }
  }
}
