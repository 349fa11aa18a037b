
function sizes({ clusters, counts, n }) {
  drawInto("sizes-picture", (svg, width) => {
    const step = 24, left = 58, right = 128;
    const room = Math.max(40, width - left - right);
    const most = Math.max(...counts);
    setSize(svg, width, step * counts.length);
    counts.forEach((count, i) => {
      const y = step * i + step / 2;
      mark(clusters[i], 10, y, svg);
      const text = { x: left - 10, y: y + 4.5, "text-anchor": "end" };
      shapeElement("text", text, svg, clusters[i]);
      const length = Math.max(1.5, (room * count) / most);
      shapeElement("rect", { x: left, y: y - 8, width: length, height: 16, class: "bar" }, svg);
      const label = `${whole.format(count)} (${share(count / n)})`;
      shapeElement("text", { x: left + length + 8, y: y + 4.5 }, svg, label);
    });
  });
}

function evidence({ numbers, gaps, best, second, limit }) {
  drawInto("evidence-picture", (svg, width) => {
    const left = 52, right = 24, top = 26, height = 200, bottom = top + height;
    const room = Math.min(width, 760) - left - right;
    const step = room / numbers.length;
    const y = (gap) => bottom - height * gap;
    setSize(svg, width, bottom + 44);
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      const at = y(tick);
      shapeElement("line", { x1: left, x2: left + room, y1: at, y2: at, class: "grid" }, svg);
      const text = { x: left - 8, y: at + 4, "text-anchor": "end", class: "axis" };
      shapeElement("text", text, svg, tick);
    }
    const edges = { x1: left, x2: left + room, y1: y(limit), y2: y(limit), class: "limit" };
    shapeElement("line", edges, svg);
    // Write only every second, third, ... number below the axis if not all of them fit.
    const every = Math.ceil(24 / step);
    numbers.forEach((number, i) => {
      const middle = left + step * (i + 0.5), at = y(gaps[i]);
      const kind = number === best ? "bar" : number === second ? "bar unsure" : "bar other";
      const wide = Math.max(2, Math.min(step - 2, 28));
      const box = { x: middle - wide / 2, width: wide, y: at, height: bottom - at, class: kind };
      shapeElement("rect", box, svg);
      const below = { x: middle, y: bottom + 18, "text-anchor": "middle", class: "axis" };
      if (i % every === 0) shapeElement("text", below, svg, number);
      const above = { x: middle, y: at - 7, "text-anchor": "middle" };
      if (number === best || number === second) shapeElement("text", above, svg, number);
    });
    shapeElement(
      "text", { x: left + room / 2, y: bottom + 38, "text-anchor": "middle", class: "axis" },
      svg, "number of clusters (blue: estimate, orange: second best)");
  });
}

function convergence({ changed, evaluated }) {
  const series = evaluated ? [...changed, evaluated] : changed;
  drawInto("convergence-picture", (svg, width, place) => {
    const left = 52, right = 16, top = 10, height = 240, bottom = top + height;
    const room = Math.min(width, 760) - left - right;
    const longest = Math.max(...series.map((line) => line.length));
    const most = Math.max(1, ...series.flat());
    const y = (value) => bottom - (height * Math.log10(1 + value)) / Math.log10(1 + most);
    const x = (i) => left + (longest > 1 ? (room * i) / (longest - 1) : room / 2);
    setSize(svg, width, bottom + 44);
    const ticks = [0];
    const decades = Math.ceil(Math.log10(1 + most));
    for (let p = 0; p < decades; p += decades > 5 ? 2 : 1) ticks.push(10 ** p);
    for (const tick of ticks) {
      const at = y(tick);
      shapeElement("line", { x1: left, x2: left + room, y1: at, y2: at, class: "grid" }, svg);
      const text = { x: left - 8, y: at + 4, "text-anchor": "end", class: "axis" };
      shapeElement("text", text, svg, compact.format(tick));
    }
    const every = Math.max(1, Math.ceil((longest - 1) / Math.max(2, Math.floor(room / 60))));
    for (let i = 0; i < longest; i += every)
      shapeElement(
        "text", { x: x(i), y: bottom + 18, "text-anchor": "middle", class: "axis" }, svg, i + 1);
    shapeElement(
      "text", { x: left + room / 2, y: bottom + 38, "text-anchor": "middle", class: "axis" },
      svg, "iteration");
    const line = (values, kind) => {
      const path = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join("L");
      shapeElement("path", { d: `M${path}`, class: `line ${kind}` }, svg);
      if (values.length === 1)
        shapeElement("circle", { cx: x(0), cy: y(values[0]), r: 4, class: "bar" }, svg);
    };
    if (evaluated) line(evaluated, "second");
    for (const values of changed) line(values, changed.length > 1 ? "one-of-many" : "");
    if (place.querySelector(".keys")) return;
    const keys = element("div", { class: "keys" }, place);
    key(keys, "line", changed.length > 1 ? "labels changed, one line per member" : "labels changed");
    if (evaluated) key(keys, "line second", "rows evaluated");
  });
}

function key(parent, kind, text) {
  const item = element("span", {}, parent);
  const svg = shapeElement("svg", { width: 28, height: 8, "aria-hidden": "true" }, item);
  shapeElement("path", { d: "M0,4H28", class: kind }, svg);
  item.append(text);
}

function certainty({ counts, uncertain, edges, votes }) {
  drawInto("certainty-picture", (svg, width, place) => {
    const left = 52, right = 24, top = 10, height = 220, bottom = top + height;
    const room = Math.min(width, 760) - left - right;
    const last = edges[edges.length - 1], most = Math.max(...counts);
    const x = (value) => left + (room * value) / last;
    const y = (count) => bottom - (height * count) / most;
    setSize(svg, width, bottom + 44);
    const unit = 10 ** Math.floor(Math.log10(most));
    const tickStep = most / unit >= 5 ? 2 * unit : most / unit >= 2 ? unit : unit / 2;
    for (let tick = 0; tick <= most; tick += tickStep) {
      const at = y(tick);
      shapeElement("line", { x1: left, x2: left + room, y1: at, y2: at, class: "grid" }, svg);
      const text = { x: left - 8, y: at + 4, "text-anchor": "end", class: "axis" };
      shapeElement("text", text, svg, compact.format(tick));
    }
    counts.forEach((count, i) => {
      const from = x(edges[i]) + 1, to = x(edges[i + 1]) - 1;
      const bar = (low, high, kind) => shapeElement("rect", {
        x: from, width: to - from, y: y(high), height: y(low) - y(high), class: kind }, svg);
      bar(0, uncertain[i], "bar unsure");
      bar(uncertain[i], count, "bar");
    });
    const every = Math.max(1, Math.ceil((edges.length - 1) / Math.max(2, Math.floor(room / 70))));
    for (let i = 0; i < edges.length; i += every)
      shapeElement(
        "text", { x: x(edges[i]), y: bottom + 18, "text-anchor": "middle", class: "axis" }, svg,
        Number(edges[i].toPrecision(6)));
    const name = votes ? "agreement of members" : "certainty: 0 at the border, 1 at the center";
    shapeElement(
      "text", { x: left + room / 2, y: bottom + 38, "text-anchor": "middle", class: "axis" },
      svg, name);
    if (place.querySelector(".keys") || !uncertain.some((count) => count > 0)) return;
    const keys = element("div", { class: "keys" }, place);
    key(keys, "line unsure", votes ? "fewer than 60 % of members agree" : "near a border");
  });
}

cards();
compare(data.compare);
map(data.map, data.names);
sizes(data.sizes);
if (data.tree) tree(data.tree);
if (data.stability) stability(data.stability);
if (data.evidence) evidence(data.evidence);
if (data.convergence) convergence(data.convergence);
if (data.certainty) certainty(data.certainty);
for (const box of document.querySelectorAll(".scroll")) fadeEdges(box);
views();

// Unfold everything for printing, except tables that repeat a picture.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open], .again)")];
  for (const box of unfolded) box.open = true;
});
addEventListener("afterprint", () => {
  for (const box of unfolded) box.open = false;
});
