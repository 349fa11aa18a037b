
// Bands from the clusters of one fit to those of another.
function flow({ names, first, second, order, links }) {
  drawInto("flow-picture", (svg, width) => {
    const wide = Math.min(width, 860), gap = 8, least = 14, top = 26;
    const label = Math.min(120, wide * 0.24), bar = 12;
    const total = links.reduce((sum, link) => sum + link[2], 0);
    const most = Math.max(first.length, second.length);
    const height = Math.max(260, (least + gap) * most);
    const scale = (height - gap * most - least * most) / total;
    const sum = (side, k) =>
      links.reduce((n, link) => n + (link[side] === k ? link[2] : 0), 0);
    const stack = (side, clusters) => {
      let y = top;
      const places = new Map();
      for (const k of clusters) {
        const tall = least + scale * sum(side, k);
        places.set(k, { y, tall, used: 0, n: sum(side, k) });
        y += tall + gap;
      }
      return places;
    };
    const left = stack(0, first.map((_, i) => i)), right = stack(1, order);
    const x0 = label + bar, x1 = wide - label - bar;
    setSize(svg, width, top + height + 4);
    const title = (x, anchor, text) =>
      shapeElement("text", { x, y: 14, "text-anchor": anchor, class: "axis" }, svg, text);
    const cut = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);
    const letters = Math.floor(wide / 2 / 8);
    title(0, "start", cut(names[0], letters));
    title(wide, "end", cut(names[1], letters));
    const rank = new Map(order.map((k, i) => [k, i]));
    const sorted = [...links].sort((a, b) => a[0] - b[0] || rank.get(a[1]) - rank.get(b[1]));
    for (const [i, j, n, moved] of sorted) {
      const a = left.get(i), b = right.get(j);
      const from = [a.y + a.used, (a.tall * n) / a.n], to = [b.y + b.used, (b.tall * n) / b.n];
      a.used += from[1];
      b.used += to[1];
      const middle = (x0 + x1) / 2;
      const d = `M${x0},${from[0]}C${middle},${from[0]} ${middle},${to[0]} ${x1},${to[0]}` +
        `v${to[1]}C${middle},${to[0] + to[1]} ${middle},${from[0] + from[1]} ${x0},${from[0] + from[1]}z`;
      const band = shapeElement("path", { d, class: moved ? "band moved" : "band" }, svg);
      shapeElement("title", {}, band, `${first[i]} → ${second[j]}: ${whole.format(n)} rows`);
    }
    const side = (places, texts, x, anchor, at) => {
      for (const [k, { y, tall, n }] of places) {
        shapeElement("rect", { x, y, width: bar, height: tall, class: "bar" }, svg);
        const text = `${texts[k]} (${compact.format(n)})`;
        shapeElement(
          "text", { x: at, y: y + tall / 2 + 4.5, "text-anchor": anchor }, svg,
          cut(text, Math.floor(label / 7.5)));
      }
    };
    side(left, first, label, "end", label - 6);
    side(right, second, x1, "start", x1 + bar + 6);
  });
}

function searchRows() {
  const tools = document.getElementById("row-tools");
  if (!tools) return;
  const rows = [...document.querySelectorAll("#moved-rows tbody tr")];
  const search = document.getElementById("row-search");
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    let n = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
      n += !row.hidden;
    }
    document.getElementById("row-count").textContent =
      text ? `${n} of ${rows.length} rows` : "";
  });
}

if (data.flow) flow(data.flow);
searchRows();
for (const box of document.querySelectorAll(".scroll")) fadeEdges(box);
