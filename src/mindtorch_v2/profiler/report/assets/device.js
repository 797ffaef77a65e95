// What devices did: busy and idle and why, streams, kernels, launches.
const BOUND_TEXTS = {
  device: "it was the slower one",
  host: "it mostly waited for the host",
  unknown: "launched work began late",
};
SECTIONS.push({
  id: "device",
  title: "Device",
  has: () => P.devices.length > 0,
  render(root) {
    root.append(el("h2", {}, "Device"), ...P.devices.flatMap((device) => this.one(device)));
  },
  one(device) {
    const { use } = device,
      whole = use.busy_ns + use.idle_ns,
      cards = [
        [time(use.busy_ns), `busy (${percent(use.busy_ns, whole)})`],
        [time(use.idle_ns), `idle (${percent(use.idle_ns, whole)})`],
        [count(use.work), "kernels, copies and fills"],
        [time(use.kernel_ns), "kernels"],
        [time(use.copy_ns), "copies and fills"],
        [time(use.overlap_ns), "of them hidden behind kernels"],
        [time(use.parallel_ns), "several streams at once"],
        [time(use.delay_ns), "median launch delay"],
      ];
    if (device.communication)
      cards.push([
        time(device.communication),
        `communication (${percent(device.communication_hidden, device.communication)} hidden)`,
      ]);
    const idle = Object.entries(device.idle),
      bar = el(
        "div",
        { class: "stack", role: "img", "aria-label": "Busy and idle time" },
        [
          ["busy", use.busy_ns, PHASE_COLOURS[0]],
          ...idle.map(([reason, ns], i) => [reason, ns, ["#b45309", "#9ca3af"][i]]),
        ]
          .filter(([, ns]) => ns > 0)
          .map(([label, ns, colour]) =>
            el(
              "div",
              { style: { width: (100 * ns) / whole + "%", background: colour }, title: `${label}: ${time(ns)}` },
              ns / whole > 0.12 ? `${label} ${percent(ns, whole)}` : "",
            ),
          ),
      );
    const names = ["5%", "25%", "50%", "75%", "95%", "longest"];
    const kernels = makeTable(
      [
        { title: "Kernel", name: true, value: (r) => r[0], text: (r) => r[0] },
        { title: "Kind", value: (r) => r[1] },
        { title: "Calls", number: true, value: (r) => r[2], text: (r) => count(r[2]) },
        { title: "Time", value: (r) => r[3], text: (r) => time(r[3]), share: (r) => r[3] / Math.max(use.busy_ns, 1) },
        { title: "Share of busy", value: (r) => r[3], text: (r) => percent(r[3], use.busy_ns) },
        { title: "p50", value: (r) => r[4], text: (r) => time(r[4]) },
        { title: "Max", value: (r) => r[5], text: (r) => time(r[5]) },
      ],
      device.kernels,
      {
        sort: 3,
        label: "kernels",
        details: (r) =>
          el(
            "div",
            {},
            el(
              "p",
              {},
              "Launched by ",
              el("a", { href: "#operators?name=" + encodeURIComponent(r[6]) }, r[6] || "(unknown)"),
            ),
            r[7] >= 0
              ? el(
                  "button",
                  { type: "button", onclick: () => go("timeline", { event: r[7] }) },
                  "Show the longest in the timeline",
                )
              : null,
          ),
      },
    );
    return [
      el(
        "h3",
        {},
        `Device ${use.device}: ${BOUND_TEXTS[device.bound]}`,
      ),
      el(
        "div",
        { class: "cards" },
        cards.map(([value, label]) =>
          el("div", { class: "card" }, el("b", {}, value), el("span", { class: "soft" }, label)),
        ),
      ),
      el("h4", {}, "From the first to the last piece of work"),
      bar,
      el(
        "p",
        { class: "soft" },
        idle.map(([reason, ns]) => `${reason}: ${time(ns)}`).join("; ") +
          `. Before its first work: ${time(device.before)}, after its last: ${time(device.after)}.`,
      ),
      el(
        "div",
        { class: "two" },
        el(
          "div",
          {},
          el("h4", {}, "Streams"),
          makeTable(
            [
              { title: "Stream", value: (r) => r[0] },
              { title: "Work", number: true, value: (r) => r[1], text: (r) => count(r[1]) },
              { title: "Busy", value: (r) => r[2], text: (r) => time(r[2]), share: (r) => r[2] / Math.max(whole, 1) },
            ],
            device.streams,
            { sort: 2, search: false, label: "streams" },
          ).root,
        ),
        el(
          "div",
          {},
          el("h4", {}, "From launch to start"),
          facts(Object.fromEntries(device.delays.map((ns, i) => [names[i], time(ns)]))),
          device.synchronisations.length ? el("h4", {}, "Waits of the host") : null,
          facts(
            Object.fromEntries(
              device.synchronisations.map(([name, calls, ns]) => [name, `${count(calls)}×, ${time(ns)}`]),
            ),
          ),
        ),
      ),
      el("h4", {}, "Kernels"),
      kernels.root,
    ];
  },
});
