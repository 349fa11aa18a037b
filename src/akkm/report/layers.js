
// The tree lies on its side: the root is at the left, and the clusters are at the right.
function tree({ clusters, sizes, merges, layers, cuts }) {
  drawInto("tree-picture", (svg, width) => {
    const step = clusters.length > 40 ? 16 : 24, top = 34;
    const room = Math.min(width, 900), labels = Math.min(230, 0.45 * room);
    const left = 12, right = room - labels, most = Math.max(1, ...sizes);
    const x = (height) => right - (right - left) * height;
    const y = (place) => top + step * (place + 0.5);
    const bottom = top + step * clusters.length;
    setSize(svg, width, bottom + 8);
    let free = Infinity; // from right to left; numbers that would overlap are left out
    [...layers.keys()].reverse().forEach((i) => {
      const number = layers[i], at = x(cuts[i]);
      shapeElement("line", { x1: at, x2: at, y1: top - 8, y2: bottom, class: "limit" }, svg);
      if (at > free) return;
      free = at - 8 * String(number).length - 10;
      const text = { x: at, y: top - 14, "text-anchor": "middle", class: "axis" };
      shapeElement("text", text, svg, number);
    });
    for (const [height, heightA, heightB, placeA, placeB] of merges) {
      const path = `M${x(heightA).toFixed(1)},${y(placeA).toFixed(1)}H${x(height).toFixed(1)}` +
        `V${y(placeB).toFixed(1)}H${x(heightB).toFixed(1)}`;
      shapeElement("path", { d: path, class: "branch" }, svg);
    }
    const start = right + 54, longest = Math.max(20, labels - 54 - 62);
    clusters.forEach((cluster, i) => {
      const at = y(i);
      mark(cluster, right + 10, at, svg, step < 20 ? 0.8 : 1);
      const text = { x: start - 8, y: at + 4, "text-anchor": "end", class: "axis" };
      shapeElement("text", text, svg, cluster);
      const length = Math.max(1.5, (longest * sizes[i]) / most);
      const bar = { x: start, y: at - step / 3, width: length, height: (2 * step) / 3, class: "bar" };
      shapeElement("rect", bar, svg);
      shapeElement("text", { x: start + length + 6, y: at + 4, class: "axis" }, svg,
        whole.format(sizes[i]));
    });
  });
}

function stability({ numbers, stability, spread, reference, marked }) {
  drawInto("stability-picture", (svg, width, place) => {
    const left = 52, right = 24, top = 26, height = 220, bottom = top + height;
    const room = Math.min(width, 760) - left - right;
    const first = Math.log(numbers[0]), last = Math.log(numbers[numbers.length - 1]);
    const x = (number) => left + (room * (Math.log(number) - first)) / (last - first || 1);
    const y = (value) => bottom - height * Math.min(1, Math.max(0, value));
    setSize(svg, width, bottom + 44);
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      const at = y(tick);
      shapeElement("line", { x1: left, x2: left + room, y1: at, y2: at, class: "grid" }, svg);
      const text = { x: left - 8, y: at + 4, "text-anchor": "end", class: "axis" };
      shapeElement("text", text, svg, tick);
    }
    const points = (values) =>
      numbers.map((number, i) => `${x(number).toFixed(1)},${y(values[i]).toFixed(1)}`);
    const high = points(stability.map((value, i) => value + spread[i]));
    const low = points(stability.map((value, i) => value - spread[i]));
    shapeElement("path", { d: `M${[...high, ...low.reverse()].join("L")}Z`, class: "spread" }, svg);
    shapeElement("path", { d: `M${points(reference).join("L")}`, class: "line second" }, svg);
    shapeElement("path", { d: `M${points(stability).join("L")}`, class: "line" }, svg);
    let free = -Infinity; // numbers below the axis that would overlap are left out
    numbers.forEach((number) => {
      if (x(number) < free) return;
      free = x(number) + 8 * String(number).length + 14;
      const below = { x: x(number), y: bottom + 18, "text-anchor": "middle", class: "axis" };
      shapeElement("text", below, svg, number);
    });
    let next = Infinity; // from right to left, as in the tree
    for (const number of [...marked].reverse()) {
      const at = numbers.indexOf(number);
      const spot = { cx: x(number), cy: y(stability[at]), r: 5, class: "bar" };
      shapeElement("circle", spot, svg);
      if (x(number) > next) continue;
      next = x(number) - 8 * String(number).length - 10;
      const above = { x: x(number), y: y(stability[at]) - 10, "text-anchor": "middle" };
      shapeElement("text", above, svg, number);
    }
    shapeElement(
      "text", { x: left + room / 2, y: bottom + 38, "text-anchor": "middle", class: "axis" },
      svg, "number of clusters (dots: chosen numbers)");
    if (place.querySelector(".keys")) return;
    const keys = element("div", { class: "keys" }, place);
    key(keys, "line", "agreement of the halves");
    key(keys, "line second", "without clusters");
  });
}
