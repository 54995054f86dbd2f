// The table of objects: sorted, searched and shown page by page. Only one page of rows is ever in
// the document, and cells are set as text, so that nothing in a name is read as HTML.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };
const STEPS = 10000;

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
  return { ...column, keys: values, text: (row) => (values[row] / STEPS).toFixed(3) };
}

// The rank of each name in the order of the reader's language, worked out when first needed.
function sortKeys(column) {
  if (column.keys === null) {
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    const order = Uint32Array.from(column.names, (_, row) => row);
    order.sort((a, b) => compare(column.names[a], column.names[b]) || a - b);
    column.keys = new Uint32Array(order.length);
    order.forEach((row, rank) => (column.keys[row] = rank));
  }
  return column.keys;
}

class ObjectTable {
  constructor(section, spec, columns) {
    this.n = spec.n;
    this.colours = spec.colours;
    this.columns = columns;
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
    this.listen();
    this.filter();
  }

  listen() {
    let waiting = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.filter(), 120);
    });
    this.cluster.addEventListener("change", () => this.filter());
    this.certainty.addEventListener("change", () => this.filter());
    this.pageSize.addEventListener("change", () => this.show(0));
    this.pageNumber.addEventListener("change", () => this.show(Number(this.pageNumber.value) - 1));
    this.buttons.first.addEventListener("click", () => this.show(0));
    this.buttons.previous.addEventListener("click", () => this.show(this.page - 1));
    this.buttons.next.addEventListener("click", () => this.show(this.page + 1));
    this.buttons.last.addEventListener("click", () => this.show(Infinity));
    this.headings.forEach((heading, position) => {
      heading.querySelector("button").addEventListener("click", () => this.sort(position));
    });
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
    const searched = this.columns.filter((column) => column.searched);
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
    this.headings.forEach((heading, index) => {
      const state = index !== position ? "none" : direction > 0 ? "ascending" : "descending";
      heading.setAttribute("aria-sort", state);
    });
    this.order();
    this.show(0);
  }

  order() {
    if (this.sorted === null) return;
    const keys = sortKeys(this.columns[this.sorted.position]);
    const direction = this.sorted.direction;
    this.rows.sort((a, b) => direction * (keys[a] - keys[b]) || a - b);
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

  line(row) {
    const line = document.createElement("tr");
    this.columns.forEach((column, position) => {
      const cell = document.createElement(position === 0 ? "th" : "td");
      if (position === 0) cell.scope = "row";
      if (column.kind === "number" || column.kind === "share") cell.className = "number";
      else cell.dir = "auto";
      if (column.coloured) cell.append(this.dot(column.keys[row]));
      cell.append(column.text(row));
      line.append(cell);
      if (position === 0) line.append(this.bar(row));
    });
    return line;
  }

  dot(cluster) {
    const dot = document.createElement("span");
    dot.className = "dot";
    dot.style.background = this.colours[cluster % this.colours.length];
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
      if (!column.coloured) return;
      const part = document.createElement("span");
      part.style.width = this.columns[position + 1].keys[row] / (STEPS / 100) + "%";
      part.style.background = this.colours[column.keys[row] % this.colours.length];
      bar.append(part);
    });
    cell.append(bar);
    return cell;
  }
}

async function startTable() {
  const section = document.getElementById("objects");
  const status = section.querySelector("[role=status]");
  if (!canUnpack) {
    status.textContent = "This browser is too old to show the table. Please update it.";
    return;
  }
  try {
    const spec = JSON.parse(document.getElementById("objects-spec").textContent);
    const columns = await Promise.all(spec.columns.map((column) => readColumn(column, spec.n)));
    window.soffitTable = new ObjectTable(section, spec, columns);
    section.dataset.state = "ready";
  } catch (error) {
    status.textContent = "The table could not be shown: " + error.message;
  }
}

startTable();
