// Flame graphs: by Python stack, by module, by operator tree. Width is time; a frame stands below its caller.
SECTIONS.push({
  id: "flame",
  title: "Flame graph",
  has: () => Object.keys(P.flames).length > 0,
  render(root) {
    const titles = { python: "Python stack", modules: "Modules", operators: "Operators" };
    const kinds = ["python", "modules", "operators"].filter((kind) => P.flames[kind]);
    const info = el("p", { class: "soft", id: "flame-info", role: "status" }),
      frame = el("div", { class: "frame" }),
      rowHeight = 18;
    let graph,
      zoom,
      at,
      found = "",
      matched = 0;
    const buttons = kinds.map((kind) =>
      el(
        "button",
        {
          type: "button",
          "aria-pressed": "false",
          onclick: () => {
            choose(kind);
            history.replaceState(null, "", "#flame?by=" + kind);
          },
        },
        titles[kind],
      ),
    );
    const search = el("input", {
      type: "search",
      placeholder: "Search frames",
      "aria-label": "Search frames",
      "data-search": true,
      oninput: () => {
        found = search.value.toLowerCase();
        mark();
        view.redraw();
      },
    });
    root.append(
      el("h2", {}, "Flame graph"),
      el(
        "div",
        { class: "tools" },
        buttons,
        search,
        el("button", { type: "button", onclick: () => zoomTo(-1) }, "Reset zoom"),
      ),
      el(
        "p",
        { class: "soft" },
        "Backward functions stand below the operator that recorded them; the dark part of a frame is time of backward passes. Click: zoom. Escape: back.",
      ),
      frame,
      info,
    );

    const layout = (kind) => {
      const data = P.flames[kind],
        size = data.name.length,
        total = data.own.slice(),
        back = data.backward.slice(),
        children = Array.from({ length: size + 1 }, () => []);
      for (let i = size - 1; i >= 0; i--) {
        const parent = data.parent[i];
        children[parent < 0 ? size : parent].push(i);
        if (parent >= 0) {
          total[parent] += total[i];
          back[parent] += back[i];
        }
      }
      const left = new Float64Array(size),
        depth = new Int32Array(size);
      const whole = children[size].reduce((sum, i) => sum + total[i], 0);
      const place = (list, from, level) => {
        for (const i of list.sort((a, b) => total[b] - total[a])) {
          left[i] = from;
          depth[i] = level;
          from += total[i];
        }
      };
      const stack = [size];
      place(children[size], 0, 0);
      while (stack.length)
        for (const i of children[stack.pop()]) {
          place(children[i], left[i], depth[i] + 1);
          stack.push(i);
        }
      return {
        data,
        total,
        back,
        children,
        left,
        depth,
        whole,
        size,
        deepest: depth.reduce((a, b) => Math.max(a, b), 0),
        hit: new Uint8Array(size),
      };
    };
    const choose = (kind) => {
      graph = layout(kind);
      zoom = -1;
      at = -1;
      kinds.forEach((k, i) => buttons[i].setAttribute("aria-pressed", String(k === kind)));
      mark();
      view.redraw();
      tell(-1);
    };
    const mark = () => {
      matched = 0;
      const names = graph.data.names.map((name) => found && name.toLowerCase().includes(found));
      const inside = new Uint8Array(graph.size);
      for (let i = 0; i < graph.size; i++) {
        const parent = graph.data.parent[i];
        graph.hit[i] = names[graph.data.name[i]] ? 1 : 0;
        inside[i] = parent >= 0 && (inside[parent] || graph.hit[parent]) ? 1 : 0;
      }
      for (let i = 0; i < graph.size; i++) if (graph.hit[i] && !inside[i]) matched += graph.total[i];
      tell(at);
    };
    const nameOf = (i) => graph.data.names[graph.data.name[i]];
    const tell = (i) => {
      if (i >= 0)
        info.textContent =
          `${nameOf(i)}: ${time(graph.total[i])} (${percent(graph.total[i], graph.whole)}), own ${time(graph.data.own[i])}` +
          `${graph.back[i] ? ", backward " + time(graph.back[i]) : ""}, ${count(graph.data.calls[i])} calls`;
      else
        info.textContent =
          `${time(graph.whole)} in all` +
          (found ? `; what matches takes ${time(matched)} (${percent(matched, graph.whole)})` : "");
    };
    const range = () => (zoom < 0 ? [0, graph.whole] : [graph.left[zoom], graph.total[zoom]]);
    const view = canvasIn(
      frame,
      () => Math.min(Math.max((graph ? graph.deepest + 1 : 4) * rowHeight + 4, 120), 1600),
      (g, width) => {
        const [from, span] = range(),
          scale = width / Math.max(span, 1),
          dark = document.documentElement.dataset.theme === "dark";
        g.font = "11px ui-monospace, monospace";
        g.textBaseline = "middle";
        for (let i = 0; i < graph.size; i++) {
          const x = (graph.left[i] - from) * scale,
            w = graph.total[i] * scale;
          if (x + w < 0 || x > width || w < 0.4) continue;
          const left = Math.max(x, 0),
            right = Math.min(x + w, width),
            y = graph.depth[i] * rowHeight + 1;
          g.globalAlpha = found && !graph.hit[i] ? 0.3 : 1;
          g.fillStyle = frameColour(i, dark);
          g.fillRect(left, y, Math.max(right - left - 0.5, 0.5), rowHeight - 1);
          if (graph.back[i]) {
            g.fillStyle = "rgba(40,10,70,0.35)";
            g.fillRect(
              Math.max(left, x + w - (w * graph.back[i]) / graph.total[i]),
              y,
              right - Math.max(left, x + w - (w * graph.back[i]) / graph.total[i]) - 0.5,
              rowHeight - 1,
            );
          }
          if (i === at) {
            g.strokeStyle = cssVariable("--ink");
            g.lineWidth = 2;
            g.strokeRect(left + 1, y, right - left - 2, rowHeight - 2);
          }
          if (right - left > 28) {
            g.save();
            g.beginPath();
            g.rect(left, y, right - left - 3, rowHeight);
            g.clip();
            g.fillStyle = "#fff";
            g.fillText(nameOf(i), left + 4, y + rowHeight / 2);
            g.restore();
          }
        }
        g.globalAlpha = 1;
      },
    );
    const frameColour = (i, dark) => {
      const name = nameOf(i);
      return name.includes("::") || name.includes("Backward")
        ? hashColour(name.split("(")[0])
        : `hsl(${18 + ((name.length * 7) % 28)} 52% ${dark ? 36 : 45}%)`;
    };
    const frameAt = (event) => {
      const box = view.canvas.getBoundingClientRect(),
        [from, span] = range(),
        t = from + ((event.clientX - box.left) / box.width) * span,
        level = Math.floor((event.clientY - box.top) / rowHeight);
      for (let i = 0; i < graph.size; i++)
        if (graph.depth[i] === level && graph.left[i] <= t && t < graph.left[i] + graph.total[i]) return i;
      return -1;
    };
    const zoomTo = (i) => {
      zoom = i;
      view.redraw();
      tell(i);
    };
    view.canvas.setAttribute("aria-label", "Flame graph; arrows move, Enter zooms, Escape goes back");
    view.canvas.addEventListener("pointermove", (event) => {
      const i = frameAt(event);
      if (i !== at) {
        at = i;
        view.redraw();
        tell(i);
      }
      if (i >= 0) showTip(event.clientX, event.clientY, info.textContent);
      else hideTip();
    });
    view.canvas.addEventListener("pointerleave", () => {
      at = -1;
      hideTip();
      view.redraw();
      tell(-1);
    });
    view.canvas.addEventListener("click", (event) => {
      const i = frameAt(event);
      if (i >= 0) zoomTo(i === zoom ? graph.data.parent[i] : i);
    });
    view.canvas.addEventListener("keydown", (event) => {
      const siblings = () => graph.children[at < 0 || graph.data.parent[at] < 0 ? graph.size : graph.data.parent[at]],
        place = () => siblings().indexOf(at);
      const moves = {
        ArrowDown: () => (at < 0 ? graph.children[graph.size][0] : graph.children[at][0]),
        ArrowUp: () => (at < 0 ? undefined : graph.data.parent[at]),
        ArrowRight: () => siblings()[place() + 1],
        ArrowLeft: () => siblings()[place() - 1],
      };
      if (moves[event.key]) {
        const next = moves[event.key]();
        if (next !== undefined && next >= 0) {
          at = next;
          view.redraw();
          tell(at);
        }
        event.preventDefault();
      }
      if (event.key === "Enter" && at >= 0) zoomTo(at);
      if (event.key === "Escape") zoomTo(zoom < 0 ? -1 : graph.data.parent[zoom]);
    });
    this.choose = (kind) => {
      if (kinds.includes(kind)) choose(kind);
    };
    this.find = (text) => {
      search.value = text;
      found = text.toLowerCase();
      mark();
      view.redraw();
    };
    choose(kinds.includes("python") ? "python" : kinds[0]);
  },
  show(args) {
    if (args.get("by")) this.choose(args.get("by"));
    if (args.get("find")) this.find(args.get("find"));
  },
});
