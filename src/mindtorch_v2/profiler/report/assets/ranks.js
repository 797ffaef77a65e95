// All ranks of a job: who waits for whom, where each rank's time goes, imbalance, bandwidths, clocks.
const RANK_PARTS = [
  ["compute_ns", "compute", "#2f6fd0"],
  ["transfer_ns", "transfer", "#b45309"],
  ["waiting_ns", "waiting", "#a3324e"],
  ["input_ns", "input", "#0f8a6d"],
  ["other_ns", "other", "#9ca3af"],
];
SECTIONS.unshift({
  id: "ranks",
  title: "Ranks",
  has: () => Boolean(P.ranks),
  render(root) {
    const job = P.ranks;
    root.append(
      el("h2", {}, "All ranks"),
      el(
        "div",
        { class: "card verdict", id: "ranks-verdict" },
        el("strong", {}, job.verdict),
        el(
          "ul",
          {},
          job.problems.concat(P.left_out).map((text) => el("li", {}, text)),
        ),
      ),
      el("h3", {}, "Time by rank"),
      this.legend(),
      this.times(job.time_by_rank),
    );
    if (job.imbalance.length) root.append(el("h3", {}, "Imbalance"), this.imbalance(job.imbalance));
    if (job.bandwidths.length) root.append(el("h3", {}, "Collectives"), this.bandwidths(job.bandwidths));
    root.append(el("h3", {}, "Clocks"), this.clocks(job.alignment));
  },
  legend() {
    return el(
      "p",
      { class: "soft" },
      RANK_PARTS.map(([, label, colour]) => [el("i", { class: "swatch", style: { background: colour } }), label + "  "]),
    );
  },
  times(rows) {
    const bar = (row) =>
      el(
        "div",
        {
          class: "stack",
          role: "img",
          "aria-label": RANK_PARTS.map(([key, label]) => `${label} ${percent(row[key], row.wall_ns)}`).join(", "),
        },
        RANK_PARTS.filter(([key]) => row[key] > 0).map(([key, label, colour]) =>
          el("div", {
            style: { width: (100 * row[key]) / Math.max(row.wall_ns, 1) + "%", background: colour },
            title: `${label}: ${time(row[key])}, ${percent(row[key], row.wall_ns)}`,
          }),
        ),
      );
    const heads = ["Rank", ...RANK_PARTS.map(([, label]) => label), "all", ""];
    return el(
      "div",
      { class: "wide" },
      el(
        "table",
        { "aria-label": "Time by rank" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            heads.map((head) => el("th", { class: "n", scope: "col" }, head)),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map((row) =>
            el(
              "tr",
              {},
              el("td", { class: "n" }, String(row.rank)),
              RANK_PARTS.map(([key]) => el("td", { class: "n" }, time(row[key]))),
              el("td", { class: "n" }, time(row.wall_ns)),
              el("td", { style: { "min-width": "220px" } }, bar(row)),
            ),
          ),
        ),
      ),
    );
  },
  imbalance(rows) {
    return makeTable(
      [
        { title: "Module or operator", value: (row) => row.name, name: true },
        { title: "Slowest less mean", value: (row) => row.excess_ns, text: (row) => time(row.excess_ns) },
        { title: "Mean", value: (row) => row.mean_ns, text: (row) => time(row.mean_ns) },
        { title: "Slowest", value: (row) => row.slowest_ns, text: (row) => time(row.slowest_ns) },
        { title: "Slowest / mean", value: (row) => row.ratio, text: (row) => row.ratio.toFixed(2) },
        { title: "Slowest rank", value: (row) => row.slowest_rank, text: (row) => String(row.slowest_rank) },
      ],
      rows,
      { label: "Imbalance", sort: 1, limit: 20 },
    ).root;
  },
  bandwidths(rows) {
    return makeTable(
      [
        { title: "Collective", value: (row) => row.name, name: true },
        { title: "Bytes", value: (row) => row.nbytes, text: (row) => (row.nbytes ? bytes(row.nbytes) : "–") },
        { title: "Ranks", value: (row) => row.size, text: (row) => String(row.size) },
        { title: "Count", value: (row) => row.times, text: (row) => count(row.times) },
        { title: "Median transfer", value: (row) => row.transfer_ns, text: (row) => time(row.transfer_ns) },
        { title: "Algorithm bandwidth", value: (row) => row.algorithm, text: (row) => scaled(row.algorithm, "B/s") },
        { title: "Bus bandwidth", value: (row) => row.bus, text: (row) => scaled(row.bus, "B/s") },
      ],
      rows,
      { label: "Collectives", sort: 1, limit: 20 },
    ).root;
  },
  clocks(rows) {
    return makeTable(
      [
        { title: "Rank", value: (row) => row.rank, text: (row) => String(row.rank) },
        { title: "Host", value: (row) => row.host, name: true },
        { title: "Offset", value: (row) => row.offset_ns, text: (row) => time(row.offset_ns) },
        {
          title: "Give or take",
          value: (row) => (row.uncertainty_ns === null ? Infinity : row.uncertainty_ns),
          text: (row) => (row.uncertainty_ns === null ? "not aligned" : time(row.uncertainty_ns)),
        },
        { title: "Known from", value: (row) => row.source, text: (row) => row.source },
      ],
      rows,
      { label: "Clocks", sort: 0, descending: false, limit: 20, search: false },
    ).root;
  },
});
