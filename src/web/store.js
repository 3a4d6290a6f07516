// What the page knows of the locks: a snapshot, and every event since. No DOM and no network here.

import { addDeadlock, concerns, deadlockOf, keysOfDeadlock, mergeDeadlocks } from './deadlocks.js';
import { RECENT_MS, rebuildEntries } from './rebuild.js';
import { exactName, keyOfText, lockKey, parseScope, setOf } from './scopes.js';

/**
 * @typedef {{token: number, owner: string, door: string, mode: string, acquired: number, expiry: number, ttl: number,
 *   graceUntil: number, inGrace: boolean, session: number | null, metadata: string, scope: string, set: string[],
 *   value: string, revision: number}} Holder
 * @typedef {{key: string, kind: string, name: string, limit: number, waiters: number, position: number,
 *   holders: Map<number | string, Holder>}} Lock
 * @typedef {{at: number, type: string, key: string, name: string, owner: string, set: string[], data: any,
 *   keys?: string[]}} HistoryEntry
 * @typedef {{key: string, name: string, scope: string, set: string[], token: number, owner: string, door: string,
 *   mode: string, from: number, to: number | null, ending: string, waited: number, metadata: string}} Hold
 */

const HISTORY_MAX = 3000;
const HOLDS_MAX = 5000;
export const HOLD_MEMORY_MS = RECENT_MS;

export function createState() {
  return {
    /** @type {Map<string, Lock>} */ locks: new Map(),
    /** @type {HistoryEntry[]} */ history: [],
    /** @type {Map<number, Hold>} */ holds: new Map(),
    /** @type {Map<number | string, {id: number | string, owner: string, door: string, opened: number | null}>} */ sessions:
      new Map(),
    /** @type {import('./deadlocks.js').Deadlock[]} */ deadlocks: [],
    /** Whether the server looks for deadlocks, and whether something happened that may have ended one. */
    watchesDeadlocks: false,
    deadlocksDue: false,
    /** Whether the server keeps a history (null: not known), since when, and since when `holds` has all of it. */
    past: { isKept: null, keptSince: null, since: Infinity },
    /** @type {Set<string>} Entries that were made from a snapshot, in case an event tells them again. */ rebuilt:
      new Set(),
    /** @type {Map<number, number>} The leases that are held, each with the number of its locks. */ holding:
      new Map(),
    held: 0,
    waiting: 0,
    granted: 0,
    expired: 0,
    lastEventId: null,
    /** Whether the server tells the positions of its snapshots. */ hasPositions: false,
    revision: 0,
  };
}

function lockOf(state, kind, name) {
  const key = lockKey(kind, name);
  let lock = state.locks.get(key);
  if (!lock) {
    const shown = kind === 'range' ? 'inode' : kind;
    lock = { key, kind: shown, name, limit: 1, waiters: 0, position: 0, holders: new Map() };
    state.locks.set(key, lock);
  }
  return lock;
}

function setWaiters(state, lock, count) {
  state.waiting += count - lock.waiters;
  lock.waiters = count;
}

// A lease on several ranges of an inode holds its lock more than once.
function holderKey(token, set, scope) {
  return set.length > 0 && scope ? `${token} ${scope}` : token;
}

// A lease on several locks is held once.
function countHeld(state, holder, change) {
  if (holder.inGrace) return;
  const locks = (state.holding.get(holder.token) ?? 0) + change;
  if (locks > 0) state.holding.set(holder.token, locks);
  else state.holding.delete(holder.token);
  state.held = state.holding.size;
}

function removeHolder(state, lock, key) {
  const holder = lock.holders.get(key);
  if (!holder) return;
  countHeld(state, holder, -1);
  lock.holders.delete(key);
}

function addHolder(state, lock, holder) {
  const key = holderKey(holder.token, holder.set, holder.scope);
  removeHolder(state, lock, key);
  lock.holders.set(key, holder);
  countHeld(state, holder, 1);
}

/** Replaces all that is known of the locks by the server's listing. */
export function applySnapshot(state, listed, now) {
  state.locks = new Map();
  state.holding = new Map();
  state.held = state.waiting = 0;
  const living = new Set();
  for (const entry of listed) {
    const lock = lockOf(state, entry.kind, exactName(entry.lock_name, entry.name_bytes));
    lock.limit = entry.limit ?? 1;
    lock.position = Number(entry.position ?? 0);
    setWaiters(state, lock, entry.waiters);
    for (const shown of entry.holders) {
      const holder = holderOf(shown, shown.acquired_ms, shown.ttl_ms ?? Infinity);
      holder.inGrace = shown.grace_until_ms !== undefined;
      addHolder(state, lock, holder);
      living.add(holder.token);
      if (!state.holds.has(holder.token)) openHold(state, lock, holder, 0);
      if (holder.inGrace) endHold(state, holder.token, holder.expiry, 'expired');
      if (holder.session !== null) rememberSession(state, holder.session, holder.owner, holder.door, null);
    }
  }
  for (const hold of state.holds.values()) {
    if (hold.to === null && !living.has(hold.token)) endHold(state, hold.token, now, 'unseen');
  }
  state.revision += 1;
}

/**
 * Takes in the holds that ended before the snapshot; null: the server keeps no history. REQUIRES: the snapshot has
 * been taken in, and is not older.
 * @param {ReturnType<typeof import('./history.js').createPast> | null} past
 */
export function applyPast(state, past, since, now) {
  state.past.isKept = past !== null;
  if (past === null) {
    if (state.past.since === Infinity) state.past.since = now;
    return addEntries(state, since); // of the leases that are held, the grants are known all the same
  }
  state.past.keptSince = past.keptSince;
  state.past.since = past.isWhole ? since : past.since;
  for (const hold of past.holds.values()) {
    const known = state.holds.get(hold.token);
    if (!known || known.ending === 'unseen') state.holds.set(hold.token, hold);
  }
  addEntries(state, state.past.since);
}

function addEntries(state, since) {
  const entries = rebuildEntries(state.holds.values(), since, state.history);
  state.rebuilt = new Set(entries.map(({ type, data }) => `${type} ${data.fencing_token}`));
  state.history = [...state.history, ...entries].sort((a, b) => a.at - b.at).slice(-HISTORY_MAX);
  state.revision += 1;
}

/** Takes in the answer of GET /v1/deadlocks; null: the server looks for none. */
export function applyDeadlocks(state, answer) {
  state.watchesDeadlocks = answer !== null;
  state.deadlocks = answer === null ? [] : mergeDeadlocks(state.deadlocks, answer);
  state.revision += 1;
}

function holderOf(data, acquired, ttl, known = null) {
  return {
    token: data.fencing_token,
    owner: data.owner_id,
    door: data.door,
    mode: data.mode ?? 'exclusive',
    acquired,
    expiry: data.lease_expiry_ms ?? Infinity, // no end
    ttl,
    graceUntil: data.grace_until_ms ?? 0,
    inGrace: false,
    session: data.session ?? null,
    metadata: data.metadata ?? '',
    scope: data.scope ?? '',
    set: setOf(data.scopes),
    value: data.value ?? known?.value ?? '',
    revision: data.revision ?? known?.revision ?? 0,
  };
}

function openHold(state, lock, holder, waited, grantedBy = '') {
  const first = holder.set.length > 0 ? parseScope(holder.set[0]) : { ...lock, scope: holder.scope };
  state.holds.set(holder.token, {
    key: lockKey(first.kind, first.name),
    name: first.name,
    scope: first.scope,
    set: holder.set,
    token: holder.token,
    owner: holder.owner,
    door: holder.door,
    mode: holder.mode,
    from: holder.acquired,
    to: null,
    ending: '',
    waited,
    metadata: holder.metadata,
    grantedBy,
    endedBy: '',
  });
}

function endHold(state, token, at, ending, endedBy = '') {
  const hold = state.holds.get(token);
  if (hold && hold.to === null) {
    hold.to = at;
    hold.ending = ending;
    hold.endedBy = endedBy;
  }
}

/** Forgets holds that ended long ago; the oldest first if there are too many. */
export function forgetHolds(state, now) {
  const ended = [...state.holds.values()].filter(({ to }) => to !== null).sort((a, b) => a.to - b.to);
  ended.forEach((hold, index) => {
    const isOld = hold.to < now - HOLD_MEMORY_MS || index < ended.length - HOLDS_MAX;
    if (!isOld) return;
    state.holds.delete(hold.token);
    state.past.since = Math.max(state.past.since, hold.to);
  });
}

function rememberSession(state, id, owner, door, opened) {
  const known = state.sessions.get(id);
  state.sessions.set(id, {
    id,
    owner: owner || known?.owner || '',
    door,
    opened: opened ?? known?.opened ?? null,
  });
}

// What an event changes at one lock. `data.scope` is that of the member if the lease is on a set.
const AT_LOCK = {
  granted(state, lock, data) {
    addHolder(state, lock, holderOf(data, data.at_ms, (data.lease_expiry_ms ?? Infinity) - data.at_ms));
  },
  renewed(state, lock, data, key) {
    const known = lock.holders.get(key);
    const ttl = (data.lease_expiry_ms ?? Infinity) - data.at_ms;
    addHolder(state, lock, holderOf(data, known?.acquired ?? data.at_ms, ttl, known));
  },
  value_set(state, lock, data, key) {
    const known = lock.holders.get(key);
    if (known) Object.assign(known, { value: data.value ?? '', revision: data.revision ?? known.revision });
  },
  released(state, lock, data, key) {
    removeHolder(state, lock, key);
  },
  expired(state, lock, data, key) {
    const holder = lock.holders.get(key);
    const hasGrace = (data.grace_until_ms ?? 0) > data.at_ms;
    removeHolder(state, lock, key);
    if (holder && hasGrace)
      addHolder(state, lock, { ...holder, inGrace: true, graceUntil: data.grace_until_ms });
  },
  grace_ended(state, lock, data, key) {
    removeHolder(state, lock, key);
  },
  queued() {},
  wait_timed_out() {},
  wait_cancelled() {},
};

const ENDINGS_BY_CAUSE = { force: 'forced', session_end: 'session' };

// What an event changes once, however many locks it is about. `isNew`: it was not in a snapshot.
const ONCE = {
  granted(state, lock, data, isNew) {
    openHold(state, lock, holderOf(data, data.at_ms, 0), data.waited_ms ?? 0, data.by ?? '');
    if (isNew) state.granted += 1;
  },
  released(state, lock, data) {
    endHold(state, data.fencing_token, data.at_ms, ENDINGS_BY_CAUSE[data.cause] ?? 'released', data.by ?? '');
  },
  expired(state, lock, data, isNew) {
    if (isNew) state.expired += 1;
    endHold(state, data.fencing_token, data.at_ms, data.cause === 'restart' ? 'restart' : 'expired');
  },
};

// By how many the queue of a further member of a set has changed: an event tells only the length of the first queue.
function queueChange(type, data) {
  if (type === 'queued') return 1;
  const hasWaited = type === 'wait_timed_out' || type === 'wait_cancelled' || type === 'granted';
  return hasWaited && data.waited_ms !== undefined ? -1 : 0;
}

function applyToLocks(state, type, data, id) {
  const set = setOf(data.scopes);
  const own = { kind: data.kind, name: exactName(data.lock_name, data.name_bytes), scope: data.scope ?? '' };
  const members = set.length > 0 ? set.map(parseScope) : [own];
  const first = lockOf(state, members[0].kind, members[0].name);
  // The history may have more than its position says.
  const isNew = !state.rebuilt.delete(`${type} ${data.fencing_token}`);
  ONCE[type]?.(state, first, data, isNew);
  members.forEach((member, index) => {
    const lock = lockOf(state, member.kind, member.name);
    // A page of the listing that was made later than the first shows some events already.
    if (id === null || id > lock.position) {
      const key = holderKey(data.fencing_token, set, member.scope);
      AT_LOCK[type](state, lock, { ...data, scope: member.scope }, key);
      const length = index === 0 ? data.queue_length : lock.waiters + queueChange(type, data);
      setWaiters(state, lock, Math.max(0, length ?? lock.waiters));
    }
    if (lock.holders.size === 0 && lock.waiters === 0) state.locks.delete(lock.key);
  });
  if (!isNew) return; // the list has it
  const keys = set.length > 0 ? set.map(keyOfText) : undefined;
  const { key, name } = first;
  remember(state, { at: data.at_ms, type, key, name, owner: data.owner_id, set, data, keys });
}

function applyDeadlock(state, data, id) {
  const deadlock = deadlockOf(data.cycle, data.at_ms, id);
  state.watchesDeadlocks = true;
  state.deadlocks = addDeadlock(state.deadlocks, deadlock);
  const entry = { at: data.at_ms, type: 'deadlock', key: '', name: 'deadlock:', owner: '', set: [], data };
  remember(state, { ...entry, keys: keysOfDeadlock(deadlock) });
}

/** Takes in one event of `/v1/events`. */
export function applyEvent(state, type, data, id = null) {
  if (id !== null) state.lastEventId = id;
  state.revision += 1;
  if (state.deadlocks.length > 0 && concerns(state.deadlocks, data)) state.deadlocksDue = true;
  if (type === 'session_opened') rememberSession(state, data.session, data.owner_id, data.door, data.at_ms);
  else if (type === 'session_ended') state.sessions.delete(data.session);
  else if (type === 'deadlock') applyDeadlock(state, data, id === null ? null : Number(id));
  else if (AT_LOCK[type]) {
    applyToLocks(state, type, data, id === null ? null : Number(id));
    if (data.session !== undefined) rememberSession(state, data.session, data.owner_id, data.door, null);
  } else if (type === 'fence_refused') {
    const owner = `number ${data.fencing_token}`;
    remember(state, { at: data.at_ms, type, key: '', name: data.resource, owner, set: [], data });
  } else if (type === 'audit') {
    remember(state, { at: data.at_ms, type, key: '', name: data.what, owner: '', set: [], data });
  }
}

function remember(state, entry) {
  state.history.push(entry);
  if (state.history.length > HISTORY_MAX * 1.2) state.history = state.history.slice(-HISTORY_MAX);
}

/** The last entries of one lock, or of all, the newest first. */
export function historyOf(state, key, count) {
  const found = [];
  for (let index = state.history.length - 1; index >= 0 && found.length < count; index -= 1) {
    const entry = state.history[index];
    if (key === null || entry.key === key || entry.keys?.includes(key)) found.push(entry);
  }
  return found;
}

/** What a connection holds, by its number; what a log-in at the files holds, by its name. */
export function leasesOfSession(state, id) {
  const isLogin = typeof id === 'string';
  const found = [];
  for (const lock of state.locks.values()) {
    for (const holder of lock.holders.values()) {
      const isIts = isLogin ? holder.door === 'hengdang' && holder.owner === id : holder.session === id;
      if (isIts) found.push({ lock, holder });
    }
  }
  return found;
}

/** Takes in the sessions of `/v1/sessions`: others have ended. */
export function applySessions(state, sessions) {
  state.sessions.clear();
  for (const session of sessions) {
    const isLogin = session.door === 'hengdang';
    const id = isLogin ? session.id : Number.parseInt(session.id, 10);
    rememberSession(state, id, session.owner_id, session.door, session.opened_at_ms);
  }
}
