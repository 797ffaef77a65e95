// Where the time of a step goes, the steps, the verdict, and what the profile is.
SECTIONS.push({
  id: "overview",
  title: "Overview",
  has: () => !P.ranks,
  render(root) {
    const { verdict, phases } = P;
    root.append(
      el("h2", {}, "Overview"),
      el(
        "div",
        { class: "card verdict", id: "verdict" },
        el("strong", {}, verdict.sentence),
        el(
          "ul",
          {},
          verdict.evidence.map((text) => el("li", {}, text)),
        ),
        P.machine ? el("p", { class: "warning", id: "machine" }, P.machine) : null,
      ),
      this.figures(),
      el("h3", {}, phases.source === "window" ? "Where the time goes" : "Where the time of a step goes"),
      ...this.bar(phases),
    );
    if (phases.count > 1) root.append(el("h3", {}, "Steps"), this.steps(phases));
    if (P.advice.length)
      root.append(
        el("h3", {}, "What to do first"),
        el(
          "ol",
          {},
          P.advice
            .slice(0, 3)
            .map((finding) =>
              el(
                "li",
                {},
                el("a", { href: "#advice" }, finding.title),
                finding.gain_ns ? ` (at most ${percent(finding.share, 1)} of the time)` : "",
              ),
            ),
        ),
      );
    root.append(
      el(
        "div",
        { class: "two" },
        el(
          "div",
          {},
          el("h3", {}, "Recording"),
          facts({ ...P.about, recorded: Object.keys(P.settings).join(", ") || "operators only" }),
        ),
        el(
          "div",
          {},
          el("h3", {}, "Completeness"),
          facts({
            events: count(P.events),
            ...Object.fromEntries(Object.entries(P.drops).map(([k, v]) => [k, count(v)])),
          }),
          P.left_out.length
            ? el(
                "ul",
                { class: "soft", id: "left-out" },
                P.left_out.map((text) => el("li", {}, text)),
              )
            : el("p", { class: "soft" }, "Everything that was recorded is in this page."),
        ),
      ),
    );
  },
  figures() {
    const { phases, memory, devices } = P,
      cards = [];
    const card = (value, label) =>
      cards.push(el("div", { class: "card" }, el("b", {}, value), el("span", { class: "soft" }, label)));
    card(time(P.window_ns), "recorded");
    if (phases.count > 1) {
      card(time(phases.median_ns), "median step");
      card(count(phases.count), phases.source === "optimizer" ? "steps, by Optimizer.step" : "steps");
    }
    card(count(P.events), "events");
    for (const use of memory.slice(0, 2)) card(bytes(use.peak), "memory peak, " + use.device);
    for (const device of devices.slice(0, 2))
      card(percent(device.use.busy_ns, device.use.busy_ns + device.use.idle_ns), "busy, device " + device.use.device);
    return el("div", { class: "cards" }, cards);
  },
  bar(phases) {
    const whole = phases.total.reduce((a, b) => a + b, 0),
      steps = Math.max(phases.count, 1);
    const used = phases.total.map((ns, i) => ({ ns, i })).filter((part) => part.ns > 0);
    const bar = el(
      "div",
      {
        class: "stack",
        id: "phases",
        role: "img",
        "aria-label": used.map((p) => `${phases.labels[p.i]} ${percent(p.ns, whole)}`).join(", "),
      },
      used.map(({ ns, i }) =>
        el(
          "div",
          {
            style: { width: (100 * ns) / whole + "%", background: PHASE_COLOURS[i] },
            title: `${phases.labels[i]}: ${time(ns / steps)} per step, ${percent(ns, whole)}`,
          },
          el("span", {}, `${phases.labels[i]} ${percent(ns, whole)}`),
        ),
      ),
    );
    const table = el(
      "table",
      { "aria-label": "Phases" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Phase", steps > 1 ? "Mean per step" : "Time", "Share"].map((t, i) => el("th", { class: i ? "n" : "" }, t)),
        ),
      ),
      el(
        "tbody",
        {},
        used.map(({ ns, i }) =>
          el(
            "tr",
            {},
            el("td", {}, el("i", { class: "swatch", style: { background: PHASE_COLOURS[i] } }), phases.labels[i]),
            el("td", { class: "n" }, time(ns / steps)),
            el("td", { class: "n" }, percent(ns, whole)),
          ),
        ),
        el(
          "tr",
          {},
          el("td", {}, el("b", {}, "wall clock")),
          el("td", { class: "n" }, el("b", {}, time(whole / steps))),
          el("td", { class: "n" }, "100.0%"),
        ),
      ),
    );
    return [bar, el("div", { class: "wide", style: { "max-width": "520px" } }, table)];
  },
  steps(phases) {
    const root = el("div", { class: "frame" }),
      outliers = new Set(phases.outlier),
      most = Math.max(...phases.length);
    const left = 62,
      bottom = 20,
      top = 8;
    let at = -1;
    const place = (width) => (i) => left + ((width - left - 8) * (i + 0.5)) / phases.number.length;
    const view = canvasIn(root, 180, (g, width, height) => {
      const x = place(width),
        y = (v) => height - bottom - ((height - bottom - top) * v) / most,
        bar = Math.max(1, ((width - left - 8) / phases.number.length) * 0.8);
      g.font = "11px system-ui";
      g.fillStyle = cssVariable("--soft");
      g.textAlign = "right";
      for (let v = 0, step = niceStep(most, 4); v <= most; v += step) {
        g.fillText(time(v), left - 6, y(v) + 4);
        g.fillStyle = cssVariable("--line");
        g.fillRect(left, y(v), width - left - 8, 1);
        g.fillStyle = cssVariable("--soft");
      }
      phases.by_step.forEach((parts, i) => {
        let sum = 0;
        parts.forEach((ns, p) => {
          if (!ns) return;
          g.fillStyle = PHASE_COLOURS[p];
          g.fillRect(x(i) - bar / 2, y(sum + ns), bar, y(sum) - y(sum + ns));
          sum += ns;
        });
        if (outliers.has(i)) {
          g.fillStyle = cssVariable("--hot");
          g.beginPath();
          g.arc(x(i), Math.max(y(sum) - 5, 5), 3, 0, 7);
          g.fill();
        }
        if (i === at) {
          g.strokeStyle = cssVariable("--ink");
          g.strokeRect(x(i) - bar / 2 - 1, y(sum) - 1, bar + 2, y(0) - y(sum) + 2);
        }
      });
      g.fillStyle = cssVariable("--hot");
      g.fillRect(left, y(phases.median_ns), width - left - 8, 1);
      g.fillStyle = cssVariable("--soft");
      g.textAlign = "center";
      const every = Math.max(1, Math.ceil(phases.number.length / Math.max(width / 60, 1)));
      for (let i = 0; i < phases.number.length; i += every) g.fillText(phases.number[i], x(i), height - 6);
    });
    const describe = (i) =>
      `step ${phases.number[i]}: ${time(phases.length[i])}${outliers.has(i) ? ", an outlier" : ""}\n` +
      phases.by_step[i]
        .map((ns, p) => (ns ? `${phases.labels[p]} ${time(ns)}` : ""))
        .filter(Boolean)
        .join(", ");
    view.canvas.setAttribute("role", "img");
    view.canvas.setAttribute("aria-label", `Length of ${phases.count} steps, ${outliers.size} outliers`);
    view.canvas.addEventListener("pointermove", (event) => {
      const box = view.canvas.getBoundingClientRect();
      at = Math.max(
        0,
        Math.min(
          phases.number.length - 1,
          Math.floor(((event.clientX - box.left - left) / (box.width - left - 8)) * phases.number.length),
        ),
      );
      view.redraw();
      showTip(event.clientX, event.clientY, describe(at) + "\nclick: show it in the timeline");
    });
    view.canvas.addEventListener("pointerleave", () => {
      at = -1;
      view.redraw();
      hideTip();
    });
    view.canvas.addEventListener("click", () => {
      if (at >= 0) go("timeline", { from: phases.start[at], to: phases.start[at] + phases.length[at] });
    });
    view.canvas.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        at = Math.max(0, Math.min(phases.number.length - 1, at + (event.key === "ArrowRight" ? 1 : -1)));
        view.redraw();
        const box = view.canvas.getBoundingClientRect();
        showTip(box.left + place(box.width)(at), box.top + 40, describe(at));
        event.preventDefault();
      }
      if (event.key === "Enter" && at >= 0)
        go("timeline", { from: phases.start[at], to: phases.start[at] + phases.length[at] });
    });
    return el(
      "div",
      {},
      el(
        "p",
        { class: "soft" },
        `Median ${time(phases.median_ns)} (the line). ${outliers.size ? outliers.size + " outliers are marked." : "No outliers."}` +
          (phases.source === "optimizer" ? " A step ends where Optimizer.step ends." : ""),
      ),
      root,
    );
  },
});

function facts(values) {
  return el(
    "dl",
    { class: "facts" },
    Object.entries(values).map(([key, value]) => [el("dt", {}, key.replace(/_/g, " ")), el("dd", {}, String(value))]),
  );
}
