// Navigation, keyboard, colours. Sections are rendered when they are first shown.
const content = document.getElementById("content"),
  nav = document.getElementById("nav"),
  keys = document.getElementById("keys");
let rendered = new Map();

function sectionRoot(section) {
  if (!rendered.has(section.id)) {
    const root = document.getElementById(section.id);
    rendered.set(section.id, root);
    section.render(root);
  }
  return rendered.get(section.id);
}
function present() {
  return SECTIONS.filter((section) => section.has());
}
function build() {
  rendered = new Map();
  const title = P.title || "profile";
  document.getElementById("subtitle").textContent =
    `${title} · ${count(P.events)} events · ${time(P.window_ns)} · ${P.tool}`;
  nav.replaceChildren(
    ...present().map((section) =>
      el(
        "a",
        { href: "#" + section.id, "data-section": section.id },
        section.title,
        section.badge ? el("span", { class: "badge" }, String(section.badge())) : null,
      ),
    ),
  );
  content.replaceChildren(
    ...present().map((section) => el("section", { id: section.id, "aria-label": section.title, hidden: true })),
  );
  route();
}
function route() {
  const { section: id, args } = readHash(),
    list = present(),
    section = list.find((s) => s.id === id) || list[0];
  hideTip();
  for (const other of list) document.getElementById(other.id).hidden = other !== section;
  for (const link of nav.children)
    if (link.dataset.section === section.id) {
      link.setAttribute("aria-current", "page");
      nav.scrollLeft = link.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2; // narrow windows show some of them
    } else link.removeAttribute("aria-current");
  sectionRoot(section);
  if (section.show) section.show(args);
  if (id && !args.toString()) scrollTo(0, 0);
}

// ---- colours ----
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.dispatchEvent(new Event("themechange"));
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
prefersDark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}
document.getElementById("theme").addEventListener("click", toggleTheme);

// ---- keyboard ----
const KEYS = [
  ["1 … 9", "section"],
  ["j k", "next, previous section"],
  ["/", "search"],
  ["t", "light or dark"],
  ["w s a d", "timeline: zoom and move"],
  ["n p", "timeline: next, previous match"],
  ["f 0", "timeline: zoom to the selected event, show all"],
  ["arrows, Enter, Escape", "flame graph and tables: move, open, back"],
  ["?", "this list"],
];
keys.append(
  el("h3", {}, "Keyboard"),
  el(
    "dl",
    { class: "facts" },
    KEYS.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]),
  ),
  el("form", { method: "dialog" }, el("button", {}, "Close")),
);
document.getElementById("help").addEventListener("click", () => keys.showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const list = present(),
    at = list.findIndex((section) => !document.getElementById(section.id).hidden);
  const move = (by) => go(list[Math.max(0, Math.min(list.length - 1, at + by))].id);
  if (/^[1-9]$/.test(event.key) && list[event.key - 1]) go(list[event.key - 1].id);
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "t") toggleTheme();
  else if (event.key === "?") keys.showModal();
  else if (event.key === "/") {
    const input = document.querySelector("section:not([hidden]) [data-search]");
    if (input) {
      event.preventDefault();
      input.focus();
    }
  }
});

// ---- several profiles, printing ----
const picker = document.getElementById("profile");
if (PROFILES.length > 1) {
  document.getElementById("picker").hidden = false;
  picker.append(...PROFILES.map((profile, i) => el("option", { value: i }, profile.title || "profile " + (i + 1))));
  picker.addEventListener("change", () => {
    P = PROFILES[picker.value];
    build();
  });
}
addEventListener("beforeprint", () => present().forEach(sectionRoot));
addEventListener("hashchange", route);
document.documentElement.dataset.theme = prefersDark.matches ? "dark" : "light";
build();
