// Which holds the timeline shows, and where.

const LANES_MAX = 4;

/**
 * A row for each lock that was held in the window, those with most hand-offs first; its bars as shares of the window.
 * @param {Iterable<import('./store.js').Hold>} holds
 */
export function timelineRows(holds, { now, windowMs, rowsMax }) {
  const from = now - windowMs;
  const rows = new Map();
  for (const hold of holds) {
    const end = hold.to ?? now;
    if (end < from) continue;
    if (!rows.has(hold.key)) rows.set(hold.key, { key: hold.key, name: hold.name, bars: [], latest: 0 });
    const row = rows.get(hold.key);
    row.latest = Math.max(row.latest, hold.to === null ? now : end);
    row.bars.push({
      token: hold.token,
      owner: hold.owner,
      left: Math.max(0, (hold.from - from) / windowMs),
      width: (Math.min(end, now) - Math.max(hold.from, from)) / windowMs,
      isOpen: hold.to === null,
      ending: hold.ending,
      ms: end - hold.from,
    });
  }
  for (const row of rows.values()) giveLanes(row);
  const all = [...rows.values()].sort(
    (a, b) => b.bars.length - a.bars.length || b.latest - a.latest || (a.name < b.name ? -1 : 1),
  );
  return { rows: all.slice(0, rowsMax), more: Math.max(0, all.length - rowsMax) };
}

// Who holds together with others is drawn below them; beyond a few lanes the rest share the last.
function giveLanes(row) {
  const ends = [];
  row.bars.sort((a, b) => a.left - b.left || a.token - b.token);
  for (const bar of row.bars) {
    // What is handed over is granted in the same moment, give or take a rounding.
    const free = ends.findIndex((end) => end <= bar.left + 1e-9);
    bar.lane = free < 0 ? Math.min(ends.length, LANES_MAX - 1) : free;
    ends[bar.lane] = Math.max(ends[bar.lane] ?? 0, bar.left + bar.width);
  }
  row.lanes = ends.length;
}

/** One of eight colours for an owner, always the same one. */
export function colourOf(owner) {
  let hash = 0;
  for (const letter of owner) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return hash % 8;
}
