// Unpacks the events of a timeline: deflated planes of bytes, lowest first (see timeline.py).
async function unpack(text, size, planes) {
  const binary = atob(text),
    packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const raw = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = planes > 4 ? new Float64Array(size) : new Uint32Array(size);
  let factor = 1;
  for (let plane = 0; plane < planes; plane++, factor *= 256) {
    const from = plane * size;
    for (let i = 0; i < size; i++) values[i] += raw[from + i] * factor;
  }
  return values;
}

// The events of a profile as columns: start and length in ns, name, kind, merged, shapes, lines; lanes with their ranges.
async function unpackTimeline(data) {
  const size = data.count,
    none = new Uint32Array(size);
  const [delta, length, merged, kind, name, shapes, lines, from, to] = await Promise.all([
    unpack(data.columns.start, size, 6),
    unpack(data.columns.length, size, 6),
    unpack(data.columns.merged, size, 3),
    unpack(data.columns.kind, size, 1),
    unpack(data.names_index, size, 3),
    data.shapes_index ? unpack(data.shapes_index, size, 3) : none,
    data.lines_index ? unpack(data.lines_index, size, 3) : none,
    unpack(data.flows.from, data.flows.count, 3),
    unpack(data.flows.to, data.flows.count, 3),
  ]);
  const start = delta,
    lanes = [];
  let at = 0;
  for (const [track, depth, events] of data.lanes) {
    for (let i = at + 1; i < at + events; i++) start[i] += start[i - 1];
    lanes.push({ track, depth, first: at, last: at + events });
    at += events;
  }
  const flows = new Map();
  const link = (a, b, incoming) => {
    if (!flows.has(a)) flows.set(a, []);
    flows.get(a).push({ other: b, incoming });
  };
  for (let i = 0; i < from.length; i++) {
    link(from[i], to[i], false);
    link(to[i], from[i], true);
  }
  const laneOf = (index) => {
    let low = 0,
      high = lanes.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lanes[middle].last <= index) low = middle + 1;
      else high = middle;
    }
    return lanes[low];
  };
  const nameOf = (index) =>
    merged[index]
      ? `${count(merged[index])} short events`
      : name[index]
        ? data.names[name[index] - 1]
        : "(name left out)";
  return { data, size, start, length, merged, kind, name, shapes, lines, lanes, flows, laneOf, nameOf };
}

// The first event of a lane that begins at or after a moment.
function firstAfter(start, from, to, moment) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (start[middle] < moment) from = middle + 1;
    else to = middle;
  }
  return from;
}
