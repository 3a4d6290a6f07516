// Which locks the table shows, in which order: pure functions over the state.

/** The holder that stands for a lock: the oldest. */
export function firstHolder(lock) {
  for (const holder of lock.holders.values()) return holder;
  return null;
}

/** How many leases hold a lock. One lease may hold several ranges of an inode. */
export function leaseCount(lock) {
  if (lock.kind !== 'inode') return lock.holders.size;
  return new Set(Array.from(lock.holders.values(), ({ token }) => token)).size;
}

const SORTS = {
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  owner: (a, b) => compareText(firstHolder(a)?.owner, firstHolder(b)?.owner),
  door: (a, b) => compareText(firstHolder(a)?.door, firstHolder(b)?.door),
  age: (a, b) => (firstHolder(a)?.acquired ?? Infinity) - (firstHolder(b)?.acquired ?? Infinity),
  lease: (a, b) => byNumber(firstHolder(a)?.expiry ?? Infinity, firstHolder(b)?.expiry ?? Infinity),
  token: (a, b) => (firstHolder(b)?.token ?? 0) - (firstHolder(a)?.token ?? 0),
  queue: (a, b) => b.waiters - a.waiters,
  kind: (a, b) => compareText(a.kind, b.kind),
};
export const SORT_NAMES = Object.keys(SORTS);

function byNumber(a, b) {
  return a < b ? -1 : a > b ? 1 : 0; // a difference of two infinities is no number
}

function compareText(a = '', b = '') {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether all words of the filter occur in the lock's name, kind, owners, doors or metadata. */
export function matches(lock, words) {
  if (words.length === 0) return true;
  let text = `${lock.kind} ${lock.name}`;
  for (const holder of lock.holders.values())
    text += ` ${holder.owner} ${holder.door} ${holder.mode} ${holder.metadata}`;
  text = text.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Up to and including the first `-`, `/`, `:`, `.` or `_`; the whole name if there is none. */
export function prefixOf(name) {
  const at = name.slice(1).search(/[-/:._]/);
  return at < 0 ? name : name.slice(0, at + 2);
}

/**
 * The rows of the table: {lock} or, when grouped, {group, count, waiters} before the locks of the group.
 * @param {Iterable<import('./store.js').Lock>} locks
 */
export function rowsOf(
  locks,
  { filter = '', sort = 'name', descending = false, grouped = false, closed = new Set() },
) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = [];
  for (const lock of locks) if (matches(lock, words)) shown.push(lock);
  const sign = descending ? -1 : 1;
  shown.sort((a, b) => sign * SORTS[sort](a, b) || SORTS.name(a, b));
  if (!grouped) return shown.map((lock) => ({ lock }));
  const groups = new Map();
  for (const lock of shown) {
    const group = prefixOf(lock.name);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(lock);
  }
  return [...groups.entries()].flatMap(([group, members]) => [
    {
      group,
      count: members.length,
      waiters: members.reduce((sum, lock) => sum + lock.waiters, 0),
      isClosed: closed.has(group),
    },
    ...(closed.has(group) ? [] : members.map((lock) => ({ lock }))),
  ]);
}

/** How much of a lease is left, from 0 to 1. */
export function shareLeft(holder, now) {
  const end = holder.inGrace ? holder.graceUntil : holder.expiry;
  if (end === Infinity) return 1;
  const whole = holder.inGrace ? holder.graceUntil - holder.expiry : holder.ttl;
  return whole <= 0 ? 0 : Math.max(0, Math.min(1, (end - now) / whole));
}
