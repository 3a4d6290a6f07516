// Holds that have ended, as GET /v1/history tells them. No DOM and no network here.

import { encodeName, keyOfText, parseScope, setOf, textOfScope } from './scopes.js';

/** How a hold ended: the mark at the end of its bar, and the words. The first five are the words of the server. */
export const ENDINGS = {
  released: { mark: '✓', text: 'released' },
  expired: { mark: '×', text: 'expired' },
  forced: { mark: '!', text: 'released by force' },
  session: { mark: '⇥', text: 'ended with its session' },
  restart: { mark: '↻', text: 'expired after a restart of the server' },
  unseen: { mark: '?', text: 'ended while this page was not connected' },
};

/** The words for an ending; the server's own word for one that is not known here. */
export function endingText(ending) {
  return ENDINGS[ending]?.text ?? ending;
}

/**
 * A row of the history as a hold.
 * @returns {import('./store.js').Hold}
 */
export function holdOfRow(row) {
  const text = textOfScope(row.scope);
  const { name, scope } = parseScope(text);
  return {
    key: keyOfText(text),
    name,
    scope,
    set: setOf(row.scopes),
    token: row.fencing_token,
    owner: row.holder,
    door: row.door,
    mode: row.mode ?? 'exclusive',
    from: Date.parse(row.acquired_at),
    to: row.ended_at === undefined ? null : Date.parse(row.ended_at),
    ending: row.ended ?? '',
    waited: row.waited_ms ?? 0,
    metadata: row.metadata ?? '',
    grantedBy: row.granted_by ?? '',
    endedBy: row.ended_by ?? '',
  };
}

/** The locks that a hold is on: several if it is on a set. */
export function keysOfHold(hold) {
  return hold.set.length === 0 ? [hold.key] : [...new Set(hold.set.map(keyOfText))];
}

/** The address of a page of the history. Filters without a value are left out. */
export function historyPath(filters) {
  const query = Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => `${name}=${encodeName(String(value))}`);
  return `/v1/history?${query.join('&')}`;
}

/** The part of the history that has been read, from the newest page on. */
export function createPast() {
  return {
    /** @type {Map<number, import('./store.js').Hold>} */ holds: new Map(),
    /** Every hold that ended at this time or later is known. */ since: Infinity,
    /** Where the next page begins. */ next: undefined,
    /** Whether there are no older pages. */ isWhole: false,
    /** Whether the server keeps a history; null: not asked yet. */ isKept: null,
    keptSince: null,
  };
}

/** Takes in a page of GET /v1/history; null: the server keeps no history, or does not show it. */
export function addPage(past, page) {
  past.isKept = page !== null;
  past.isWhole = page === null || page.next === undefined;
  past.next = page?.next;
  if (page === null) return;
  past.keptSince = page.kept_since === undefined ? past.keptSince : Date.parse(page.kept_since);
  for (const row of page.history) {
    const hold = holdOfRow(row);
    past.holds.set(hold.token, hold);
    if (hold.to !== null) past.since = Math.min(past.since, hold.to);
  }
}

/** The holds on one lock that have ended, the newest first: those that were seen and those that were read. */
export function endedHolds(key, seen, past) {
  const found = new Map();
  for (const holds of [past, seen]) {
    for (const hold of holds) {
      const isKnown = found.has(hold.token) && hold.ending === 'unseen';
      if (hold.to !== null && !isKnown && keysOfHold(hold).includes(key)) found.set(hold.token, hold);
    }
  }
  return [...found.values()].sort((a, b) => b.to - a.to || b.token - a.token);
}

/** Times that are known, {from, to}, in their order and apart from one another: adds one. */
export function addInterval(intervals, from, to) {
  const apart = intervals.filter((other) => other.to < from || other.from > to);
  const touching = intervals.filter((other) => other.to >= from && other.from <= to);
  const whole = {
    from: Math.min(from, ...touching.map((other) => other.from)),
    to: Math.max(to, ...touching.map((other) => other.to)),
  };
  return [...apart, whole].sort((a, b) => a.from - b.from);
}

/** The latest part of a time that is not known; null if all of it is. */
export function findGap(intervals, from, to) {
  let end = to;
  for (const known of [...intervals].reverse()) {
    if (known.from >= end || known.to <= from) continue;
    if (known.to < end) return { from: known.to, to: end };
    end = known.from;
    if (end <= from) return null;
  }
  return from < end ? { from, to: end } : null;
}
