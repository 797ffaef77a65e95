// A table that can be sorted and searched. A column: { title, value(row), text(row)?, share(row)?, name?, number? }.
function makeTable(columns, rows, options) {
  const { details, limit = 100, sort = 0, descending = true, label, search = true, onopen } = options || {};
  let sorted = rows.slice(),
    by = sort,
    down = descending,
    shown = limit,
    filter = "";
  const body = el("tbody"),
    more = el("div", { class: "tools" });
  const heads = columns.map((column, i) =>
    el(
      "th",
      { class: column.name ? "name" : column.text || column.number ? "n" : "", scope: "col", title: column.hint },
      el("button", { type: "button", onclick: () => sortBy(i) }, column.title),
    ),
  );
  const input = el("input", {
    type: "search",
    placeholder: "Search names (or /expression/)",
    "aria-label": "Search " + (label || "the table"),
    "data-search": true,
    oninput: () => {
      filter = input.value;
      shown = limit;
      fill();
    },
  });
  const info = el("span", { class: "soft" });
  const table = el("table", { "aria-label": label }, el("thead", {}, el("tr", {}, heads)), body);
  const root = el(
    "div",
    {},
    search ? el("div", { class: "tools" }, input, info) : null,
    el("div", { class: "wide" }, table),
    more,
  );

  function matches() {
    if (!filter) return () => true;
    const key = columns.find((c) => c.name) || columns[0];
    const expression = filter.match(/^\/(.*)\/$/);
    if (expression) {
      try {
        const pattern = new RegExp(expression[1], "i");
        return (row) => pattern.test(key.value(row));
      } catch (error) {
        return () => true;
      }
    }
    const words = filter.toLowerCase().split(/\s+/);
    return (row) => {
      const text = String(key.value(row)).toLowerCase();
      return words.every((word) => text.includes(word));
    };
  }
  function sortBy(i) {
    down = i === by ? !down : !columns[i].name;
    by = i;
    fill();
  }
  function fill() {
    const value = columns[by].value;
    sorted = rows.filter(matches());
    sorted.sort((a, b) => {
      const x = value(a),
        y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    heads.forEach((head, i) =>
      i === by ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"),
    );
    body.replaceChildren(...sorted.slice(0, shown).map(line));
    info.textContent = filter ? `${count(sorted.length)} of ${count(rows.length)}` : `${count(rows.length)} rows`;
    more.replaceChildren(
      ...(sorted.length > shown
        ? [
            el(
              "button",
              {
                type: "button",
                onclick: () => {
                  shown += 500;
                  fill();
                },
              },
              `Show more (${count(sorted.length - shown)} left)`,
            ),
          ]
        : []),
    );
  }
  function line(row) {
    const cells = columns.map((column) => {
      const cell = el(
        "td",
        { class: column.name ? "name" : column.share ? "n share" : column.text || column.number ? "n" : "" },
        column.text ? column.text(row) : String(column.value(row)),
      );
      if (column.share) cell.style.setProperty("--part", (100 * column.share(row)).toFixed(1) + "%");
      return cell;
    });
    const made = el("tr", {}, cells);
    if (details) {
      made.className = "row";
      made.tabIndex = 0;
      made.setAttribute("aria-expanded", "false");
      made.open = () => toggle(made, row);
      made.addEventListener("click", (event) => {
        if (!event.target.closest("a, button")) toggle(made, row);
      });
      made.addEventListener("keydown", (event) => {
        if (event.target === made && (event.key === "Enter" || event.key === " ")) {
          event.preventDefault();
          toggle(made, row);
        }
        const next =
          event.key === "ArrowDown" ? "nextElementSibling" : event.key === "ArrowUp" ? "previousElementSibling" : null;
        if (next && made[next]) {
          event.preventDefault();
          made[next].focus();
        }
      });
    }
    made.row = row;
    return made;
  }
  function toggle(made, row) {
    const open = made.getAttribute("aria-expanded") === "true";
    made.setAttribute("aria-expanded", String(!open));
    if (open) made.nextElementSibling.remove();
    else {
      made.after(el("tr", { class: "opened" }, el("td", { colspan: columns.length }, details(row))));
      if (onopen) onopen(row);
    }
  }
  function reveal(test) {
    input.value = filter = "";
    fill();
    shown = Math.max(shown, sorted.findIndex(test) + 1);
    fill();
    const found = [...body.children].find((made) => made.row && test(made.row));
    if (!found) return;
    if (found.open && found.getAttribute("aria-expanded") === "false") found.open();
    found.scrollIntoView({ block: "center" });
    found.focus();
  }
  fill();
  return { root, reveal, fill };
}
