import { askJson, change, lockPath } from './api.js';
import { h, morph } from './dom.js';
import { clock, count, span } from './format.js';
import { firstHolder } from './listing.js';
import { door, historyList, kind, leaseBar, scopeLinks, title, wideTable } from './parts.js';
import { parseRange } from './ranges.js';
import { rangeChart, rangeText } from './view_ranges.js';
import { lockKey, listed, othersOf, setOf } from './scopes.js';
import { historyOf } from './store.js';
import { deadlockCards } from './view_deadlocks.js';
import { createElection, createLockHistory, setCards } from './view_lock_parts.js';

// The queue is asked for again when something happened to the lock, and not more often than this.
const QUEUE_INTERVAL_MS = 300;

function holdersTable(lock, now) {
  if (!lock || lock.holders.size === 0) return h('p', { class: 'quiet' }, 'Nobody holds it.');
  return wideTable(
    'Holders',
    ['Owner', 'Door', 'Mode', 'Held for', 'Lease', 'Fencing token'],
    [...lock.holders.values()].map((holder) =>
      h(
        'tr',
        {},
        h(
          'td',
          {},
          holder.owner,
          holder.metadata ? h('span', { class: 'quiet' }, ` ${holder.metadata}`) : null,
        ),
        h('td', {}, door(holder.door)),
        h('td', {}, holder.mode, holder.scope ? `, ${rangeText(parseRange(holder.scope))}` : ''),
        h('td', {}, span(now - holder.acquired)),
        h('td', {}, leaseBar(holder, now)),
        h('td', { class: 'number' }, String(holder.token)),
      ),
    ),
  );
}

function queueTable(queue, length, now, key) {
  if (queue.length === 0) return h('p', { class: 'quiet' }, 'Nobody waits.');
  return [
    wideTable(
      'Queue',
      ['Place', 'Owner', 'Door', 'Mode', 'Waiting for', 'Gives up in', 'Because of'],
      queue.map((waiter) =>
        h(
          'tr',
          {},
          h('td', { class: 'number' }, String(waiter.place)),
          h(
            'td',
            {},
            waiter.owner_id,
            waiter.metadata ? h('span', { class: 'quiet' }, ` ${waiter.metadata}`) : null,
            setOf(waiter.scopes).length > 0
              ? h(
                  'span',
                  { class: 'quiet' },
                  ' together with ',
                  scopeLinks(othersOf(setOf(waiter.scopes), key, waiter.scope)),
                )
              : null,
          ),
          h('td', {}, door(waiter.door)),
          h('td', {}, waiter.mode, waiter.scope ? `, ${rangeText(parseRange(waiter.scope))}` : ''),
          h('td', {}, span(now - waiter.waiting_since_ms)),
          h('td', {}, waiter.wait_until_ms ? span(waiter.wait_until_ms - now) : 'never'),
          h('td', {}, waiter.waits_for),
        ),
      ),
    ),
    length > queue.length ? h('p', { class: 'quiet' }, `and ${count(length - queue.length)} more`) : null,
  ];
}

/** One lock: who holds it, who waits and why, what happened to it. */
export function lockView(root, lockKind, name) {
  const key = lockKey(lockKind, name);
  const lastHolds = createLockHistory(lockKind, name, key);
  const election = createElection(lockKind, name);
  let queue = { queue: [], queue_length: 0 };
  let seen = '';
  let askedAt = 0;
  let isAsking = false;

  function askForQueue(page) {
    const lock = page.state.locks.get(key);
    const last = historyOf(page.state, key, 1)[0];
    const sight = `${lock?.waiters ?? 0} ${last?.at} ${last?.type} ${page.connection}`;
    if (sight === seen || isAsking || Date.now() - askedAt < QUEUE_INTERVAL_MS || page.connection !== 'live')
      return;
    seen = sight;
    isAsking = true;
    askedAt = Date.now();
    askJson(lockPath({ kind: lockKind, name }, '&queue=true'))
      .then((answer) => {
        queue = { queue: [], ...answer };
        page.redraw();
      })
      .catch(() => {
        seen = '';
      })
      .finally(() => {
        isAsking = false;
      });
  }

  async function forceRelease(page) {
    const holders = [...(page.state.locks.get(key)?.holders.values() ?? [])];
    const others = [...new Set(holders.flatMap(({ set, scope }) => othersOf(set, key, scope)))];
    const isSure = await page.confirm(
      `Force release ${name}?`,
      `${holders.map(({ owner }) => owner).join(', ')} will not be told. If it is still at work, it goes on without the lock; only a fencing token keeps it from doing harm.${
        others.length > 0 ? ` The lease is also on ${listed(others, 6)}: they are released, too.` : ''
      }`,
    );
    if (!isSure) return;
    const answer = await change('DELETE', lockPath({ kind: lockKind, name }));
    page.say(answer.body.released ? `Released ${name}.` : (answer.body.error ?? 'Nobody held it any more.'));
  }

  return {
    title: name,
    update(page) {
      const { state, serverNow } = page;
      const lock = state.locks.get(key);
      askForQueue(page);
      const mayForce = page.status?.admin && lock && lock.holders.size > 0;
      morph(
        root,
        h(
          'div',
          { class: 'toolbar' },
          h('h1', { class: 'lock-title' }, title({ kind: lockKind, name })),
          kind(lockKind),
          lock?.limit > 1
            ? h('span', { class: 'quiet' }, `${lock.holders.size} of ${lock.limit} permits held`)
            : null,
          h('span', { class: 'grow' }),
          mayForce
            ? h(
                'button',
                { type: 'button', class: 'danger', id: 'force', on: { click: () => forceRelease(page) } },
                'Force release…',
              )
            : null,
        ),
        h('div', { class: 'alerts' }, deadlockCards(state.deadlocks, serverNow, key)),
        h(
          'section',
          { class: 'card' },
          h('h2', {}, lock?.holders.size > 1 ? `Holders (${lock.holders.size})` : 'Holder'),
          holdersTable(lock, serverNow),
        ),
        h('div', { class: 'alerts' }, setCards(lock), election(page, lock ? firstHolder(lock) : null)),
        lockKind === 'inode' && lock
          ? h('section', { class: 'card' }, h('h2', {}, 'Ranges, to scale'), rangeChart(lock, queue.queue))
          : null,
        h(
          'section',
          { class: 'card' },
          h('h2', {}, `Queue${lock?.waiters ? ` (${count(lock.waiters)})` : ''}`),
          queueTable(lock?.waiters ? queue.queue : [], lock?.waiters ?? 0, serverNow, key),
        ),
        lastHolds(page),
        h(
          'section',
          { class: 'card' },
          h('h2', {}, 'Lately'),
          historyList(historyOf(state, key, 30), { key, isKept: state.past.isKept }),
        ),
        h('p', { class: 'quiet' }, `As of ${clock(serverNow)}.`),
      );
    },
  };
}
