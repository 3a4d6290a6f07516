// What the page knows of the locks: a snapshot, and every event since. No DOM and no network here.

/**
 * @typedef {{token: number, owner: string, door: string, mode: string, acquired: number, expiry: number, ttl: number,
 *   graceUntil: number, inGrace: boolean, session: number | null, metadata: string, scope: string}} Holder
 * @typedef {{key: string, kind: string, name: string, limit: number, waiters: number, holders: Map<number, Holder>}} Lock
 * @typedef {{at: number, type: string, key: string, name: string, owner: string, data: any}} HistoryEntry
 * @typedef {{key: string, name: string, token: number, owner: string, door: string, from: number, to: number | null,
 *   ending: string}} Hold
 */

const HISTORY_MAX = 3000;
const HOLDS_MAX = 3000;
export const HOLD_MEMORY_MS = 5 * 60 * 1000;

export function createState() {
  return {
    /** @type {Map<string, Lock>} */ locks: new Map(),
    /** @type {HistoryEntry[]} */ history: [],
    /** @type {Map<number, Hold>} */ holds: new Map(),
    /** @type {Map<number | string, {id: number | string, owner: string, door: string, opened: number | null}>} */ sessions:
      new Map(),
    held: 0,
    waiting: 0,
    granted: 0,
    expired: 0,
    lastEventId: null,
    revision: 0,
  };
}

/** The lock a name stands for: an inode and its ranges are one. */
export function lockKey(kind, name) {
  return `${kind === 'range' ? 'inode' : kind}:${name}`;
}

function lockOf(state, kind, name) {
  const key = lockKey(kind, name);
  let lock = state.locks.get(key);
  if (!lock) {
    lock = { key, kind: kind === 'range' ? 'inode' : kind, name, limit: 1, waiters: 0, holders: new Map() };
    state.locks.set(key, lock);
  }
  return lock;
}

function setWaiters(state, lock, count) {
  state.waiting += count - lock.waiters;
  lock.waiters = count;
}

function removeHolder(state, lock, token) {
  const holder = lock.holders.get(token);
  if (!holder) return;
  if (!holder.inGrace) state.held -= 1;
  lock.holders.delete(token);
}

function addHolder(state, lock, holder) {
  removeHolder(state, lock, holder.token);
  lock.holders.set(holder.token, holder);
  if (!holder.inGrace) state.held += 1;
}

/** Replaces all that is known of the locks by the server's listing. */
export function applySnapshot(state, listed, now) {
  state.locks = new Map();
  state.held = state.waiting = 0;
  const living = new Set();
  for (const entry of listed) {
    const lock = lockOf(state, entry.kind, entry.lock_name);
    lock.limit = entry.limit ?? 1;
    setWaiters(state, lock, entry.waiters);
    for (const shown of entry.holders) {
      const holder = holderOf(shown, shown.acquired_ms, shown.ttl_ms ?? Infinity);
      holder.inGrace = shown.grace_until_ms !== undefined;
      addHolder(state, lock, holder);
      living.add(holder.token);
      if (!state.holds.has(holder.token)) openHold(state, lock, holder);
      if (holder.session !== null) rememberSession(state, holder.session, holder.owner, holder.door, null);
    }
  }
  for (const hold of state.holds.values()) {
    if (hold.to === null && !living.has(hold.token)) endHold(state, hold.token, now, 'unseen');
  }
  state.revision += 1;
}

function holderOf(data, acquired, ttl) {
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
  };
}

function openHold(state, lock, holder) {
  state.holds.set(holder.token, {
    key: lock.key,
    name: lock.name,
    token: holder.token,
    owner: holder.owner,
    door: holder.door,
    from: holder.acquired,
    to: null,
    ending: '',
  });
}

function endHold(state, token, at, ending) {
  const hold = state.holds.get(token);
  if (hold && hold.to === null) {
    hold.to = at;
    hold.ending = ending;
  }
}

/** Forgets holds that ended long ago; the oldest first if there are too many. */
export function forgetHolds(state, now) {
  for (const hold of state.holds.values()) {
    const isOld = hold.to !== null && hold.to < now - HOLD_MEMORY_MS;
    const isTooMany = hold.to !== null && state.holds.size > HOLDS_MAX;
    if (isOld || isTooMany) state.holds.delete(hold.token);
  }
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

const APPLY = {
  granted(state, lock, data) {
    const holder = holderOf(data, data.at_ms, (data.lease_expiry_ms ?? Infinity) - data.at_ms);
    addHolder(state, lock, holder);
    openHold(state, lock, holder);
    state.granted += 1;
  },
  renewed(state, lock, data) {
    const known = lock.holders.get(data.fencing_token);
    const holder = holderOf(data, known?.acquired ?? data.at_ms, (data.lease_expiry_ms ?? Infinity) - data.at_ms);
    addHolder(state, lock, holder);
  },
  released(state, lock, data) {
    removeHolder(state, lock, data.fencing_token);
    endHold(state, data.fencing_token, data.at_ms, data.cause === 'force' ? 'forced' : 'released');
  },
  expired(state, lock, data) {
    state.expired += 1;
    endHold(state, data.fencing_token, data.at_ms, 'expired');
    const holder = lock.holders.get(data.fencing_token);
    const hasGrace = (data.grace_until_ms ?? 0) > data.at_ms;
    removeHolder(state, lock, data.fencing_token);
    if (holder && hasGrace)
      addHolder(state, lock, { ...holder, inGrace: true, graceUntil: data.grace_until_ms });
  },
  grace_ended(state, lock, data) {
    removeHolder(state, lock, data.fencing_token);
  },
  queued() {},
  wait_timed_out() {},
  wait_cancelled() {},
};

/** Takes in one event of `/v1/events`. */
export function applyEvent(state, type, data, id = null) {
  if (id !== null) state.lastEventId = id;
  state.revision += 1;
  if (type === 'session_opened') rememberSession(state, data.session, data.owner_id, data.door, data.at_ms);
  else if (type === 'session_ended') state.sessions.delete(data.session);
  else if (APPLY[type]) {
    const lock = lockOf(state, data.kind, data.lock_name);
    APPLY[type](state, lock, data);
    setWaiters(state, lock, data.queue_length ?? lock.waiters);
    if (data.session !== undefined) rememberSession(state, data.session, data.owner_id, data.door, null);
    if (lock.holders.size === 0 && lock.waiters === 0) state.locks.delete(lock.key);
    remember(state, { at: data.at_ms, type, key: lock.key, name: lock.name, owner: data.owner_id, data });
  } else if (type === 'fence_refused') {
    const entry = {
      at: data.at_ms,
      type,
      key: '',
      name: data.resource,
      owner: `number ${data.fencing_token}`,
      data,
    };
    remember(state, entry);
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
    if (key === null || state.history[index].key === key) found.push(state.history[index]);
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
