// The map of the objects, drawn on a canvas: layouts and colours by choice, hover, zoom and pan.

const MAP_STEPS = 65535;

class ObjectMap {
  constructor(section, spec, table, layouts, kept, links) {
    this.section = section;
    this.spec = spec;
    this.table = table;
    this.layouts = layouts;
    this.rows = kept ?? Uint32Array.from({ length: table.n }, (_, row) => row);
    this.links = links;
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector(".tip");
    this.frame = section.querySelector(".map");
    this.select = section.querySelector("[name=layout]");
    this.colour = section.querySelector("[name=colour]");
    this.chosen = new Set();
    this.hovered = -1;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.clusters = table.columns[1].keys;
    this.certainties = table.columns[2].keys;
    this.k = table.columns[1].names.length;
    this.offerColours();
    this.listen();
    this.change();
  }

  offerColours() {
    this.table.columns.forEach((column, position) => {
      const isCertainty = ["Certainty", "Overlap", "Instability"].includes(column.title);
      const offered =
        column.role === "own" || column.role === "label" ||
        (column.kind === "share" && isCertainty);
      if (!offered || (column.kind === "code" && column.names.length > 12)) return;
      const option = document.createElement("option");
      option.value = String(position);
      const title = column.role === "label" ? "label" : column.title;
      option.textContent = column.kind === "share" ? title.toLowerCase() : title;
      this.colour.append(option);
    });
  }

  listen() {
    this.select.addEventListener("change", () => this.change());
    this.colour.addEventListener("change", () => this.recolour());
    for (const button of this.section.querySelectorAll("[data-cluster]")) {
      button.addEventListener("click", () => {
        const cluster = Number(button.dataset.cluster);
        const isOn = !this.chosen.delete(cluster);
        if (isOn) this.chosen.add(cluster);
        button.setAttribute("aria-pressed", String(isOn));
        this.draw();
      });
    }
    for (const button of this.section.querySelectorAll("[data-zoom]")) {
      const by = { in: 1.5, out: 1 / 1.5 }[button.dataset.zoom];
      button.addEventListener("click", () => (by ? this.zoom(by) : this.reset()));
    }
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = { x: event.clientX, y: event.clientY, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.dragged && !this.dragged.moved) {
        this.hover(event);
        if (this.hovered >= 0 && event.pointerType === "mouse") this.table.reveal(this.hovered);
      }
      this.dragged = null;
    });
    this.canvas.addEventListener("pointerleave", () => this.leave());
    new ResizeObserver(() => this.draw()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    window.addEventListener("beforeprint", () => this.draw(true));
    window.addEventListener("afterprint", () => this.draw());
  }

  key(event) {
    const step = 40;
    const by = {
      ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step],
    }[event.key];
    if (by) [this.view.x, this.view.y] = [this.view.x + by[0], this.view.y + by[1]];
    else if (event.key === "+") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
    this.draw();
  }

  move(event) {
    if (this.dragged && event.buttons) {
      const [dx, dy] = [event.clientX - this.dragged.x, event.clientY - this.dragged.y];
      if (!this.dragged.moved && Math.hypot(dx, dy) < 4) return;
      this.dragged = { x: event.clientX, y: event.clientY, moved: true };
      this.view.x += dx;
      this.view.y += dy;
      this.tip.hidden = true;
      this.draw();
    } else this.hover(event);
  }

  zoom(by, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(Math.max(this.view.zoom * by, 0.5), 200);
    const ratio = zoom / this.view.zoom;
    this.view = {
      zoom, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio,
    };
    this.draw();
  }

  reset() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.draw();
  }

  change() {
    this.layout = this.layouts[Number(this.select.value)];
    this.section.querySelector(".reading").textContent = this.layout.reading;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.recolour();
  }

  // --- colours ---------------------------------------------------------------------------------

  recolour() {
    const ramp = this.section.querySelector(".ramp");
    const legend = this.section.querySelector(".legend");
    const position = this.colour.value;
    this.scale = null;
    if (legend) legend.hidden = position !== "";
    if (ramp) ramp.hidden = position === "";
    if (position !== "") {
      const column = this.table.columns[Number(position)];
      this.scale = column.kind === "code" ? this.codeScale(column) : this.numberScale(column);
      if (ramp) this.describe(ramp, column);
    }
    this.draw();
  }

  codeScale(column) {
    return (row) => this.table.shades[column.keys[row] % this.table.shades.length];
  }

  numberScale(column) {
    const known = Array.from(this.rows, (row) => column.keys[row])
      .filter((key) => key !== column.missing)
      .sort((a, b) => a - b);
    const low = known[Math.floor(known.length * 0.02)] ?? 0;
    const high = known[Math.ceil(known.length * 0.98) - 1] ?? 1;
    this.limits = [low, high];
    return (row) => {
      const key = column.keys[row];
      if (key === column.missing) return "#999999";
      return rampColour(Math.min(Math.max((key - low) / (high - low || 1), 0), 1));
    };
  }

  describe(ramp, column) {
    ramp.replaceChildren();
    if (column.kind === "code") {
      column.names.forEach((name, code) => {
        const item = document.createElement("span");
        const dot = document.createElement("span");
        dot.className = "dot";
        dot.style.background = this.table.shades[code % this.table.shades.length];
        item.append(dot, name === "" ? "missing" : name);
        ramp.append(item);
      });
      return;
    }
    const [low, high] = this.limits.map((key) => column.shown(key));
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(rampColour).join(",")})`;
    ramp.append(low, bar, high);
  }

  colourOf(row) {
    return this.scale ? this.scale(row) : this.colours[this.clusters[row]];
  }

  // --- drawing ---------------------------------------------------------------------------------

  // Positions on the screen.
  project() {
    const { low, high, points, metric, axes } = this.layout;
    const left = axes ? 52 : 16;
    const below = axes ? 46 : 16;
    const [w, h] = [this.width - left - 20, this.height - below - 16];
    let sx = w / (high[0] - low[0]);
    let sy = h / (high[1] - low[1]);
    if (metric) sx = sy = Math.min(sx, sy);
    const ox = left + (w - sx * (high[0] - low[0])) / 2;
    const oy = 16 + (h - sy * (high[1] - low[1])) / 2;
    const { x, y, zoom } = this.view;
    this.toX = (value) => (ox + (value - low[0]) * sx) * zoom + x;
    this.toY = (value) => (oy + (high[1] - value) * sy) * zoom + y;
    const stepX = (high[0] - low[0]) / MAP_STEPS;
    const stepY = (high[1] - low[1]) / MAP_STEPS;
    const n = this.rows.length;
    this.screen ??= new Float32Array(2 * n);
    for (let i = 0; i < n; i++) {
      this.screen[2 * i] = this.toX(low[0] + points[2 * i] * stepX);
      this.screen[2 * i + 1] = this.toY(low[1] + points[2 * i + 1] * stepY);
    }
  }

  draw(isPrinted = false) {
    this.width = this.frame.clientWidth;
    this.height = this.frame.clientHeight;
    if (!this.width) return;
    const ratio = Math.max(window.devicePixelRatio || 1, isPrinted ? 3 : 1);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const of = (name, light) => (isPrinted ? light : style.getPropertyValue(name).trim());
    this.ink = of("--ink", "#1f2933");
    this.soft = of("--soft", "#52606d");
    this.line = of("--line", "#e1e6eb");
    this.paper = of("--paper", "#ffffff");
    // While a page prints, its styles are the light ones already.
    this.colours = Array.from({ length: this.k }, (_, c) => style.getPropertyValue(`--c${c}`).trim());
    this.project();
    if (this.layout.axes) this.drawAxes(pen);
    if (this.links) this.drawLinks(pen);
    this.drawPoints(pen);
    this.drawArrows(pen);
    if (this.spec.named) this.drawNames(pen);
    else if (!this.scale && this.k > 1 && this.k <= 40) this.drawNumbers(pen);
  }

  drawAxes(pen) {
    const { low, high, axes, metric } = this.layout;
    pen.font = "12px system-ui, sans-serif";
    const [bottom, left] = [this.height - 40, 46];
    for (const axis of [0, 1]) {
      if (axes[axis] === "") continue;
      const to = axis === 0 ? this.toX : this.toY;
      for (const tick of ticksBetween(low[axis], high[axis])) {
        const at = to(tick);
        if (axis === 0 ? at < left || at > this.width : at < 0 || at > bottom) continue;
        pen.strokeStyle = this.line;
        pen.lineWidth = 1;
        pen.beginPath();
        if (axis === 0) { pen.moveTo(at, 0); pen.lineTo(at, bottom); }
        else { pen.moveTo(left, at); pen.lineTo(this.width, at); }
        pen.stroke();
        if (metric) continue;
        pen.fillStyle = this.soft;
        pen.textAlign = axis === 0 ? "center" : "right";
        pen.textBaseline = axis === 0 ? "top" : "middle";
        const shown = tick.toLocaleString("en", { maximumFractionDigits: 6 });
        if (axis === 0) pen.fillText(shown, at, bottom + 4);
        else pen.fillText(shown, left - 5, at);
      }
    }
    pen.fillStyle = this.ink;
    pen.textBaseline = "bottom";
    pen.textAlign = "center";
    pen.fillText(this.fitting(pen, axes[0], this.width - left - 8), (this.width + left) / 2, this.height - 4);
    pen.save();
    pen.translate(4, bottom / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "top";
    pen.fillText(this.fitting(pen, axes[1], bottom - 8), 0, 0);
    pen.restore();
  }

  // The words as far as there is room.
  fitting(pen, words, room) {
    let kept = words;
    while (kept.length > 4 && pen.measureText(kept).width > room) kept = kept.slice(0, -2).trimEnd() + "…";
    return kept;
  }

  drawLinks(pen) {
    pen.lineWidth = 1;
    pen.strokeStyle = this.soft;
    pen.globalAlpha = this.links.length > 800 ? 0.16 : 0.32;
    pen.beginPath();
    for (let i = 0; i < this.links.length; i += 2) {
      const [a, b] = [2 * this.links[i], 2 * this.links[i + 1]];
      pen.moveTo(this.screen[a], this.screen[a + 1]);
      pen.lineTo(this.screen[b], this.screen[b + 1]);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  radius() {
    const n = this.rows.length;
    const plain = n <= 300 ? 5 : n <= 2000 ? 3.6 : n <= 8000 ? 2.6 : 1.9;
    return plain * Math.min(Math.max(this.view.zoom ** 0.35, 0.8), 2.5) * (this.width < 500 ? 0.8 : 1);
  }

  drawPoints(pen) {
    const r = this.radius();
    const least = 1 / this.k;
    const isMany = this.rows.length > 4000;
    for (let i = 0; i < this.rows.length; i++) {
      const [x, y] = [this.screen[2 * i], this.screen[2 * i + 1]];
      if (x < -r || y < -r || x > this.width + r || y > this.height + r) continue;
      const row = this.rows[i];
      const sure = this.k > 1 ? (this.certainties[row] / STEPS - least) / (1 - least) : 1;
      let opacity = this.scale ? 0.85 : 0.22 + 0.7 * Math.min(Math.max(sure, 0), 1);
      if (this.chosen.size && !this.chosen.has(this.clusters[row])) opacity *= 0.12;
      pen.globalAlpha = opacity;
      pen.fillStyle = this.colourOf(row);
      if (isMany) pen.fillRect(x - r, y - r, 2 * r, 2 * r);
      else {
        pen.beginPath();
        pen.arc(x, y, r, 0, 2 * Math.PI);
        pen.fill();
        if (r > 3) {
          pen.globalAlpha = Math.min(1, opacity + 0.15);
          pen.strokeStyle = this.paper;
          pen.lineWidth = 0.8;
          pen.stroke();
        }
      }
    }
    pen.globalAlpha = 1;
    const at = this.hovered < 0 ? -1 : this.rows.indexOf(this.hovered);
    if (at >= 0) {
      pen.strokeStyle = this.ink;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(this.screen[2 * at], this.screen[2 * at + 1], r + 3, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  drawArrows(pen) {
    pen.font = "600 12px system-ui, sans-serif";
    pen.lineWidth = 1.6;
    const boxes = [];
    for (const [name, x, y] of this.layout.arrows) {
      const [x0, y0, x1, y1] = [this.toX(0), this.toY(0), this.toX(x), this.toY(y)];
      const angle = Math.atan2(y1 - y0, x1 - x0);
      pen.strokeStyle = pen.fillStyle = this.ink;
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x1 - 9 * Math.cos(angle - 0.4), y1 - 9 * Math.sin(angle - 0.4));
      pen.lineTo(x1 - 9 * Math.cos(angle + 0.4), y1 - 9 * Math.sin(angle + 0.4));
      pen.fill();
      const width = pen.measureText(name).width;
      let left = Math.cos(angle) >= 0 ? x1 + 5 : x1 - 5 - width;
      left = Math.min(Math.max(left, 4), this.width - width - 4);
      let middle = y1 + 8 * Math.sin(angle);
      const down = Math.sin(angle) >= 0 ? 1 : -1;
      for (let turn = 0; turn < 8; turn++) {
        if (!boxes.some((b) => left < b[2] && left + width > b[0] && Math.abs(middle - b[1]) < 15)) break;
        middle += 15 * down;
      }
      boxes.push([left, middle, left + width]);
      this.halo(pen, name, left, middle, "left");
    }
  }

  halo(pen, words, x, y, align) {
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.strokeStyle = this.paper;
    pen.lineWidth = 4;
    pen.strokeText(words, x, y);
    pen.lineWidth = 1.6;
    pen.fillStyle = this.ink;
    pen.fillText(words, x, y);
  }

  // Names where there is room, those of the most linked objects first.
  drawNames(pen) {
    pen.font = `${this.width < 500 ? 10 : 12}px system-ui, sans-serif`;
    const degrees = this.spec.degrees;
    const order = [...this.rows.keys()];
    order.sort((a, b) => (degrees[b] ?? 0) - (degrees[a] ?? 0) || a - b);
    const boxes = [];
    const r = this.radius();
    for (const i of order) {
      const row = this.rows[i];
      if (this.chosen.size && !this.chosen.has(this.clusters[row])) continue;
      let name = this.table.columns[0].text(row);
      if (name.length > 22) name = name.slice(0, 21) + "…";
      const width = pen.measureText(name).width;
      const [x, y] = [this.screen[2 * i], this.screen[2 * i + 1]];
      const places = [[x + r + 3, y], [x - r - 3 - width, y], [x - width / 2, y - r - 8], [x - width / 2, y + r + 8]];
      const free = places.find(([left, middle]) =>
        left >= 2 && left + width <= this.width - 2 && middle > 8 && middle < this.height - 8 &&
        !boxes.some((b) => left < b[2] + 3 && left + width > b[0] - 3 && Math.abs(middle - b[1]) < 13));
      if (!free) continue;
      boxes.push([free[0], free[1], free[0] + width]);
      this.halo(pen, name, free[0], free[1], "left");
    }
  }

  // The name of each cluster at the middle of its objects.
  drawNumbers(pen) {
    pen.font = "600 12px system-ui, sans-serif";
    for (let cluster = 0; cluster < this.k; cluster++) {
      const members = [...this.rows.keys()].filter((i) => this.clusters[this.rows[i]] === cluster);
      if (!members.length || (this.chosen.size && !this.chosen.has(cluster))) continue;
      const median = (axis) => {
        const values = members.map((i) => this.screen[2 * i + axis]).sort((a, b) => a - b);
        return values[values.length >> 1];
      };
      const [mx, my] = [median(0), median(1)];
      let best = members[0];
      let least = Infinity;
      for (const i of members) {
        const d = Math.hypot(this.screen[2 * i] - mx, this.screen[2 * i + 1] - my);
        if (d < least) [best, least] = [i, d];
      }
      let name = this.table.columns[1].names[cluster];
      if (name.length > 22) name = name.slice(0, 21) + "…";
      const [x, y] = [this.screen[2 * best], this.screen[2 * best + 1]];
      const width = pen.measureText(name).width + 12;
      pen.fillStyle = this.paper;
      pen.strokeStyle = this.colours[cluster];
      pen.lineWidth = 2;
      pen.beginPath();
      pen.roundRect(x - width / 2, y - 10, width, 20, 6);
      pen.fill();
      pen.stroke();
      pen.fillStyle = this.ink;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(name, x, y + 1);
    }
  }

  // --- hover -----------------------------------------------------------------------------------

  nearest(x, y) {
    let best = -1;
    let least = (this.radius() + 8) ** 2;
    for (let i = 0; i < this.rows.length; i++) {
      const d = (this.screen[2 * i] - x) ** 2 + (this.screen[2 * i + 1] - y) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  hover(event) {
    const at = this.nearest(event.offsetX, event.offsetY);
    const row = at < 0 ? -1 : this.rows[at];
    if (row !== this.hovered) {
      this.hovered = row;
      if (row >= 0) this.tell(row);
      this.draw();
    }
    this.tip.hidden = row < 0;
    if (row < 0) return;
    const [x, y] = [this.screen[2 * at], this.screen[2 * at + 1]];
    const left = x + 14 + this.tip.offsetWidth > this.width ? x - 14 - this.tip.offsetWidth : x + 14;
    this.tip.style.left = Math.max(0, left) + "px";
    this.tip.style.top = Math.max(0, Math.min(y + 10, this.height - this.tip.offsetHeight)) + "px";
  }

  leave() {
    if (this.hovered < 0) return;
    this.hovered = -1;
    this.tip.hidden = true;
    this.draw();
  }

  tell(row) {
    const columns = this.table.columns;
    const strong = document.createElement("strong");
    strong.textContent = columns[0].kind === "number" ? `object ${row}` : columns[0].text(row);
    const lines = [`${this.table.noun} ${columns[1].text(row)}`, `certainty ${columns[2].text(row)}`];
    for (const column of columns.filter((c) => c.role === "label" || c.role === "own").slice(0, 7)) {
      lines.push(`${column.role === "label" ? "label" : column.title}: ${column.text(row) || "–"}`);
    }
    this.tip.replaceChildren(strong);
    const picture = columns.find((column) => column.kind === "picture");
    if (picture) this.tip.append(pictureOf(picture, row));
    for (const words of lines) {
      const line = document.createElement("div");
      line.textContent = words;
      this.tip.append(line);
    }
  }
}

// From pale yellow through green to dark blue: lightness falls steadily.
function rampColour(share) {
  const isDark = matchMedia("screen and (prefers-color-scheme: dark)").matches;
  const last = isDark ? [[72, 132, 190], [150, 122, 214]] : [[46, 100, 142], [62, 38, 112]];
  const stops = [[247, 203, 69], [122, 190, 96], [38, 150, 136], ...last];
  const at = Math.min(share * 4, 3.9999);
  const [a, b, part] = [stops[Math.floor(at)], stops[Math.floor(at) + 1], at % 1];
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * part)).join(",")})`;
}

function ticksBetween(low, high) {
  const step0 = 10 ** Math.floor(Math.log10((high - low) / 5));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * step0).find((s) => (high - low) / s <= 6);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) {
    ticks.push(Number(tick.toPrecision(12)));
  }
  return ticks;
}

async function startMap(table) {
  const section = document.getElementById("map");
  const state = section.querySelector(".state");
  try {
    const spec = JSON.parse(document.getElementById("map-spec").textContent);
    const layouts = await Promise.all(spec.layouts.map(async (layout) => ({
      ...layout, points: new Uint16Array(await unpackedBytes(layout.payload)),
    })));
    const kept = spec.kept ? new Uint32Array(await unpackedBytes("map-kept")) : null;
    const links = spec.links ? new Uint32Array(await unpackedBytes("map-links")) : null;
    state.hidden = true;
    window.soffitMap = new ObjectMap(section, spec, table, layouts, kept, links);
    section.dataset.state = "ready";
  } catch (error) {
    state.textContent = "The map could not be drawn: " + error.message;
    section.dataset.state = "failed";
  }
}

startTable();
