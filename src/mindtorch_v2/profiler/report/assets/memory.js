// Memory over time by category, who held it at the peak, and what steps left behind.
SECTIONS.push({
  id: "memory",
  title: "Memory",
  has: () => P.memory.length > 0,
  render(root) {
    root.append(el("h2", {}, "Memory"), ...P.memory.flatMap((use) => this.device(use)));
  },
  device(use) {
    const colour = (name) => CATEGORY_COLOURS[name] || "#888",
      here = el("p", { class: "soft", role: "status" }, "Move over the picture to read it.");
    const legend = el(
      "table",
      { "aria-label": "Memory by category" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Category", "Highest", "At the peak", "Share of the peak"].map((t, i) =>
            el("th", { class: i ? "n" : "" }, t),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        use.categories.map((name, i) =>
          el(
            "tr",
            {},
            el("td", {}, el("i", { class: "swatch", style: { background: colour(name) } }), name.replace(/_/g, " ")),
            el("td", { class: "n" }, bytes(use.totals[i].reduce((a, b) => Math.max(a, b), 0))),
            el("td", { class: "n" }, bytes(use.at_peak[i])),
            el("td", { class: "n" }, percent(use.at_peak[i], use.peak)),
          ),
        ),
      ),
    );
    const parts = [
      el("h3", {}, `On ${use.device}: peak ${bytes(use.peak)} at ${time(use.peak_at)}`),
      this.plot(use, colour, here),
      here,
      el("div", { class: "wide", style: { "max-width": "620px" } }, legend),
      el("h3", {}, "Who held it at the peak"),
      this.holders(use),
    ];
    if (P.phases.count > 2)
      parts.push(
        el("h3", {}, "Never freed between steps"),
        use.survivors.length
          ? this.survivors(use)
          : el(
              "p",
              { class: "soft" },
              "Nothing that a step after the first allocated, other than parameters, gradients, buffers and optimizer state, outlived the recording.",
            ),
        el(
          "p",
          { class: "soft" },
          `Live at the end of steps: ${use.at_ends.slice(0, 6).map(bytes).join(", ")}${use.at_ends.length > 6 ? ", … " + bytes(use.at_ends[use.at_ends.length - 1]) : ""}; median growth ${bytes(use.growth)} a step.`,
        ),
      );
    return parts;
  },
  plot(use, colour, here) {
    const root = el("div", { class: "frame" }),
      left = 70,
      bottom = 20,
      topEdge = 10,
      span = Math.max(P.window_ns, 1),
      { times, totals } = use;
    let at = -1;
    const view = canvasIn(root, 300, (g, width, height) => {
      const x = (t) => left + ((width - left - 8) * t) / span,
        y = (v) => height - bottom - ((height - bottom - topEdge) * v) / Math.max(use.peak, 1);
      g.font = "11px system-ui";
      g.textBaseline = "middle";
      g.textAlign = "right";
      for (let v = 0, step = 2 ** Math.ceil(Math.log2(Math.max(use.peak, 4) / 5)); v <= use.peak; v += step) {
        g.fillStyle = cssVariable("--line");
        g.fillRect(left, y(v), width - left - 8, 1);
        g.fillStyle = cssVariable("--soft");
        g.fillText(bytes(v), left - 6, y(v));
      }
      g.textAlign = "center";
      for (let t = 0, step = niceStep(span, width / 120); t <= span; t += step)
        g.fillText(moment(t, step), x(t), height - 8);
      let below = new Float64Array(times.length);
      totals.forEach((column, c) => {
        const above = below.map((v, i) => v + column[i]);
        g.fillStyle = colour(use.categories[c]);
        g.beginPath();
        g.moveTo(x(times[0]), y(0));
        for (let i = 0; i < times.length; i++) {
          g.lineTo(x(times[i]), y(i ? above[i - 1] : 0));
          g.lineTo(x(times[i]), y(above[i]));
        }
        g.lineTo(x(span), y(above[times.length - 1]));
        g.lineTo(x(span), y(below[times.length - 1]));
        for (let i = times.length - 1; i >= 0; i--) {
          g.lineTo(x(times[i]), y(below[i]));
          g.lineTo(x(times[i]), y(i ? below[i - 1] : 0));
        }
        g.fill();
        below = above;
      });
      g.fillStyle = cssVariable("--ink");
      g.fillRect(x(use.peak_at), topEdge, 1, height - bottom - topEdge);
      if (at >= 0) {
        g.fillStyle = cssVariable("--accent");
        g.fillRect(x(times[at]), topEdge, 1, height - bottom - topEdge);
      }
    });
    const tell = () => {
      here.textContent =
        `${time(times[at])}: ${bytes(totals.reduce((sum, column) => sum + column[at], 0))} = ` +
        use.categories
          .map((name, c) => (totals[c][at] ? `${name.replace(/_/g, " ")} ${bytes(totals[c][at])}` : ""))
          .filter(Boolean)
          .join(" + ");
      view.redraw();
    };
    view.canvas.setAttribute("role", "img");
    view.canvas.setAttribute(
      "aria-label",
      `Live bytes on ${use.device} over time by category, peak ${bytes(use.peak)}`,
    );
    view.canvas.addEventListener("pointermove", (event) => {
      const box = view.canvas.getBoundingClientRect(),
        t = ((event.clientX - box.left - left) / (box.width - left - 8)) * span;
      at = Math.max(0, firstAfter(times, 0, times.length, t) - 1);
      tell();
    });
    view.canvas.addEventListener("click", () => {
      if (at >= 0) go("timeline", { from: Math.max(times[at] - span / 100, 0), to: times[at] + span / 100 });
    });
    view.canvas.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        at = Math.max(0, Math.min(times.length - 1, at + (event.key === "ArrowRight" ? 1 : -1)));
        tell();
        event.preventDefault();
      }
    });
    return root;
  },
  holders(use) {
    const box = el("div"),
      titles = ["Operator", "Module", "Line"];
    const show = (k) => {
      const groups = new Map();
      for (const row of use.holders) {
        const key = row[k] || (row[0].startsWith("(") ? row[0] : "(unknown)"),
          entry = groups.get(key) || [key, 0, 0, new Set()];
        entry[1] += row[4];
        entry[2] += row[5];
        entry[3].add(row[3]);
        groups.set(key, entry);
      }
      const rows = [...groups.values()];
      const table = makeTable(
        [
          { title: titles[k], name: true, value: (r) => r[0], text: (r) => r[0] },
          { title: "Bytes", value: (r) => r[1], text: (r) => bytes(r[1]), share: (r) => r[1] / Math.max(use.peak, 1) },
          { title: "Share", value: (r) => r[1], text: (r) => percent(r[1], use.peak) },
          { title: "Blocks", number: true, value: (r) => r[2] },
          { title: "Used as", value: (r) => [...r[3]].join(", ").replace(/_/g, " ") },
        ],
        rows,
        { sort: 1, search: false, limit: 20, label: "holders by " + titles[k] },
      );
      box.replaceChildren(
        el(
          "div",
          { class: "tools" },
          titles.map((title, i) =>
            el(
              "button",
              { type: "button", "aria-pressed": String(i === k), onclick: () => show(i) },
              "by " + title.toLowerCase(),
            ),
          ),
        ),
        table.root,
      );
    };
    show(use.holders.some((row) => row[2]) ? 2 : use.holders.some((row) => row[1]) ? 1 : 0);
    return box;
  },
  survivors(use) {
    return makeTable(
      [
        { title: "Operator", name: true, value: (r) => r[0], text: (r) => r[0] },
        { title: "Module", value: (r) => r[1] },
        { title: "Line", value: (r) => r[2] },
        { title: "Used as", value: (r) => r[3].replace(/_/g, " ") },
        { title: "Bytes", value: (r) => r[4], text: (r) => bytes(r[4]) },
        { title: "Blocks", number: true, value: (r) => r[5] },
        { title: "In steps", number: true, value: (r) => r[6] },
      ],
      use.survivors,
      { sort: 4, search: false, limit: 20, label: "survivors" },
    ).root;
  },
});
