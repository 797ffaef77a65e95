// Findings: the rule, its evidence, events to look at, what to do.
SECTIONS.push({
  id: "advice",
  title: "Advice",
  has: () => !P.ranks,
  badge: () => P.advice.length || "",
  render(root) {
    root.append(el("h2", {}, "Advice"));
    if (!P.advice.length) {
      root.append(el("p", {}, "No rule found anything to improve."));
      return;
    }
    root.append(
      el(
        "p",
        { class: "soft" },
        "Gains are upper bounds: never more than the time that was measured on what a finding is about.",
      ),
    );
    for (const finding of P.advice)
      root.append(
        el(
          "article",
          { class: "card finding", id: "finding-" + finding.rule },
          el(
            "span",
            { class: "gain" },
            finding.gain_ns
              ? `at most ${time(finding.gain_ns)} (${percent(finding.share, 1)})`
              : finding.gain_bytes
                ? bytes(finding.gain_bytes)
                : "",
          ),
          el("h3", {}, finding.title),
          el(
            "ul",
            {},
            finding.evidence.map((text) => el("li", {}, text)),
          ),
          el("p", {}, el("b", {}, "What to do: "), finding.todo),
          el(
            "div",
            { class: "events" },
            el("span", { class: "faint" }, "rule " + finding.rule),
            finding.events
              .slice(0, 8)
              .map((event, i) =>
                el(
                  "button",
                  { type: "button", onclick: () => go("timeline", { event }) },
                  i ? String(i + 1) : "show 1",
                ),
              ),
          ),
        ),
      );
  },
});
