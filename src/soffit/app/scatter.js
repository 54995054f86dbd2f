// A scatter plot of up to a few million points: WebGL, pan, zoom, hover and lasso.
// Where a computer is too slow to draw all points while they move, every few-th is drawn until they rest.
const MOST_SKIPPED = 31;  // WebGL steps over at most 255 bytes, and a position has 8.
const MANY = 50000;
const FRAME = 25, REST = 200;  // milliseconds
class Scatter {
  constructor(holder) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "points";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.over = document.createElement("canvas");
    this.over.className = "drawing";
    this.under = document.createElement("canvas");
    this.under.className = "drawing";
    holder.append(this.under, this.canvas, this.over);
    this.holder = holder;
    this.gl = this.canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
    this.n = 0;
    this.centre = [0, 0];
    this.zoom = 1;
    this.mode = "pan";
    this.marked = [];
    this.onhover = this.onpick = this.onlasso = () => {};
    if (this.gl) this.prepare();
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(holder);
  }

  prepare() {
    const gl = this.gl;
    const vertex = `
      attribute vec2 position; attribute float value; attribute float strength; attribute float flag;
      uniform vec2 centre; uniform vec2 scale; uniform float size; uniform float pass; uniform float any;
      uniform sampler2D palette; uniform float width;
      varying vec4 colour; varying float ring;
      void main() {
        float chosen = mod(flag, 2.0);
        float moved = mod(floor(flag / 2.0), 2.0);
        float hidden = mod(floor(flag / 4.0), 2.0);
        vec2 place = (position - centre) * scale;
        bool front = chosen > 0.5 || moved > 0.5;
        bool now = (pass > 0.5) == front;
        gl_Position = now && hidden < 0.5 ? vec4(place, 0.0, 1.0) : vec4(9.0, 9.0, 9.0, 1.0);
        ring = moved;
        gl_PointSize = size * (front ? 1.5 : 1.0) + (moved > 0.5 ? 3.0 : 0.0);
        vec4 tone = value < 0.0 ? vec4(0.66, 0.69, 0.73, 1.0)
          : texture2D(palette, vec2((value + 0.5) / width, 0.5));
        float faint = any > 0.5 && !front ? 0.18 : 1.0;
        colour = vec4(tone.rgb, strength * faint);
      }`;
    const fragment = `
      precision mediump float; varying vec4 colour; varying float ring; uniform vec3 ink;
      void main() {
        vec2 from = gl_PointCoord - vec2(0.5);
        float far = dot(from, from);
        if (far > 0.25) discard;
        float edge = 1.0 - smoothstep(0.16, 0.25, far);
        bool rim = ring > 0.5 && far > 0.13;
        gl_FragColor = rim ? vec4(ink, edge) : vec4(colour.rgb, colour.a * edge);
      }`;
    const make = (kind, source) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      return shader;
    };
    const program = gl.createProgram();
    gl.attachShader(program, make(gl.VERTEX_SHADER, vertex));
    gl.attachShader(program, make(gl.FRAGMENT_SHADER, fragment));
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = {};
    for (const name of ["centre", "scale", "size", "pass", "any", "palette", "width", "ink"])
      this.at[name] = gl.getUniformLocation(program, name);
    this.buffers = {};
    for (const [name, count] of [["position", 2], ["value", 1], ["strength", 1], ["flag", 1]]) {
      this.buffers[name] = { buffer: gl.createBuffer(), place: gl.getAttribLocation(program, name), count };
    }
    this.texture = gl.createTexture();
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  upload(name, array, kind, normalized) {
    const gl = this.gl, { buffer, place, count } = this.buffers[name];
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    Object.assign(this.buffers[name], { kind, normalized, bytes: count * array.BYTES_PER_ELEMENT });
    this.stride = 0;
  }

  // Which points are drawn: every step-th.
  skip(step) {
    if (this.stride === step) return;
    const gl = this.gl;
    for (const { buffer, place, count, kind, normalized, bytes } of Object.values(this.buffers)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(place, count, kind, normalized, step === 1 ? 0 : step * bytes, 0);
    }
    this.stride = step;
  }

  setPoints(points) {
    this.n = points.length / 2;
    this.points = points;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < this.n; i++) {
      const x = points[2 * i], y = points[2 * i + 1];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    this.middle = [(left + right) / 2, (low + high) / 2];
    this.span = [(right - left) / 2 || 1, (high - low) / 2 || 1];
    this.flags = new Uint8Array(this.n);
    this.front = false;
    this.step = 1;
    this.grid = null;
    if (this.gl) {
      this.upload("position", points, this.gl.FLOAT, false);
      this.upload("flag", this.flags, this.gl.UNSIGNED_BYTE, false);
    }
    this.fit();
  }

  // Pairs of linked objects, drawn below the points, and names; those with most links are written first.
  setLinks(links, names) {
    this.links = links;
    this.names = names;
    const degree = new Uint32Array(this.n);
    for (const object of links) degree[object]++;
    this.order = names.map((_, i) => i).sort((a, b) => degree[b] - degree[a] || a - b);
    this.draw();
  }

  web() {
    const pen = this.under.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.wide, this.high);
    if (!this.links?.length) return;
    pen.strokeStyle = getComputedStyle(this.holder).getPropertyValue("--soft");
    pen.globalAlpha = 0.35;
    pen.beginPath();
    for (let i = 0; i < this.links.length; i += 2) {
      pen.moveTo(...this.toScreen(this.links[i]));
      pen.lineTo(...this.toScreen(this.links[i + 1]));
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // Names beside their points, as far as there is room.
  write(pen, ink, paper) {
    const taken = [];
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 3;
    for (const i of this.order ?? []) {
      const [x, y] = this.toScreen(i), name = this.names[i].slice(0, 24);
      const box = [x + 8, y - 8, x + 12 + pen.measureText(name).width, y + 6];
      if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) continue;
      taken.push(box);
      pen.strokeStyle = paper;
      pen.strokeText(name, x + 9, y + 4);
      pen.fillStyle = ink;
      pen.fillText(name, x + 9, y + 4);
    }
  }

  // Values are places in the palette; a negative one is unknown. Strengths are opacities from 0 to 255.
  setColours(values, strengths, palette) {
    const gl = this.gl;
    if (!gl) return;
    this.upload("value", values, gl.FLOAT, false);
    this.upload("strength", strengths, gl.UNSIGNED_BYTE, true);
    this.width = palette.length;
    const bytes = new Uint8Array(4 * palette.length);
    palette.forEach((hex, i) => {
      bytes.set([1, 3, 5].map((from) => parseInt(hex.slice(from, from + 2), 16)), 4 * i);
      bytes[4 * i + 3] = 255;
    });
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, palette.length, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    for (const [key, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ]) gl.texParameteri(gl.TEXTURE_2D, key, value);
    this.draw();
  }

  setFlag(bit, objects) {
    const mask = 1 << bit;
    for (let i = 0; i < this.n; i++) this.flags[i] &= ~mask;
    for (const i of objects) this.flags[i] |= mask;
    this.chosen = this.flags.some((flag) => flag & 1);
    this.front = this.chosen || this.flags.some((flag) => flag & 2);
    if (this.gl) this.upload("flag", this.flags, this.gl.UNSIGNED_BYTE, false);
    this.draw();
  }

  mark(objects) {
    this.marked = objects;
    this.draw();
  }

  fit() {
    this.centre = [...this.middle];
    this.zoom = 1;
    this.draw();
  }

  get scale() {
    return [0.93 * this.zoom / this.span[0], 0.91 * this.zoom / this.span[1]];
  }

  toScreen(i) {
    const [sx, sy] = this.scale;
    return [
      ((this.points[2 * i] - this.centre[0]) * sx + 1) / 2 * this.wide,
      (1 - (this.points[2 * i + 1] - this.centre[1]) * sy) / 2 * this.high,
    ];
  }

  toData(x, y) {
    const [sx, sy] = this.scale;
    return [
      this.centre[0] + (2 * x / this.wide - 1) / sx,
      this.centre[1] + (1 - 2 * y / this.high) / sy,
    ];
  }

  resize() {
    const box = this.holder.getBoundingClientRect();
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.wide = Math.max(box.width, 1);
    this.high = Math.max(box.height, 1);
    for (const canvas of [this.under, this.canvas, this.over]) {
      canvas.width = Math.round(this.wide * ratio);
      canvas.height = Math.round(this.high * ratio);
    }
    this.ratio = ratio;
    this.draw();
  }

  draw() {
    if (this.waiting || !this.n || !this.wide) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  // Draw while the view moves, and all points when it rests.
  move() {
    clearTimeout(this.moving);
    this.moving = setTimeout(() => {
      this.moving = 0;
      if (this.stride > 1) this.draw();
    }, REST);
    this.draw();
  }

  // All points, and how many can be skipped so that a picture takes a frame: reading a pixel waits for it.
  paintAll(draw) {
    const begin = performance.now();
    draw();
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
    const milliseconds = performance.now() - begin;
    this.step = milliseconds < 2 * FRAME ? 1 : Math.min(MOST_SKIPPED, Math.ceil(milliseconds / FRAME));
  }

  paint() {
    const gl = this.gl;
    if (gl && this.width) {
      gl.viewport(0, 0, this.canvas.width, this.canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const room = Math.sqrt(this.wide * this.high / this.n);
      const size = Math.min(Math.max(0.28 * room, 1.6), 9) * Math.min(Math.sqrt(Math.sqrt(this.zoom)), 2.2);
      const dark = getComputedStyle(this.holder).getPropertyValue("--scheme").trim() === "dark";
      gl.uniform2f(this.at.centre, ...this.centre);
      gl.uniform2f(this.at.scale, ...this.scale);
      gl.uniform1f(this.at.size, size * this.ratio);
      gl.uniform1f(this.at.width, this.width);
      gl.uniform1f(this.at.any, this.chosen ? 1 : 0);
      gl.uniform3f(this.at.ink, ...(dark ? [1, 1, 1] : [0.1, 0.13, 0.16]));
      gl.uniform1i(this.at.palette, 0);
      this.skip(this.moving ? this.step : 1);
      const points = () => {
        for (const pass of this.front ? [0, 1] : [0]) {
          gl.uniform1f(this.at.pass, pass);
          gl.drawArrays(gl.POINTS, 0, Math.floor((this.n - 1) / this.stride) + 1);
        }
      };
      if (this.moving || this.n < MANY) points();
      else this.paintAll(points);
    }
    this.web();
    this.sketch();
  }

  // The lasso, and rings around marked objects.
  sketch() {
    const pen = this.over.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.wide, this.high);
    const style = getComputedStyle(this.holder);
    const ink = style.getPropertyValue("--ink"), paper = style.getPropertyValue("--paper");
    this.write(pen, ink, paper);
    for (const { object, label } of this.marked) {
      const [x, y] = this.toScreen(object);
      for (const [colour, width] of [[paper, 5], [ink, 2]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.beginPath();
        pen.arc(x, y, 9, 0, 7);
        pen.stroke();
      }
      if (!label) continue;
      pen.font = "600 12px system-ui, sans-serif";
      const wide = pen.measureText(label).width + 10;
      const left = Math.min(Math.max(x + 12, 4), this.wide - wide - 4);
      const top = Math.max(y - 26, 4);
      pen.fillStyle = ink;
      pen.fillRect(left, top, wide, 20);
      pen.fillStyle = paper;
      pen.fillText(label, left + 5, top + 14);
    }
    if (this.path && this.path.length > 1) {
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.fillStyle = style.getPropertyValue("--veil");
      pen.lineWidth = 1.5;
      pen.beginPath();
      this.path.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  }

  zoomAt(x, y, factor) {
    const before = this.toData(x, y);
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.5), 4000);
    const after = this.toData(x, y);
    this.centre[0] += before[0] - after[0];
    this.centre[1] += before[1] - after[1];
    this.move();
  }

  listen() {
    const canvas = this.canvas;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomAt(...place(event), Math.exp(-event.deltaY * 0.0015));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.n) return;
      canvas.setPointerCapture(event.pointerId);
      this.from = this.last = place(event);
      this.lassoing = this.mode === "lasso" || event.shiftKey;
      if (this.lassoing) this.path = [this.from];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.n) return;
      const here = place(event);
      if (!this.from) {
        this.onhover(this.nearest(...here), here);
        return;
      }
      if (this.lassoing) {
        this.path.push(here);
        this.sketch();
      } else {
        const [sx, sy] = this.scale;
        this.centre[0] -= (here[0] - this.last[0]) * 2 / this.wide / sx;
        this.centre[1] += (here[1] - this.last[1]) * 2 / this.high / sy;
        this.move();
      }
      this.last = here;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!this.from) return;
      const here = place(event), still = Math.hypot(here[0] - this.from[0], here[1] - this.from[1]) < 4;
      const path = this.path;
      this.from = this.path = null;
      this.sketch();
      if (this.lassoing && path.length > 2) this.onlasso(this.inside(path));
      else if (still) this.onpick(this.nearest(...here));
    });
    canvas.addEventListener("pointerleave", () => this.onhover(null));
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("keydown", (event) => {
      const step = 0.1 / this.zoom;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (event.key in moves) {
        event.preventDefault();
        this.centre[0] += moves[event.key][0] * step * this.span[0] * 2;
        this.centre[1] += moves[event.key][1] * step * this.span[1] * 2;
        this.draw();
      } else if (event.key === "+" || event.key === "=") this.zoomAt(this.wide / 2, this.high / 2, 1.25);
      else if (event.key === "-") this.zoomAt(this.wide / 2, this.high / 2, 0.8);
      else if (event.key === "0") this.fit();
    });
  }

  // Objects in cells of a grid, for quick searches by place.
  index() {
    const side = Math.max(1, Math.min(1024, Math.round(Math.sqrt(this.n / 4))));
    const cellOf = (i) => {
      const x = Math.floor(((this.points[2 * i] - this.middle[0]) / this.span[0] + 1) / 2 * side);
      const y = Math.floor(((this.points[2 * i + 1] - this.middle[1]) / this.span[1] + 1) / 2 * side);
      return Math.min(Math.max(y, 0), side - 1) * side + Math.min(Math.max(x, 0), side - 1);
    };
    const first = new Uint32Array(side * side + 1);
    const cells = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) {
      cells[i] = cellOf(i);
      first[cells[i] + 1]++;
    }
    for (let c = 0; c < side * side; c++) first[c + 1] += first[c];
    const next = first.slice(), order = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) order[next[cells[i]]++] = i;
    this.grid = { side, first, order };
  }

  nearest(x, y) {
    if (!this.grid) this.index();
    const reach = 12, { side, first, order } = this.grid;
    const [a, b] = [this.toData(x - reach, y + reach), this.toData(x + reach, y - reach)];
    const cell = (value, axis) =>
      Math.min(Math.max(Math.floor(((value - this.middle[axis]) / this.span[axis] + 1) / 2 * side), 0), side - 1);
    let best = null, far = reach * reach;
    const rows = [cell(a[1], 1), cell(b[1], 1)], columns = [cell(a[0], 0), cell(b[0], 0)];
    for (let r = rows[0]; r <= rows[1]; r++) {
      for (let p = first[r * side + columns[0]]; p < first[r * side + columns[1] + 1]; p++) {
        const i = order[p];
        if (this.flags[i] & 4) continue;
        const [sx, sy] = this.toScreen(i);
        const distance = (sx - x) ** 2 + (sy - y) ** 2;
        if (distance < far) [best, far] = [i, distance];
      }
    }
    return best;
  }

  inside(path) {
    const polygon = path.map(([x, y]) => this.toData(x, y));
    const xs = polygon.map((p) => p[0]), ys = polygon.map((p) => p[1]);
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const found = [];
    for (let i = 0; i < this.n; i++) {
      const x = this.points[2 * i], y = this.points[2 * i + 1];
      if (x < left || x > right || y < low || y > high || this.flags[i] & 4) continue;
      let odd = false;
      for (let p = 0, q = polygon.length - 1; p < polygon.length; q = p++) {
        const [ax, ay] = polygon[p], [bx, by] = polygon[q];
        if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }
}
