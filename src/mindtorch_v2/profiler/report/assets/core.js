// What all sections share: the data, elements, numbers as text, colours, links.
const PROFILES = JSON.parse(document.getElementById("data").textContent);
let P = PROFILES[0];
const SECTIONS = []; // { id, title, has(P), render(root, args), show(args)? }, in the order of the navigation

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) made.style.setProperty(k, v);
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) made.append(child);
  return made;
}

// ---- numbers as text ----
function digits(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return Math.round(ns) + " ns";
  if (size < 1e6) return digits(ns / 1e3) + " µs";
  return size < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
}
function bytes(n) {
  for (const [power, unit] of [
    [40, "TB"],
    [30, "GB"],
    [20, "MB"],
    [10, "KB"],
  ])
    if (Math.abs(n) >= 2 ** power) return digits(n / 2 ** power) + " " + unit;
  return n + " B";
}
function scaled(n, unit) {
  for (const [size, prefix] of [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "K"],
  ])
    if (Math.abs(n) >= size) return digits(n / size) + " " + prefix + unit;
  return digits(n) + " " + unit;
}
function count(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, " ");
}
function percent(part, whole) {
  return whole > 0 ? ((100 * part) / whole).toFixed(1) + "%" : "–";
}

// ---- colours ----
const PHASE_COLOURS = ["#2f6fd0", "#8250c4", "#b45309", "#0f8a6d", "#a3324e", "#6b7280", "#3f7d20", "#9ca3af"];
const CATEGORY_COLOURS = {
  parameter: "#2f7d4f",
  optimizer_state: "#b98a10",
  input: "#7a5a44",
  temporary: "#9572c4",
  activation: "#d2553f",
  gradient: "#2f5fb3",
  autograd_detail: "#4f98cf",
  unknown: "#8d8d8d",
  scratch: "#d19a66",
  buffer: "#5f9a72",
};
const KIND_COLOURS = [
  "#4f7fd6",
  "#8a63c9",
  "#8a63c9",
  "#4b9b8a",
  "#5f6b7c",
  "#4f7fd6",
  "#7b9a4a",
  "#a7a35c",
  "#c08a3e",
  "#b0503c",
  "#a3627f",
  "#a3627f",
  "#777777",
  "#3d8f5a",
  "#c07a2a",
  "#c07a2a",
  "#4b9b8a",
  "#777777",
  "#777777",
  "#888888",
  "#999999",
];
function hashColour(text) {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return `hsl(${(hash >>> 0) % 360} 42% 37%)`; // white text on it is readable
}
function cssVariable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// ---- a hint beside the pointer ----
const tip = document.getElementById("tip");
function showTip(x, y, text) {
  tip.hidden = false;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
}
function hideTip() {
  tip.hidden = true;
}

// ---- links: #section or #section?key=value ----
function go(section, args) {
  const query = new URLSearchParams(args || {}).toString();
  location.hash = section + (query ? "?" + query : "");
}
function readHash() {
  const [section, query] = location.hash.slice(1).split("?");
  return { section, args: new URLSearchParams(query || "") };
}

// A canvas that keeps its size in device pixels; calls draw(context, width, height) whenever its size or the colours change.
function canvasIn(root, height, draw) {
  const canvas = el("canvas", { tabindex: "0" });
  root.append(canvas);
  const context = canvas.getContext("2d");
  let asked = false;
  const size = () => ({ width: canvas.clientWidth, height: typeof height === "function" ? height() : height });
  const paint = () => {
    asked = false;
    const { width, height: tall } = size();
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = tall + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(tall * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(tall * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, tall);
    draw(context, width, tall);
  };
  const redraw = () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(paint);
    }
  };
  new ResizeObserver(redraw).observe(canvas);
  document.addEventListener("themechange", redraw);
  window.addEventListener("beforeprint", paint);
  return { canvas, redraw, paint };
}

// A moment on an axis, with as many digits as tell it from its neighbours a step away.
function moment(ns, step) {
  const [size, unit] = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 100 ? [1e3, "µs"] : [1, "ns"];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return (ns / size).toFixed(Math.min(decimals, 6)).replace(/\B(?=(\d{3})+(\.|$))(?<!\.\d*)/g, " ") + " " + unit;
}

// Round steps of an axis: 1, 2 or 5 times a power of ten.
function niceStep(span, pieces) {
  const raw = span / Math.max(pieces, 1),
    power = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= raw) || power * 10;
}
