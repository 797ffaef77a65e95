// Every event in time, on a canvas: what is narrower than a pixel is skipped by binary search, so the cost of drawing is that of the pixels.
SECTIONS.push({
  id: "timeline",
  title: "Timeline",
  has: () => P.timeline.count > 0,
  render(root) {
    const tall = 17,
      gutter = Math.min(130, Math.round(innerWidth * 0.2)),
      top = 34,
      counterHeight = 46;
    const search = el("input", {
      type: "search",
      placeholder: "Search events",
      "aria-label": "Search events",
      "data-search": true,
    });
    const info = el("span", { class: "soft", id: "timeline-found", role: "status" }),
      frame = el("div", { class: "frame" }),
      panel = el("div", { class: "card", id: "timeline-details", "aria-live": "polite" });
    root.append(
      el("h2", {}, "Timeline"),
      el(
        "div",
        { class: "tools" },
        search,
        el("button", { type: "button", onclick: () => step(-1) }, "◀"),
        el("button", { type: "button", onclick: () => step(1) }, "▶"),
        el("button", { type: "button", onclick: () => zoom(0.5) }, "+"),
        el("button", { type: "button", onclick: () => zoom(2) }, "−"),
        el("button", { type: "button", onclick: () => fit() }, "All"),
        info,
      ),
      frame,
      panel,
      el(
        "p",
        { class: "faint noprint" },
        "Drag to move; ctrl + wheel or pinch to zoom; w s a d or arrows from the keyboard; f zooms to the selected event; 0 shows all.",
      ),
    );
    let T = null,
      from = 0,
      span = Math.max(P.window_ns, 1),
      scroll = 0,
      selected = -1,
      rows = [],
      tallest = 0,
      hits = null,
      hitNames = null;
    const ready = unpackTimeline(P.timeline).then((made) => {
      T = made;
      arrange();
      view.redraw();
      return made;
    });
    this.ready = ready;

    // Tracks from top to bottom, each as high as it is deep; then the memory counters.
    const arrange = () => {
      let y = top;
      rows = T.data.tracks
        .map((track, i) => ({ ...track, i }))
        .filter((track) => track.depth > 0)
        .map((track) => {
          const row = { ...track, y, height: track.depth * tall + 8 };
          y += row.height;
          return row;
        });
      for (const use of P.memory) {
        rows.push({ name: "memory " + use.device, kind: "counter", use, y, height: counterHeight });
        y += counterHeight;
      }
      tallest = y;
      const rowOfTrack = new Map(rows.filter((row) => row.i !== undefined).map((row) => [row.i, row]));
      for (const lane of T.lanes) lane.row = rowOfTrack.get(lane.track);
    };
    const view = canvasIn(
      frame,
      () => Math.max(220, Math.min(T ? tallest + 6 : 300, innerHeight - 260)),
      (g, width, height) => {
        if (!T) {
          g.fillStyle = cssVariable("--soft");
          g.fillText("Unpacking events…", 20, 40);
          return;
        }
        const scale = (width - gutter) / span,
          x = (t) => gutter + (t - from) * scale;
        g.font = "11px system-ui";
        g.textBaseline = "middle";
        g.save();
        g.beginPath();
        g.rect(gutter, top, width - gutter, height - top);
        g.clip();
        g.translate(0, -scroll);
        for (const lane of T.lanes) drawLane(g, lane, x, scale, width, height);
        for (const row of rows) if (row.kind === "counter") drawCounter(g, row, x, width);
        drawFlows(g, x);
        g.restore();
        drawRuler(g, x, width);
        drawLabels(g, height);
      },
    );
    const drawLane = (g, lane, x, scale, width, height) => {
      const y = lane.row.y + lane.depth * tall + 3;
      if (y - scroll + tall < top || y - scroll > height) return;
      const { start, length, kind, name, merged } = T,
        until = from + span,
        pixel = 1 / scale;
      let i = Math.max(lane.first, firstAfter(start, lane.first, lane.last, from) - 1);
      while (i < lane.last && start[i] < until) {
        const wide = length[i] * scale,
          left = Math.max(x(start[i]), gutter),
          right = Math.min(x(start[i]) + wide, width);
        if (wide < 1) {
          const bright = hits && hitInside(i, firstAfter(start, i, lane.last, start[i] + pixel));
          g.fillStyle = bright ? cssVariable("--hot") : KIND_COLOURS[kind[i]];
          g.globalAlpha = hits && !bright ? 0.25 : 0.75;
          g.fillRect(left, y, 1, tall - 2);
          const next = firstAfter(start, i + 1, lane.last, start[i] + pixel);
          i = next - 1 > i && start[next - 1] + length[next - 1] > start[i] + pixel ? next - 1 : next; // one that begins inside this pixel may reach far out of it
          continue;
        }
        if (right > left) {
          g.globalAlpha = hits && !(hitNames[name[i]] && !merged[i]) ? 0.25 : merged[i] ? 0.35 : 1;
          g.fillStyle = KIND_COLOURS[kind[i]];
          g.fillRect(left, y, Math.max(right - left - (wide > 3 ? 0.5 : 0), 0.7), tall - 2);
          if (i === selected) {
            g.globalAlpha = 1;
            g.strokeStyle = cssVariable("--ink");
            g.lineWidth = 2;
            g.strokeRect(left, y, right - left, tall - 2);
          }
          if (right - left > 26) {
            g.globalAlpha = 1;
            g.save();
            g.beginPath();
            g.rect(left, y, right - left - 3, tall);
            g.clip();
            g.fillStyle = merged[i] ? cssVariable("--ink") : "#fff";
            g.fillText(T.nameOf(i), left + 4, y + tall / 2 - 1);
            g.restore();
          }
        }
        i++;
      }
      g.globalAlpha = 1;
    };
    const hitInside = (a, b) => {
      for (let i = a; i < b; i++) if (hitNames[T.name[i]] && !T.merged[i]) return true;
      return false;
    };
    const drawCounter = (g, row, x, width) => {
      const { times, totals, peak } = row.use,
        base = row.y + row.height - 6,
        y = (v) => base - ((row.height - 12) * v) / Math.max(peak, 1);
      g.fillStyle = CATEGORY_COLOURS.activation;
      g.globalAlpha = 0.7;
      g.beginPath();
      g.moveTo(x(times[0] || 0), base);
      let value = 0;
      for (let k = 0; k < times.length; k++) {
        g.lineTo(x(times[k]), y(value));
        value = totals.reduce((sum, column) => sum + column[k], 0);
        g.lineTo(x(times[k]), y(value));
      }
      g.lineTo(x(P.window_ns), y(value));
      g.lineTo(x(P.window_ns), base);
      g.fill();
      g.globalAlpha = 1;
      g.fillStyle = cssVariable("--soft");
      g.fillText("peak " + bytes(peak), Math.max(x(0), gutter) + 4, row.y + 10);
    };
    const middleOf = (i) => {
      const lane = T.laneOf(i);
      return lane.row.y + lane.depth * tall + 3 + tall / 2;
    };
    const drawFlows = (g, x) => {
      g.strokeStyle = cssVariable("--hot");
      g.lineWidth = 1.5;
      for (const { other, incoming } of (selected >= 0 && T.flows.get(selected)) || []) {
        const [a, b] = incoming ? [other, selected] : [selected, other],
          x1 = x(T.start[a] + T.length[a]),
          x2 = x(T.start[b]);
        g.beginPath();
        g.moveTo(x1, middleOf(a));
        g.bezierCurveTo(x1 + 30, middleOf(a), x2 - 30, middleOf(b), x2, middleOf(b));
        g.stroke();
        g.fillStyle = g.strokeStyle;
        g.beginPath();
        g.arc(x2, middleOf(b), 3, 0, 7);
        g.fill();
      }
    };
    const drawRuler = (g, x, width) => {
      g.fillStyle = cssVariable("--ground");
      g.fillRect(0, 0, width, top);
      g.fillStyle = cssVariable("--soft");
      g.textAlign = "center";
      const gap = niceStep(span, (width - gutter) / 110);
      for (let t = Math.ceil(from / gap) * gap; t < from + span; t += gap) {
        g.fillRect(x(t), 15, 1, 5);
        g.fillText(moment(t, gap), x(t), 8);
      }
      const { number, start, length } = P.phases;
      if (P.phases.count > 1)
        for (let i = 0; i < number.length; i++) {
          const a = Math.max(x(start[i]), gutter),
            b = Math.min(x(start[i] + length[i]), width);
          if (b - a < 2) continue;
          g.fillStyle = i % 2 ? cssVariable("--bar") : cssVariable("--line");
          g.fillRect(a, 21, b - a - 1, 12);
          if (b - a > 24) {
            g.fillStyle = cssVariable("--ink");
            g.fillText((b - a > 60 ? "step " : "") + number[i], (a + b) / 2, 27);
          }
        }
      g.textAlign = "left";
    };
    const drawLabels = (g, height) => {
      g.fillStyle = cssVariable("--raised");
      g.fillRect(0, top, gutter - 2, height - top);
      g.fillStyle = cssVariable("--ink");
      g.save();
      g.beginPath();
      g.rect(0, top, gutter - 6, height - top);
      g.clip();
      for (const row of rows) {
        const y = row.y - scroll;
        g.fillText(row.name, 6, y + 11);
        g.fillStyle = cssVariable("--line");
        g.fillRect(0, y + row.height - 1, gutter, 1);
        g.fillStyle = cssVariable("--ink");
      }
      g.restore();
    };

    // ---- moving ----
    const clamp = () => {
      span = Math.max(20, Math.min(span, P.window_ns * 1.2 + 1000));
      from = Math.max(-span * 0.5, Math.min(from, P.window_ns - span * 0.5));
      scroll = Math.max(0, Math.min(scroll, tallest - (view.canvas.clientHeight || 300)));
      view.redraw();
    };
    const zoom = (factor, at = 0.5) => {
      const t = from + span * at;
      span = Math.max(20, Math.min(span * factor, P.window_ns * 1.2 + 1000));
      from = t - span * at;
      clamp();
    };
    const fit = () => {
      from = 0;
      span = Math.max(P.window_ns, 20);
      clamp();
    };
    const showRange = (a, b) => {
      span = Math.max((b - a) * 1.1, 20);
      from = a - (b - a) * 0.05;
      clamp();
    };
    const select = (i, moves) => {
      selected = i;
      tellAbout(i);
      if (i >= 0 && moves) {
        const lane = T.laneOf(i),
          y = lane.row.y + lane.depth * tall,
          height = view.canvas.clientHeight || 300;
        if (T.start[i] < from || T.start[i] + T.length[i] > from + span || T.length[i] < span / 200)
          showRange(T.start[i] - T.length[i] * 2, T.start[i] + T.length[i] * 3);
        if (y - scroll < top || y - scroll > height - tall) scroll = y - height / 2;
        clamp();
      }
      view.redraw();
    };
    const tellAbout = (i) => {
      if (i < 0) {
        panel.replaceChildren(el("span", { class: "soft" }, "Click an event to see what it is."));
        return;
      }
      const lane = T.laneOf(i),
        step = P.phases.start.findIndex((s, k) => s <= T.start[i] && T.start[i] < s + P.phases.length[k]);
      const values = {
        start: time(T.start[i]) + ` (${count(T.start[i])} ns)`,
        duration: time(T.length[i]) + ` (${count(T.length[i])} ns)`,
        track: lane.row.name,
      };
      if (P.phases.count > 1 && step >= 0) values.step = P.phases.number[step];
      if (T.shapes[i]) values.shapes = T.data.shapes[T.shapes[i] - 1];
      if (T.lines[i]) values.line = T.data.lines[T.lines[i] - 1];
      const links = (T.flows.get(i) || []).map(({ other, incoming }) =>
        el(
          "button",
          { type: "button", onclick: () => select(other, true) },
          `${incoming ? "from" : "to"} ${T.nameOf(other)}`,
        ),
      );
      const known = !T.merged[i] && P.operators.rows.some((row) => row[0] === T.nameOf(i));
      panel.replaceChildren(
        el("h4", {}, el("code", {}, T.nameOf(i))),
        facts(values),
        el(
          "div",
          { class: "events" },
          links,
          known ? el("a", { href: "#operators?name=" + encodeURIComponent(T.nameOf(i)) }, "all calls of it") : null,
        ),
      );
    };
    const eventAt = (px, py) => {
      if (!T || px < gutter || py < top) return -1;
      const width = view.canvas.clientWidth,
        pixel = span / (width - gutter),
        t = from + (px - gutter) * pixel,
        y = py + scroll;
      for (const lane of T.lanes) {
        const at = lane.row.y + lane.depth * tall + 3;
        if (y < at || y >= at + tall) continue;
        for (let i = firstAfter(T.start, lane.first, lane.last, t + pixel); --i >= lane.first && T.start[i] > t - span;)
          if (T.start[i] + T.length[i] >= t - pixel) return i;
          else if (T.start[i] < t - 2 * pixel) break;
      }
      return -1;
    };
    const pointers = new Map();
    let moved = 0,
      pinch = 0;
    const spot = (event) => {
      const box = view.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    view.canvas.setAttribute("aria-label", "Timeline of all events");
    view.canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, spot(event));
      moved = 0;
      view.canvas.setPointerCapture(event.pointerId);
      hideTip();
    });
    view.canvas.addEventListener("pointermove", (event) => {
      const [x, y] = spot(event),
        before = pointers.get(event.pointerId);
      if (!before) {
        const i = eventAt(x, y);
        if (i >= 0) showTip(event.clientX, event.clientY, `${T.nameOf(i)}\n${time(T.length[i])}`);
        else hideTip();
        return;
      }
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1],
          distance = Math.abs(x - other[0]) + 1;
        if (pinch) zoom(pinch / distance, ((x + other[0]) / 2 - gutter) / (view.canvas.clientWidth - gutter));
        pinch = distance;
      } else {
        from -= ((x - before[0]) * span) / (view.canvas.clientWidth - gutter);
        scroll -= y - before[1];
        moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
        clamp();
      }
      pointers.set(event.pointerId, [x, y]);
    });
    const lift = (event) => {
      if (pointers.delete(event.pointerId) && moved < 4 && event.type === "pointerup")
        select(eventAt(...spot(event)), false);
      pinch = 0;
    };
    view.canvas.addEventListener("pointerup", lift);
    view.canvas.addEventListener("pointercancel", lift);
    view.canvas.addEventListener("pointerleave", hideTip);
    view.canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey)
          zoom(Math.exp(event.deltaY * 0.002), (spot(event)[0] - gutter) / (view.canvas.clientWidth - gutter));
        else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          from += ((event.deltaX || event.deltaY) * span) / view.canvas.clientWidth;
          clamp();
        } else if (tallest > view.canvas.clientHeight) {
          const was = scroll;
          scroll += event.deltaY;
          clamp();
          if (scroll === was) return;
        } else return;
        event.preventDefault();
      },
      { passive: false },
    );
    view.canvas.addEventListener("keydown", (event) => {
      const pan = (part) => {
        from += span * part;
        clamp();
      };
      const actions = {
        w: () => zoom(0.7),
        s: () => zoom(1.4),
        a: () => pan(-0.15),
        d: () => pan(0.15),
        ArrowLeft: () => pan(-0.15),
        ArrowRight: () => pan(0.15),
        "+": () => zoom(0.7),
        "-": () => zoom(1.4),
        ArrowUp: () => {
          scroll -= 40;
          clamp();
        },
        ArrowDown: () => {
          scroll += 40;
          clamp();
        },
        f: () => selected >= 0 && showRange(T.start[selected], T.start[selected] + T.length[selected]),
        0: fit,
        n: () => step(1),
        p: () => step(-1),
        Escape: () => select(-1),
      };
      if (actions[event.key] && !event.ctrlKey && !event.metaKey) {
        actions[event.key]();
        event.preventDefault();
        event.stopPropagation();
      }
    });

    // ---- searching ----
    const find = () => {
      const text = search.value.toLowerCase();
      hits = null;
      if (text && T) {
        hitNames = [false, ...T.data.names.map((name) => name.toLowerCase().includes(text))];
        hits = [];
        for (let i = 0; i < T.size; i++) if (hitNames[T.name[i]] && !T.merged[i]) hits.push(i);
        hits.sort((a, b) => T.start[a] - T.start[b]);
      }
      info.textContent = hits ? `${count(hits.length)} events` : "";
      view.redraw();
    };
    const step = (by) => {
      if (!hits || !hits.length) return;
      const now = selected >= 0 ? T.start[selected] : from,
        index = hits.indexOf(selected);
      const next =
        index >= 0
          ? (index + by + hits.length) % hits.length
          : Math.max(
              0,
              hits.findIndex((i) => T.start[i] >= now),
            );
      select(hits[next], true);
      info.textContent = `${next + 1} of ${count(hits.length)} events`;
    };
    search.addEventListener("input", find);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    });
    tellAbout(-1);
    this.api = {
      ready,
      select,
      showRange,
      find: (text) => {
        search.value = text;
        find();
      },
      state: () => ({ from, span, scroll, selected, hits: hits ? hits.length : -1 }),
      eventAt,
      zoom,
    };
  },
  show(args) {
    this.api.ready.then(() => {
      if (args.get("event")) this.api.select(Number(args.get("event")), true);
      if (args.get("from")) this.api.showRange(Number(args.get("from")), Number(args.get("to")));
      if (args.get("find")) this.api.find(args.get("find"));
    });
  },
});
