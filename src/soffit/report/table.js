// The table of objects: sorted, searched and shown page by page. Only one page of rows is ever in
// the document, and cells are set as text, so that nothing in a name is read as HTML.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };
const STEPS = 10000;
// Columns of a comparison of an object with its clusters.
const COMPARED = 8;

async function readColumn(column, n) {
  if (column.kind === "number") {
    const values = Uint32Array.from({ length: n }, (_, row) => row);
    return { ...column, keys: values, text: (row) => String(row) };
  }
  if (column.kind === "name") {
    const names = JSON.parse(await unpackedText(column.payload));
    return { ...column, names, keys: null, text: (row) => names[row] };
  }
  const values = new TYPES[column.type](await unpackedBytes(column.payload));
  if (column.kind === "code") {
    return { ...column, keys: values, text: (row) => column.names[values[row]] };
  }
  if (column.kind === "picture") return { ...column, keys: values, text: () => "" };
  if (column.kind === "fixed") {
    const { offset, decimals, missing } = column;
    const value = (key) => (offset + key) / 10 ** decimals;
    const shown = (key) => (column.sparse && !value(key) ? "0" : value(key).toFixed(Math.max(decimals, 0)));
    const text = (row) => (values[row] === missing ? "" : shown(values[row]));
    return { ...column, keys: values, value, shown, text };
  }
  const shown = (key) => (key / STEPS).toFixed(3);
  return { ...column, keys: values, shown, text: (row) => shown(values[row]) };
}

// The rank of each name in the order of the reader's language, worked out when first needed.
function sortKeys(column) {
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  if (column.keys === null) {
    const order = Uint32Array.from(column.names, (_, row) => row);
    order.sort((a, b) => compare(column.names[a], column.names[b]) || a - b);
    column.keys = new Uint32Array(order.length);
    order.forEach((row, rank) => (column.keys[row] = rank));
  }
  if (column.kind === "code" && column.role === "own") {
    const order = column.names.map((_, code) => code);
    // Missing values come last.
    order.sort((a, b) => (column.names[a] === "") - (column.names[b] === "") ||
      compare(column.names[a], column.names[b]));
    const rank = [];
    order.forEach((code, place) => (rank[code] = place));
    return column.keys.map((code) => rank[code]);
  }
  return column.keys;
}

// The pixels of an object, dark where values are high.
function pictureOf(column, row) {
  const [height, width] = column.shape;
  const canvas = document.createElement("canvas");
  canvas.className = "pixels";
  [canvas.width, canvas.height] = [width, height];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Picture of the object");
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const grey = 255 - column.keys[row * width * height + pixel];
    image.data.set([grey, grey, grey, 255], 4 * pixel);
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

class ObjectTable {
  constructor(section, spec, columns) {
    this.n = spec.n;
    this.noun = spec.noun;
    this.shades = spec.shades;
    this.columns = columns;
    this.own = columns.filter((column) => column.role === "own");
    this.body = section.querySelector("tbody");
    this.headings = [...section.querySelectorAll("thead th[aria-sort]")];
    this.search = section.querySelector("[name=search]");
    this.cluster = section.querySelector("[name=cluster]");
    this.certainty = section.querySelector("[name=certainty]");
    this.pageSize = section.querySelector("[name=rows]");
    this.pageNumber = section.querySelector("[name=page]");
    this.status = section.querySelector("[role=status]");
    this.pages = section.querySelector(".pages");
    this.buttons = Object.fromEntries(
      [...section.querySelectorAll("button[data-go]")].map((button) => [button.dataset.go, button]),
    );
    this.page = 0;
    this.sorted = null;
    this.listen(section);
    this.filter();
  }

  listen(section) {
    let waiting = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.filter(), 120);
    });
    section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    section.querySelector("[name=download]").addEventListener("click", () => this.download());
    this.cluster.addEventListener("change", () => this.filter());
    this.certainty.addEventListener("change", () => this.filter());
    this.pageSize.addEventListener("change", () => this.show(0));
    this.pageNumber.addEventListener("change", () => this.show(Number(this.pageNumber.value) - 1));
    this.buttons.first.addEventListener("click", () => this.show(0));
    this.buttons.previous.addEventListener("click", () => this.show(this.page - 1));
    this.buttons.next.addEventListener("click", () => this.show(this.page + 1));
    this.buttons.last.addEventListener("click", () => this.show(Infinity));
    for (const heading of this.headings) {
      const position = Number(heading.dataset.column);
      heading.querySelector("button").addEventListener("click", () => this.sort(position));
    }
    for (const button of document.querySelectorAll("button[data-members]")) {
      button.addEventListener("click", () => {
        this.cluster.value = button.dataset.members;
        this.filter();
        document.getElementById("objects").scrollIntoView();
        this.cluster.focus({ preventScroll: true });
      });
    }
  }

  filter() {
    const wanted = this.search.value.trim().toLowerCase();
    const cluster = this.cluster.value === "" ? -1 : Number(this.cluster.value);
    const limit = this.certainty.value === "" ? Infinity : Number(this.certainty.value) * STEPS;
    const searched = this.columns.filter((column) =>
      ["number", "name"].includes(column.kind) ||
      (column.kind === "code" && column.role !== "cluster"));
    const clusters = this.columns[1].keys;
    const certainties = this.columns[2].keys;
    const rows = [];
    for (let row = 0; row < this.n; row++) {
      if (cluster >= 0 && clusters[row] !== cluster) continue;
      if (certainties[row] >= limit) continue;
      if (wanted && !searched.some((c) => c.text(row).toLowerCase().includes(wanted))) continue;
      rows.push(row);
    }
    this.rows = Uint32Array.from(rows);
    this.order();
    this.show(0);
  }

  sort(position) {
    const isSame = this.sorted?.position === position;
    const direction = isSame ? -this.sorted.direction : 1;
    this.sorted = { position, direction };
    for (const heading of this.headings) {
      const isThis = Number(heading.dataset.column) === position;
      const state = !isThis ? "none" : direction > 0 ? "ascending" : "descending";
      heading.setAttribute("aria-sort", state);
    }
    this.order();
    this.show(0);
  }

  order() {
    if (this.sorted === null) return;
    const column = this.columns[this.sorted.position];
    const keys = sortKeys(column);
    const direction = this.sorted.direction;
    const missing = column.kind === "fixed" ? column.missing : -1;
    this.rows.sort((a, b) =>
      (keys[a] === missing) - (keys[b] === missing) || direction * (keys[a] - keys[b]) || a - b);
  }

  show(page) {
    const size = Number(this.pageSize.value);
    const count = Math.max(1, Math.ceil(this.rows.length / size));
    this.page = Math.min(Math.max(Math.trunc(page) || 0, 0), count - 1);
    if (page === Infinity) this.page = count - 1;
    const begin = this.page * size;
    const shown = this.rows.subarray(begin, begin + size);
    this.body.replaceChildren(...Array.from(shown, (row) => this.line(row)));
    this.status.textContent = this.summary(begin, shown.length);
    this.pageNumber.value = this.page + 1;
    this.pageNumber.max = count;
    this.pages.textContent = "of " + count.toLocaleString("en");
    this.buttons.first.disabled = this.buttons.previous.disabled = this.page === 0;
    this.buttons.last.disabled = this.buttons.next.disabled = this.page === count - 1;
  }

  summary(begin, length) {
    const number = (value) => value.toLocaleString("en");
    if (length === 0) return "No object matches.";
    const all = this.rows.length === this.n ? "" : `, out of ${number(this.n)}`;
    const objects = this.rows.length === 1 ? "object" : "objects";
    const range =
      length === 1 ? number(begin + 1) : `${number(begin + 1)} to ${number(begin + length)}`;
    return `${range} of ${number(this.rows.length)} ${objects}${all}`;
  }

  // Shows one object and its comparison, wherever it is in the table.
  reveal(row) {
    [this.search.value, this.cluster.value, this.certainty.value] = ["", "", ""];
    this.filter();
    this.show(Math.floor(this.rows.indexOf(row) / Number(this.pageSize.value)));
    const line = this.body.querySelector(`tr[data-row="${row}"]`);
    line.classList.add("found");
    line.querySelector("button[aria-expanded=false]")?.click();
    line.scrollIntoView({ block: "center" });
  }

  line(row) {
    const line = document.createElement("tr");
    line.dataset.row = row;
    this.columns.forEach((column, position) => {
      const cell = document.createElement(position === 0 ? "th" : "td");
      if (position === 0) {
        cell.scope = "row";
        if (column.text(row).length <= 20) cell.classList.add("short");
        if (this.canCompare()) cell.append(this.opener(line, row));
      }
      if (["number", "share", "fixed"].includes(column.kind)) cell.classList.add("number");
      else cell.dir = "auto";
      if (column.kind === "picture") cell.append(pictureOf(column, row));
      if (column.role === "cluster") cell.append(this.dot(column.keys[row]));
      cell.append(column.text(row));
      line.append(cell);
      if (position === 0) line.append(this.bar(row));
    });
    return line;
  }

  dot(cluster) {
    const dot = document.createElement("span");
    dot.className = "dot";
    dot.style.background = `var(--c${cluster})`;
    return dot;
  }

  // The most probable clusters as parts of one bar; the cells next to it show the numbers.
  bar(row) {
    const cell = document.createElement("td");
    const bar = document.createElement("span");
    cell.className = "shares";
    bar.className = "bar";
    bar.setAttribute("aria-hidden", "true");
    this.columns.forEach((column, position) => {
      if (column.role !== "cluster") return;
      const part = document.createElement("span");
      part.style.width = this.columns[position + 1].keys[row] / (STEPS / 100) + "%";
      part.style.background = `var(--c${column.keys[row]})`;
      bar.append(part);
    });
    cell.append(bar);
    return cell;
  }

  // --- why an object lies where it does ----------------------------------------------------------

  canCompare() {
    return this.own.length > 0 && this.columns.some((column) => column.title === "Second");
  }

  opener(line, row) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "opener";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Compare with its clusters: " + this.columns[0].text(row));
    button.addEventListener("click", () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) line.nextElementSibling.remove();
      else line.after(this.comparison(row));
    });
    return button;
  }

  comparison(row) {
    const second = this.columns.findIndex((column) => column.title === "Second" && column.role === "cluster");
    const [first, other] = [this.columns[1].keys[row], this.columns[second].keys[row]];
    const gap = (column) => Math.abs(column.levels[first] - column.levels[other]);
    const columns = [...this.own].sort((a, b) => gap(b) - gap(a)).slice(0, COMPARED);
    const table = document.createElement("table");
    const caption = table.createCaption();
    const share = (position) => Math.round(this.columns[position].keys[row] / (STEPS / 100)) + " %";
    caption.textContent =
      `${share(2)} in ${this.noun} ${this.columns[1].text(row)}, ${share(second + 1)} in ` +
      `${this.noun} ${this.columns[second].text(row)}. The columns in which the two differ most; ` +
      "the nearer one is marked.";
    const head = table.createTHead().insertRow();
    for (const [words, cluster] of [["Column"], ["This object"], ["", first], ["", other]]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (cluster !== undefined) cell.append(this.dot(cluster), this.columns[1].names[cluster]);
      else cell.append(words);
      head.append(cell);
    }
    const body = table.createTBody();
    for (const column of columns) {
      const line = body.insertRow();
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = column.title;
      line.append(name);
      line.insertCell().textContent = column.text(row) || "–";
      const nearer = this.nearer(column, row, first, other);
      for (const cluster of [first, other]) {
        const cell = line.insertCell();
        cell.textContent = column.typical[cluster];
        if (cluster === nearer) {
          cell.className = "nearer";
          const words = document.createElement("span");
          words.className = "sr";
          words.textContent = " (nearer)";
          cell.append(words);
        }
      }
    }
    const line = document.createElement("tr");
    const cell = line.insertCell();
    line.className = "comparison";
    cell.colSpan = this.columns.length + 1;
    cell.append(table);
    return line;
  }

  nearer(column, row, first, other) {
    if (column.kind === "code") {
      const shares = column.shares[column.keys[row]];
      if (column.text(row) === "" || !shares || shares[first] === shares[other]) return -1;
      return shares[first] > shares[other] ? first : other;
    }
    if (column.keys[row] === column.missing || !column.spread) return -1;
    const level = (column.value(column.keys[row]) - column.center) / column.spread;
    const [a, b] = [first, other].map((cluster) => Math.abs(level - column.levels[cluster]));
    return a <= b ? first : other;
  }

  // --- download --------------------------------------------------------------------------------

  csv() {
    const quoted = (words) => (/[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
    const columns = this.columns.filter((column) => column.kind !== "picture");
    let rank = "";
    const titles = columns.map((column) => {
      if (column.role === "cluster") rank = column.title;
      return column.title === "Share" ? `${rank} share` : column.title;
    });
    const lines = [titles.map(quoted).join(",")];
    for (const row of this.rows) lines.push(columns.map((c) => quoted(c.text(row))).join(","));
    return lines.join("\r\n") + "\r\n";
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + this.csv()], { type: "text/csv" }));
    link.download = "objects.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}

async function startTable() {
  const section = document.getElementById("objects");
  const status = section.querySelector("[role=status]");
  if (!canUnpack) {
    status.textContent = "This browser is too old to show the table. Please update it.";
    document.querySelector("#map .state").textContent =
      "This browser is too old to show the map. Please update it.";
    return;
  }
  try {
    const spec = JSON.parse(document.getElementById("objects-spec").textContent);
    const columns = await Promise.all(spec.columns.map((column) => readColumn(column, spec.n)));
    window.soffitTable = new ObjectTable(section, spec, columns);
    section.dataset.state = "ready";
    await startMap(window.soffitTable);
  } catch (error) {
    status.textContent = "The table could not be shown: " + error.message;
  }
}
