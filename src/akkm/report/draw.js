"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

// There are eight shapes and seven colours. After seven clusters, the colours return in
// a darker version, and then in a paler version. So 8 x 7 x 3 = 168 clusters look
// different, and eight clusters can be distinguished without colour.
const COLOURS = 7, ROUNDS = 3;
const SHAPES = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
  "M-3.6,-3.6h7.2v7.2h-7.2z",
  "M0,-4.8L4.5,3.4H-4.5z",
  "M0,-5.2L5.2,0L0,5.2L-5.2,0z",
  "M-1.5,-4.6h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1z",
  "M0,4.8L4.5,-3.4H-4.5z",
  "M0,-5.4L1.5,-1.7L5.2,-1.7L2.3,.8L3.3,4.6L0,2.4L-3.3,4.6L-2.3,.8L-5.2,-1.7L-1.5,-1.7z",
  "M-4.9,-2.1h9.8v4.2h-9.8z",
];
const shape = (cluster) => SHAPES[cluster % SHAPES.length];
const colour = (cluster) =>
  `c${cluster % COLOURS} r${Math.floor(cluster / COLOURS) % ROUNDS}`;

function element(name, attributes = {}, parent = null, text = null) {
  const made = document.createElement(name);
  return finish(made, attributes, parent, text);
}

function shapeElement(name, attributes = {}, parent = null, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  return finish(made, attributes, parent, text);
}

function finish(made, attributes, parent, text) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text; // never HTML
  if (parent) parent.append(made);
  return made;
}

// Draw at the available width, and draw again when the width changes.
function drawInto(id, paint) {
  const place = document.getElementById(id);
  if (!place) return;
  let width = 0;
  const again = () => {
    if (place.clientWidth === width || place.clientWidth < 100) return; // unchanged or hidden
    width = place.clientWidth;
    place.querySelector("svg")?.remove();
    const svg = shapeElement("svg", { role: "img", "aria-label": place.dataset.label });
    place.prepend(svg);
    paint(svg, width, place);
  };
  again();
  new ResizeObserver(again).observe(place);
}

function setSize(svg, width, height) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
}

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact" });
function share(part) {
  if (part === 0) return "0 %";
  if (part < 0.0001) return "< 0.01 %";
  if (part >= 0.9995 && part < 1) return "> 99.9 %";
  if (part >= 0.995 && part < 0.9995) return `${(100 * part).toFixed(1)} %`;
  return `${(100 * part).toFixed(part >= 0.0995 ? 0 : part >= 0.00995 ? 1 : 2)} %`;
}
// A share in words if it is near 0 or 1.
function plainShare(part) {
  if (part > 0 && part < 0.00995) return "below 1 %";
  return part > 0.99 && part < 1 ? "over 99 %" : share(part);
}
// The text of a value: numbers are already rounded, and text is not changed.
const valueText = (value) =>
  value === null ? "–" : typeof value === "string" ? value : String(value).replace("-", "−");

// Mark a box that can be scrolled: show a hint, and fade the edge that hides content.
function fadeEdges(box) {
  const update = () => {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("wide", hidden > 2);
    box.classList.toggle("more", hidden - box.scrollLeft > 2);
    const lower = box.scrollHeight - box.clientHeight - box.scrollTop;
    box.classList.toggle("below", lower > 2);
  };
  update();
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
}

function mark(cluster, x, y, parent, size = 1) {
  const attributes = { d: shape(cluster), class: `mark ${colour(cluster)}` };
  attributes.transform = `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${size})`;
  return shapeElement("path", attributes, parent);
}

function swatch(cluster, parent) {
  const svg = shapeElement(
    "svg", { viewBox: "-6 -6 12 12", width: 15, height: 15, "aria-hidden": "true" }, parent);
  mark(cluster, 0, 0, svg);
}
