// Modules as a tree and as a treemap.
const TREEMAP_ASPECT = window.innerWidth > 760 ? 3 : 1;

SECTIONS.push({
  id: "modules",
  title: "Modules",
  has: () => P.modules.length > 0,
  render(root) {
    const nodes = P.modules.map(([label, depth, calls, forward, backward, bytesUsed, flops], i) => ({
      i,
      label,
      depth,
      calls,
      forward,
      backward,
      bytesUsed,
      flops,
      time: forward + backward,
      children: [],
      parent: null,
    }));
    const stack = [];
    for (const node of nodes) {
      stack.length = node.depth;
      node.parent = stack[node.depth - 1] || null;
      if (node.parent) node.parent.children.push(node);
      stack.push(node);
    }
    const roots = nodes.filter((node) => !node.parent),
      whole = roots.reduce((sum, node) => sum + node.time, 0);
    root.append(
      el("h2", {}, "Modules"),
      el(
        "p",
        { class: "soft" },
        "Times are those of operators; a backward function counts to the module of the operator that recorded it. Everything includes the modules inside; memory is what was allocated less what was freed.",
      ),
      this.treemap(roots, whole),
      this.tree(roots, whole),
    );
  },
  treemap(roots, whole) {
    const box = el("div", { class: "treemap" }),
      path = el("div", { class: "tools" });
    // The parts of a module, or of all: what is inside, largest first, and what it does itself.
    const parts = (parent) => {
      const items = (parent ? parent.children : roots).filter((node) => node.time > 0).sort((a, b) => b.time - a.time);
      const rest = parent ? parent.time - items.reduce((sum, node) => sum + node.time, 0) : 0;
      return [
        ...items.map((node) => ({ node, label: node.label, value: node.time })),
        ...(rest > 0 && items.length ? [{ node: null, label: "its own operators", value: rest }] : []),
      ];
    };
    const cells = (parent, depth) =>
      squares(parts(parent), 0, 0, 100 * TREEMAP_ASPECT, 100).flatMap(({ item, x, y, w, h }) => {
        const inside = item.node && depth ? cells(item.node, depth - 1) : [];
        const style = { left: x / TREEMAP_ASPECT + "%", top: y + "%", width: w / TREEMAP_ASPECT + "%", height: h + "%" };
        const button = el(
          "button",
          {
            type: "button",
            title: `${item.label}\n${time(item.value)}, ${percent(item.value, whole)}`,
            style: { background: hashColour(item.label) },
            onclick: () => {
              if (item.node && item.node.children.length) show(item.node);
              else if (parent && parent !== shown) show(parent);
            },
          },
          `${item.label} ${percent(item.value, whole)}`,
        );
        return el("div", { style }, button, inside.length ? el("div", { class: "inside" }, inside) : null);
      });
    let shown = null;
    const show = (parent) => {
      shown = parent;
      path.replaceChildren(
        ...(parent
          ? [el("button", { type: "button", onclick: () => show(parent.parent) }, "↑ up"), el("span", {}, parent.label)]
          : [el("span", { class: "soft" }, "Click a module to go inside.")]),
      );
      box.replaceChildren(...cells(parent, 1));
    };
    const first = roots[0];
    show(first && first.children.length && (roots.length === 1 || first.time > 0.8 * whole) ? first : null);
    return el("div", {}, path, box);
  },
  tree(roots, whole) {
    const body = el("tbody"),
      open = new Set(roots.concat(roots.flatMap((node) => node.children))),
      flops = P.modules.some((row) => row[6]),
      memory = P.modules.some((row) => row[5]);
    const titles = [
      "Module",
      "Calls",
      "Forward",
      "Backward",
      "Share",
      ...(memory ? ["Memory"] : []),
      ...(flops ? ["FLOPs"] : []),
    ];
    const lines = (node) => [
      el(
        "tr",
        {},
        el(
          "td",
          { class: "name" },
          "  ".repeat(node.depth),
          node.children.length
            ? el(
                "button",
                {
                  type: "button",
                  class: "toggle",
                  "aria-expanded": String(open.has(node)),
                  onclick: () => {
                    if (!open.delete(node)) open.add(node);
                    fill();
                  },
                },
                open.has(node) ? "▾" : "▸",
              )
            : "  ",
          node.label,
        ),
        el("td", { class: "n" }, count(node.calls)),
        el("td", { class: "n" }, time(node.forward)),
        el("td", { class: "n" }, time(node.backward)),
        el(
          "td",
          { class: "n share", style: { "--part": (100 * node.time) / Math.max(whole, 1) + "%" } },
          percent(node.time, whole),
        ),
        memory ? el("td", { class: "n" }, bytes(node.bytesUsed)) : null,
        flops ? el("td", { class: "n" }, node.flops ? scaled(node.flops, "FLOP") : "–") : null,
      ),
      ...(open.has(node) ? node.children.flatMap(lines) : []),
    ];
    const fill = () => body.replaceChildren(...roots.flatMap(lines));
    fill();
    return el(
      "div",
      { class: "wide" },
      el(
        "table",
        { class: "tree", "aria-label": "Modules" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            titles.map((t, i) => el("th", { class: i ? "n" : "", scope: "col" }, t)),
          ),
        ),
        body,
      ),
    );
  },
});

// A squarified treemap of items in the order of falling values: rows are filled while that makes their pieces squarer.
function squares(items, x, y, w, h) {
  const placed = [];
  let left = items.slice(),
    rest = left.reduce((sum, item) => sum + item.value, 0);
  while (left.length && rest > 0) {
    const across = w >= h,
      side = across ? h : w,
      area = (w * h) / rest;
    let take = 1,
      sum = left[0].value;
    const worst = (n, total) => {
      const thick = (total * area) / side;
      return Math.max(
        ...left.slice(0, n).map((item) => {
          const long = (item.value * area) / thick;
          return Math.max(thick / long, long / thick);
        }),
      );
    };
    while (take < left.length && worst(take + 1, sum + left[take].value) <= worst(take, sum)) sum += left[take++].value;
    const thick = (sum * area) / side;
    let at = 0;
    for (const item of left.slice(0, take)) {
      const long = (side * item.value) / sum;
      placed.push(across ? { item, x, y: y + at, w: thick, h: long } : { item, x: x + at, y, w: long, h: thick });
      at += long;
    }
    if (across) {
      x += thick;
      w -= thick;
    } else {
      y += thick;
      h -= thick;
    }
    left = left.slice(take);
    rest -= sum;
  }
  return placed;
}
