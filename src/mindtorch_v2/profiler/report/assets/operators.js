// Every operator with its cost; a row opens who called it, what it called, its shapes and lines.
SECTIONS.push({
  id: "operators",
  title: "Operators",
  has: () => P.operators.rows.length > 0,
  render(root) {
    const { columns, rows, details, slowest } = P.operators;
    const at = Object.fromEntries(columns.map((name, i) => [name, i]));
    const own = rows.reduce((sum, row) => sum + row[at.own_ns], 0),
      device = rows.reduce(
        (sum, row) => sum + (row[at.device] !== "CPU" && row[at.kind] !== "scope" ? row[at.own_device_ns] : 0),
        0,
      );
    const all = rows.map((row, i) => ({ row, i })),
      any = (name) => rows.some((row) => row[at[name]]);
    const number = (title, name, hint, show = time) => ({
      title,
      hint,
      number: true,
      value: (r) => r.row[at[name]],
      text: (r) => (r.row[at[name]] ? show(r.row[at[name]]) : "–"),
    });
    const list = [
      { title: "Operator", name: true, value: (r) => r.row[at.name], text: (r) => r.row[at.name] },
      { ...number("Own time", "own_ns", "without what it called"), share: (r) => (own ? r.row[at.own_ns] / own : 0) },
      {
        title: "Share",
        hint: "of the own time of all",
        value: (r) => r.row[at.own_ns],
        text: (r) => percent(r.row[at.own_ns], own),
      },
      number("Total", "total_ns", "with what it called"),
      number("Calls", "calls", "", count),
      number("p50", "p50_ns", "median of the times of single calls"),
      number("p95", "p95_ns", "95 of 100 calls take at most this"),
      number("Max", "max_ns", "the longest call"),
    ];
    if (any("device_ns"))
      list.push(number("Device", "device_ns", "device time of the work that it launched, or of itself"), {
        title: "Device share",
        value: (r) => r.row[at.own_device_ns],
        text: (r) => percent(r.row[at.own_device_ns], device),
      });
    if (any("flops"))
      list.push({
        ...number("FLOP/s", "flops", "floating point operations per second of total time"),
        value: (r) => rate(r),
        text: (r) => (rate(r) ? scaled(rate(r), "FLOP/s") : "–"),
      });
    if (any("nbytes") || any("own_nbytes"))
      list.push(number("Memory", "own_nbytes", "bytes allocated less bytes freed, by itself", bytes));
    const rate = (r) => {
      const spent = Math.max(r.row[at.total_ns], r.row[at.device_ns]);
      return spent ? (r.row[at.flops] * 1e9) / spent : 0;
    };
    this.table = makeTable(list, all, {
      label: "operators",
      sort: 1,
      details: (r) => open(r),
      onopen: (r) => history.replaceState(null, "", "#operators?name=" + encodeURIComponent(r.row[at.name])),
    });
    this.nameOf = (r) => r.row[at.name];
    const open = (r) => {
      const parts = details[r.i],
        titles = ["Called by", "Calls", "Shapes", "Lines"];
      const lists = (parts || []).map((entries, k) =>
        entries.length
          ? el(
              "div",
              {},
              el("h4", {}, titles[k]),
              el(
                "table",
                {},
                el(
                  "tbody",
                  {},
                  entries.map(([name, calls, total, index]) =>
                    el(
                      "tr",
                      {},
                      el(
                        "td",
                        { class: "name" },
                        index >= 0 && index < rows.length
                          ? el("a", { href: "#operators?name=" + encodeURIComponent(name) }, name)
                          : name,
                      ),
                      el("td", { class: "n" }, count(calls) + "×"),
                      el("td", { class: "n" }, time(total)),
                    ),
                  ),
                ),
              ),
            )
          : null,
      );
      const jump =
        slowest[r.i] >= 0
          ? el(
              "button",
              { type: "button", onclick: () => go("timeline", { event: slowest[r.i] }) },
              "Show the longest call in the timeline",
            )
          : null;
      return el(
        "div",
        {},
        el(
          "div",
          { class: "details" },
          parts ? lists : el("p", { class: "soft" }, "Callers and shapes are kept for the first operators only."),
        ),
        jump,
      );
    };
    root.append(
      el("h2", {}, "Operators"),
      el(
        "p",
        { class: "soft" },
        "Own time is without what an operator called. A row opens its callers, callees, shapes and lines.",
      ),
      this.table.root,
    );
  },
  show(args) {
    const name = args.get("name");
    if (name && this.table) this.table.reveal((r) => this.nameOf(r) === name);
  },
});
