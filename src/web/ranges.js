// The ranges of an inode, drawn to scale.

/** `range:7:0-4096` as {start, end}; without an end, Infinity. An inode as a whole is everything. */
export function parseRange(scope) {
  const match = /^range:\d+:(\d+)-(\d*)$/.exec(scope);
  if (!match) return { start: 0, end: Infinity };
  return { start: Number(match[1]), end: match[2] === '' ? Infinity : Number(match[2]) };
}

/** How far the drawing reaches: beyond the last byte anybody named, so that an open end is seen to go on. */
export function extentOf(ranges) {
  let extent = 0;
  for (const { start, end } of ranges) extent = Math.max(extent, end === Infinity ? start * 1.25 : end);
  return extent === 0 ? 4096 : extent;
}

/**
 * Where each item is drawn: its lane, and left and width as shares of the whole. Those that overlap get lanes of
 * their own.
 * @param {{start: number, end: number}[]} items
 */
export function layOut(items) {
  const extent = extentOf(items);
  const laneEnds = [];
  const order = items.map((item, index) => ({ item, index })).sort((a, b) => a.item.start - b.item.start);
  const places = new Array(items.length);
  for (const { item, index } of order) {
    let lane = laneEnds.findIndex((end) => end <= item.start);
    if (lane < 0) lane = laneEnds.length;
    laneEnds[lane] = item.end;
    const end = Math.min(item.end, extent);
    places[index] = {
      lane,
      left: item.start / extent,
      width: Math.max(0, end - item.start) / extent,
      isOpen: item.end === Infinity,
    };
  }
  return { extent, lanes: laneEnds.length, places };
}
