// What happened before the page was opened: the curves and the events, made from the holds of the last minutes.

import { keyOfText } from './scopes.js';
import { SERIES_LENGTH } from './series.js';

/** How far back a page looks when it is opened. */
export const RECENT_MS = SERIES_LENGTH * 1000;

// Adds one from the second of `from` until the second of `to`.
function addSpan(steps, from, to, start) {
  const index = (at) => Math.min(steps.length - 1, Math.max(0, Math.ceil((at - start) / 1000)));
  if (to <= start || to <= from) return;
  steps[index(from)] += 1;
  steps[index(to)] -= 1;
}

function sumUp(steps) {
  let sum = 0;
  return Array.from(steps.subarray(0, steps.length - 1), (step) => (sum += step));
}

function addMoment(counts, at, start) {
  const index = Math.floor((at - start) / 1000);
  if (at >= start && index < counts.length) counts[index] += 1;
}

/**
 * The curves of the seconds from `since` until `now`, at most as many as a chart shows: who held, who waited (as far
 * as they were granted the lock in the end), and how many leases were granted, released and expired in each second.
 * @param {Iterable<import('./store.js').Hold>} holds those that ended after `since`, and those that run
 */
export function rebuildSeries(holds, { since, now }) {
  const length = Math.max(0, Math.min(SERIES_LENGTH, Math.floor((now - since) / 1000)));
  const start = now - length * 1000;
  const held = new Int32Array(length + 1);
  const waiting = new Int32Array(length + 1);
  const counts = { grants: [], releases: [], expiries: [] };
  for (const name of Object.keys(counts)) counts[name] = new Array(length).fill(0);
  for (const hold of holds) {
    addSpan(held, hold.from, hold.to ?? Infinity, start);
    addSpan(waiting, hold.from - hold.waited, hold.from, start);
    addMoment(counts.grants, hold.from, start);
    if (hold.to === null) continue;
    addMoment(hasExpired(hold) ? counts.expiries : counts.releases, hold.to, start);
  }
  return { held: sumUp(held), waiting: sumUp(waiting), ...counts };
}

// A lease that nobody renewed after a restart has expired, too.
function hasExpired(hold) {
  return hold.ending === 'expired' || hold.ending === 'restart';
}

const CAUSES = { forced: 'force', session: 'session_end', restart: 'restart' };

function entryOf(hold, type, at, more) {
  const data = { fencing_token: hold.token, ...more };
  const keys = hold.set.length > 0 ? hold.set.map(keyOfText) : undefined;
  return { at, type, key: hold.key, name: hold.name, owner: hold.owner, set: hold.set, data, keys };
}

/**
 * The grants and the endings of these holds since a time, as entries of the list of events, the oldest first. Entries
 * that are known already are left out.
 * @param {Iterable<import('./store.js').Hold>} holds
 * @param {import('./store.js').HistoryEntry[]} known
 */
export function rebuildEntries(holds, since, known = []) {
  const sight = (type, token) => `${type} ${token}`;
  const seen = new Set(known.map((entry) => sight(entry.type, entry.data.fencing_token)));
  const entries = [];
  for (const hold of holds) {
    if (hold.from >= since && !seen.has(sight('granted', hold.token)))
      entries.push(entryOf(hold, 'granted', hold.from, { waited_ms: hold.waited, by: hold.grantedBy }));
    const type = hasExpired(hold) ? 'expired' : 'released';
    const isTold = hold.to !== null && hold.to >= since && hold.ending !== 'unseen';
    if (isTold && !seen.has(sight(type, hold.token)))
      entries.push(
        entryOf(hold, type, hold.to, {
          held_ms: hold.to - hold.from,
          cause: CAUSES[hold.ending],
          by: hold.endedBy,
        }),
      );
  }
  // In the same millisecond, the lock was released by the smaller number before it was granted to the larger one.
  return entries.sort((a, b) => a.at - b.at || a.data.fencing_token - b.data.fencing_token);
}
