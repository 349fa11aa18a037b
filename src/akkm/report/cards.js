
// Cards: search, sort, open and close.
function cards() {
  for (const place of document.querySelectorAll("[data-swatch]"))
    swatch(+place.dataset.swatch, place);
  const tools = document.getElementById("card-tools");
  if (!tools) return;
  const box = document.getElementById("cards");
  const all = [...box.children];
  const search = document.getElementById("card-search");
  const fold = document.getElementById("card-fold");
  const count = document.getElementById("card-count");
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const card of all) {
      card.hidden = !words.every((word) => card.dataset.text.includes(word));
      n += !card.hidden;
    }
    count.textContent = words.length ? `${n} of ${all.length} clusters` : "";
  });
  document.getElementById("card-sort").addEventListener("change", (event) => {
    const by = event.target.value;
    const value = (card) => card.dataset[by];
    const order = {
      size: (a, b) => value(b) - value(a),
      clear: (a, b) => value(a) - value(b), // the least certain first
      cluster: (a, b) => value(a) - value(b),
      name: (a, b) => value(a).localeCompare(value(b)),
    };
    box.append(...all.sort(order[by]));
  });
  fold.addEventListener("click", () => {
    const open = fold.textContent === "Open all";
    for (const card of all) card.firstElementChild.open = open;
    fold.textContent = open ? "Close all" : "Open all";
  });
}

// A column is not shown if the mean ranks or shares of two clusters differ by less than this.
const ALIKE = 0.05;
const percentText = (value) => (value === null ? "–" : plainShare(value));

// How much two clusters differ in a column, and the text of the column for each cluster.
function compareColumn(column, a, b) {
  if (column.texts) {
    // Columns of texts have no ranks. They are always shown.
    const apart = column.positions
      ? Math.max(...["positions", "distances"].map((ranks) =>
          Math.abs(column[ranks][a] - column[ranks][b])))
      : 1;
    return { apart, texts: [column.texts[a], column.texts[b]] };
  }
  const [first, second] = [column.shares[a], column.shares[b]];
  const differs = (j) => Math.abs(first[j] - second[j]);
  const top = column.values.map((_, j) => j).sort((i, j) => differs(j) - differs(i));
  // Both sides list the same categories, each side in its own order: the frequent ones, and the
  // one that differs most.
  const by = (shares) => [...top].sort((i, j) => shares[j] - shares[i]);
  const named = new Set([...top.slice(0, 1), ...by(first).slice(0, 2), ...by(second).slice(0, 2)]);
  // "40 % 18-24" would be hard to read without quotes.
  const quoted = (value) => (/^[\d+\-<>.]/.test(value) ? `“${value}”` : value);
  const text = (shares) => {
    const listed = by(shares).filter((j) => named.has(j));
    const others = 1 - listed.reduce((sum, j) => sum + shares[j], 0);
    const parts = listed.map((j) => `${percentText(shares[j])} ${quoted(column.values[j])}`);
    return [...parts, ...(others >= 0.005 ? [`${percentText(others)} others`] : [])].join(", ");
  };
  return { apart: top.length ? differs(top[0]) : 0, texts: [text(first), text(second)] };
}

function compare({ clusters, names, shares, columns }) {
  const place = document.getElementById("compare-table");
  if (!place) return;
  const selects = ["a", "b"].map((id) => document.getElementById(`compare-${id}`));
  selects.forEach((select, turn) => {
    clusters.forEach((cluster, i) =>
      element("option", { value: i }, select, `${cluster}: ${names[i]} (${shares[i]})`));
    select.value = turn;
    select.addEventListener("change", update);
  });
  function update() {
    const [a, b] = selects.map((select) => +select.value);
    place.replaceChildren();
    // On phones, rows are laid out as grids. The roles tell screen readers that it is a table.
    const table = element("table", { class: "sides", role: "table" }, place);
    element("caption", {}, table, "Comparison of two clusters");
    const head = element("tr", { role: "row" }, element("thead", { role: "rowgroup" }, table));
    element("th", { scope: "col", role: "columnheader" }, head, "");
    for (const i of [a, b]) {
      const title = element("th", { scope: "col", role: "columnheader" }, head);
      swatch(clusters[i], title);
      title.append(` ${names[i]}`);
    }
    const body = element("tbody", { role: "rowgroup" }, table);
    const rows = columns.map((column) => ({ column, ...compareColumn(column, a, b) }));
    rows.sort((first, second) => second.apart - first.apart);
    if (rows.some(({ column, apart }) => column.range && apart >= ALIKE))
      element("p", { class: "than" }, place, "Averages, or medians where it says so; in brackets: the middle half of the values.");
    const alike = rows.filter(({ apart }) => apart < ALIKE).map(({ column }) => column.name);
    if (alike.length)
      element("p", { class: "than" }, place, `The two clusters hardly differ in: ${alike.join(", ")}.`);
    for (const { column, apart, texts } of rows) {
      if (apart < ALIKE) continue;
      const row = element("tr", { role: "row" }, body);
      element("th", { scope: "row", role: "rowheader" }, row, column.name);
      for (const text of texts) element("td", { role: "cell" }, row, text.replaceAll(" %", "\u00a0%"));
    }
  }
  update();
}

// A link to a section of the analyst's view switches to that view.
function views() {
  const analyst = document.getElementById("view-analyst");
  const technical = document.getElementById("technical");
  const unfold = () => {
    if (technical && analyst) technical.open = analyst.checked;
  };
  addEventListener("change", (event) => event.target.name === "view" && unfold());
  const show = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.closest(".analyst") && !analyst.checked) {
      analyst.checked = true;
      unfold();
      target.scrollIntoView();
    }
    const card = target && target.closest(".cluster");
    if (card) card.firstElementChild.open = true;
  };
  addEventListener("hashchange", show);
  unfold();
  show();
}
