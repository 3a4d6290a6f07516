// Which holds the timeline shows, and where.

import { clock, span } from './format.js';
import { endingText, keysOfHold } from './history.js';
import { listed } from './scopes.js';

const LANES_MAX = 4;

/**
 * A row for each lock that was held in the window, those with most hand-offs first; its bars as shares of the window.
 * A hold on several locks is in the row of each. The window ends at `end`, which is now unless told otherwise.
 * @param {Iterable<import('./store.js').Hold>} holds
 */
export function timelineRows(holds, { now, end = now, windowMs, rowsMax }) {
  const from = end - windowMs;
  const rows = new Map();
  for (const hold of holds) {
    const last = hold.to ?? now;
    if (last < from || hold.from > end) continue;
    const bar = {
      token: hold.token,
      owner: hold.owner,
      set: hold.set,
      from: hold.from,
      left: Math.max(0, (hold.from - from) / windowMs),
      width: (Math.min(last, end) - Math.max(hold.from, from)) / windowMs,
      isOpen: hold.to === null,
      ending: hold.ending,
      endsInside: hold.to !== null && hold.to <= end,
      ms: last - hold.from,
      waited: hold.waited,
      grantedBy: hold.grantedBy,
      endedBy: hold.endedBy,
    };
    for (const key of keysOfHold(hold)) {
      if (!rows.has(key)) rows.set(key, { key, name: nameOfKey(key), bars: [], latest: 0 });
      const row = rows.get(key);
      row.latest = Math.max(row.latest, last);
      row.bars.push({ ...bar });
    }
  }
  const all = [...rows.values()].sort(
    (a, b) => b.bars.length - a.bars.length || b.latest - a.latest || (a.name < b.name ? -1 : 1),
  );
  const shown = all.slice(0, rowsMax);
  for (const row of shown) {
    giveLanes(row);
    row.bars = condense(row.bars);
  }
  return { rows: shown, more: Math.max(0, all.length - rowsMax) };
}

function nameOfKey(key) {
  return key.slice(key.indexOf(':') + 1);
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

// Bars as narrow as this, and as close to one another, are drawn as one: nobody could tell them apart.
const NARROW = 1 / 250;
const CLOSE = 1 / 500;

function isMerged(group, bar) {
  return bar.width < NARROW && !bar.isOpen && bar.left - (group.left + group.width) < CLOSE;
}

/** Bars of one row, in which runs of very short holds are one bar each: {count, owners, endings}. */
export function condense(bars) {
  const result = [];
  const last = new Map(); // by lane, the run that may go on
  for (const bar of bars) {
    const group = last.get(bar.lane);
    if (group && isMerged(group, bar)) {
      group.bars.push(bar);
      group.width = Math.max(group.width, bar.left + bar.width - group.left);
      continue;
    }
    const run = { left: bar.left, width: bar.width, lane: bar.lane, bars: [bar] };
    result.push(run);
    if (bar.width < NARROW && !bar.isOpen) last.set(bar.lane, run);
    else last.delete(bar.lane);
  }
  return result.map((run) => (run.bars.length === 1 ? run.bars[0] : summary(run)));
}

const WORST_FIRST = ['forced', 'expired', 'restart', 'session', 'unseen', 'released'];

function summary({ bars, left, width, lane }) {
  const endings = {};
  for (const { ending } of bars) endings[ending] = (endings[ending] ?? 0) + 1;
  return {
    count: bars.length,
    owners: new Set(bars.map(({ owner }) => owner)).size,
    endings,
    ending: WORST_FIRST.find((name) => endings[name]) ?? '',
    endsInside: bars.at(-1).endsInside,
    token: bars[0].token,
    left,
    width,
    lane,
    isOpen: false,
  };
}

/** What a bar says: who held the lock, for how long, and how that ended. */
export function barText(bar) {
  if (bar.count) {
    const endings = Object.entries(bar.endings).map(([name, count]) => `${count} ${endingText(name)}`);
    const owners = bar.owners === 1 ? 'one owner' : `${bar.owners} owners`;
    return `${bar.count} holds of ${owners}: ${endings.join(', ')}`;
  }
  const parts = [
    bar.grantedBy ? `${bar.owner} by ${bar.grantedBy}` : bar.owner,
    `since ${clock(bar.from)}`,
    `for ${bar.ms < 1000 ? `${Math.round(bar.ms)} ms` : span(bar.ms)}`,
  ];
  if (bar.waited >= 1000) parts.push(`waited ${span(bar.waited)}`);
  const endedBy = bar.endedBy ? ` by ${bar.endedBy}` : '';
  parts.push(bar.isOpen ? 'holds it now' : endingText(bar.ending) + endedBy);
  if (bar.set.length > 0) parts.push(`one lease on ${bar.set.length} locks: ${listed(bar.set, 6)}`);
  return parts.join(', ');
}

/** One of eight colours for an owner, always the same one. */
export function colourOf(owner) {
  let hash = 0;
  for (const letter of owner) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return hash % 8;
}
