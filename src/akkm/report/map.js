
// The legend shows the names of clusters only if there are at most this many clusters.
const NAMED = 12;

// The map: points, a card about the current row, a legend that selects one cluster.
function map(points, names) {
  const n = points.x.length;
  const card = document.getElementById("map-row");
  const legend = document.getElementById("map-legend");
  const members = new Map(); // cluster -> its points, from left to right
  for (let i = 0; i < n; i++) {
    if (!members.has(points.cluster[i])) members.set(points.cluster[i], []);
    members.get(points.cluster[i]).push(i);
  }
  const clusters = [...members.keys()].sort((a, b) => a - b);
  for (const list of members.values()) list.sort((a, b) => points.x[a] - points.x[b]);
  let marks = [], at = [], ring = null, current = -1, selected = null;

  function show(i) {
    if (i < 0 || i === current) return;
    current = i;
    ring?.setAttribute("transform", `translate(${at[i][0]},${at[i][1]})`);
    ring?.removeAttribute("visibility");
    card.replaceChildren();
    card.dataset.row = i;
    const title = element("h3", {}, card);
    swatch(points.cluster[i], title);
    title.append(` ${points.name[i]}`);
    if (names[points.cluster[i]]) element("p", {}, card, names[points.cluster[i]]);
    const list = element("dl", {}, card);
    const addFact = (name, text) => {
      element("dt", {}, list, name);
      element("dd", {}, list, text);
    };
    addFact("cluster", points.cluster[i]);
    if (points.distance) {
      addFact("distance to its center", valueText(points.distance[i]));
      const name = `distance to the nearest other center (cluster ${points.next[i]})`;
      addFact(name, valueText(points.other[i]));
    }
    if (points.certainty) addFact(points.measure, valueText(points.certainty[i]));
    points.features?.forEach((name, j) => addFact(name, valueText(points.values[i][j])));
  }

  function nearest(svg, event) {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = event.pointerType === "mouse" ? 24 ** 2 : 40 ** 2;
    for (let i = 0; i < n; i++) {
      if (selected !== null && points.cluster[i] !== selected) continue;
      const far = (at[i][0] - x) ** 2 + (at[i][1] - y) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  function step(key) {
    const visible = selected === null ? clusters : [selected];
    if (current < 0 || !visible.includes(points.cluster[current]))
      return members.get(visible[0])[0];
    const list = members.get(points.cluster[current]);
    const place = list.indexOf(current);
    const which = visible.indexOf(points.cluster[current]);
    const turn = (by) => members.get(visible[(which + by + visible.length) % visible.length]);
    if (key === "ArrowRight") return list[(place + 1) % list.length];
    if (key === "ArrowLeft") return list[(place - 1 + list.length) % list.length];
    if (key === "ArrowDown") return turn(1)[0];
    if (key === "ArrowUp") return turn(-1)[0];
    if (key === "Home") return list[0];
    if (key === "End") return list[list.length - 1];
    return -1;
  }

  drawInto("map-picture", (svg, width) => {
    const pad = 22, inner = width - 2 * pad;
    const tall = points.height / (points.width || 1);
    const height = Math.round(inner * Math.min(Math.max(tall, 0.5), width < 600 ? 1 : 0.75));
    const scale = Math.min(inner / (points.width || 1), height / (points.height || 1));
    const left = pad + (inner - scale * points.width) / 2;
    const bottom = pad + height - (height - scale * points.height) / 2;
    setSize(svg, width, height + 2 * pad);
    svg.setAttribute("data-points", n);
    svg.setAttribute("tabindex", 0);
    svg.setAttribute("role", "application");
    at = points.x.map((x, i) => [left + scale * x, bottom - scale * points.y[i]]);
    marks = at.map(([x, y], i) => mark(points.cluster[i], x, y, svg, width < 600 ? 0.75 : 1));
    labels(svg, width, height + 2 * pad);
    ring = shapeElement("circle", { r: 8, class: "ring", visibility: "hidden" }, svg);
    const showNearest = (event) => show(nearest(svg, event));
    svg.addEventListener("pointermove", showNearest);
    svg.addEventListener("pointerdown", showNearest);
    svg.addEventListener("focus", () => {
      if (current < 0 && svg.matches(":focus-visible")) show(step("Home"));
    });
    svg.addEventListener("keydown", (event) => {
      const next = step(event.key);
      if (next < 0 || !/^(Arrow|Home|End)/.test(event.key)) return;
      event.preventDefault();
      show(next);
    });
    const was = current;
    current = -1;
    show(was);
    selectCluster(selected);
  });

  // Write the numbers of the 40 largest clusters; move numbers that would overlap.
  function labels(svg, width, height) {
    const middle = (list, axis) =>
      list.map((i) => at[i][axis]).sort((a, b) => a - b)[list.length >> 1];
    const taken = [];
    const order = [...clusters].sort((a, b) => members.get(b).length - members.get(a).length);
    for (const cluster of order.slice(0, 40)) {
      const list = members.get(cluster);
      const x = middle(list, 0), y = middle(list, 1);
      const half = 6 + 4 * String(cluster).length;
      for (let turn = 0; turn < 90; turn++) {
        const radius = 3 * Math.sqrt(turn) * (turn > 0 ? 2.2 : 0), angle = 2.4 * turn;
        const u = x + radius * Math.cos(angle), v = y + radius * Math.sin(angle);
        const free = taken.every(([a, b, h]) => Math.abs(a - u) > h + half || Math.abs(b - v) > 17);
        if (!free || u < half || u > width - half || v < 10 || v > height - 10) continue;
        taken.push([u, v, half, cluster]);
        if (radius > 14)
          shapeElement("line", { x1: x, y1: y, x2: u, y2: v, class: "leader" }, svg);
        break;
      }
    }
    for (const [u, v, , cluster] of taken)
      shapeElement(
        "text", { x: u, y: v + 5, "text-anchor": "middle", class: "halo" }, svg, cluster);
  }

  function selectCluster(cluster) {
    selected = cluster;
    marks.forEach((m, i) =>
      m.classList.toggle("dim", selected !== null && points.cluster[i] !== selected));
    for (const button of legend.children)
      button.setAttribute("aria-pressed", String(selected !== null && +button.value === selected));
  }

  for (const cluster of clusters) {
    const button = element(
      "button", { type: "button", value: cluster, "aria-pressed": "false" }, legend);
    swatch(cluster, button);
    const name = clusters.length <= NAMED && names[cluster] ? `: ${names[cluster]}` : "";
    element("span", {}, button, `${cluster}${name}`)
      .setAttribute("aria-label", `cluster ${cluster}${name}`);
    button.addEventListener("click", () => selectCluster(selected === cluster ? null : cluster));
  }
  rowTable(points);
}

function cell(row, first, value) {
  if (!first) return element("td", {}, row, value);
  const name = element("th", { scope: "row" }, row);
  return element("span", { class: "name" }, name, value);
}

// The rows of the map as a table. The table is created when the user unfolds it.
function rowTable(points) {
  const place = document.getElementById("map-table");
  place.parentElement.addEventListener("toggle", () => {
    if (place.firstChild) return;
    const box = element(
      "div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of the map" },
      place);
    const table = element("table", {}, box);
    const columns = [["row", points.name], ["cluster", points.cluster]];
    if (points.distance) columns.push(["distance to its center", points.distance], ["nearest other cluster", points.next]);
    if (points.certainty) columns.push([points.measure, points.certainty]);
    points.features?.forEach((name, j) =>
      columns.push([name, points.values.map((row) => row[j])]));
    const head = element("tr", {}, element("thead", {}, table));
    for (const [name] of columns) element("th", { scope: "col" }, head, name);
    const body = element("tbody", {}, table);
    points.name.forEach((_, i) => {
      const row = element("tr", {}, body);
      columns.forEach(([, values], j) =>
        cell(row, j === 0, valueText(values[i])));
    });
    fadeEdges(box);
  });
}
