import { h, morph } from './dom.js';
import { count, milliseconds, rate } from './format.js';
import { emptyState, historyList, lockHref, leaseBar, door, title, wideTable } from './parts.js';
import { areaPoints, linePoints, recentMean } from './series.js';
import { firstHolder } from './listing.js';
import { historyOf } from './store.js';
import { deadlockCards } from './view_deadlocks.js';

const CHART = { width: 240, height: 44 };
const BUSIEST_MAX = 6;
const ENDING_MAX = 5;
const RECENT_SECONDS = 5;

function tile(title, value, note, values, tone, now) {
  const points = linePoints(values, CHART.width, CHART.height, now);
  return h(
    'section',
    { class: `tile tile-${tone}`, 'aria-label': `${title}: ${value}` },
    h('h2', {}, title),
    h('p', { class: 'tile-value' }, value),
    h('p', { class: 'tile-note' }, note),
    h(
      'svg',
      { viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('polyline', { class: 'area', points: areaPoints(points, CHART.height) }),
      h('polyline', { points, fill: 'none', 'vector-effect': 'non-scaling-stroke' }),
    ),
  );
}

function tiles({ state, series, status, now }) {
  const figures = status?.figures;
  const isInMemory = status?.configuration.data === 'in memory';
  const latency = series.commit.at(-1) ?? 0;
  return h(
    'div',
    { class: 'tiles' },
    tile('Held', count(state.held), `on ${count(state.locks.size)} locks`, series.held, 'held', now),
    tile(
      'Waiting',
      count(state.waiting),
      state.waiting === 0 ? 'nobody' : 'in queues',
      series.waiting,
      'waiting',
      now,
    ),
    tile(
      'Grants per second',
      rate(recentMean(series.grants, RECENT_SECONDS)),
      figures ? `${count(figures.grants)} in all` : '\u00a0',
      series.grants,
      'grants',
      now,
    ),
    tile(
      'Expiries per second',
      rate(recentMean(series.expiries, RECENT_SECONDS)),
      figures ? `${count(figures.expiries)} in all` : '\u00a0',
      series.expiries,
      'expiries',
      now,
    ),
    tile(
      'Commit',
      isInMemory ? 'none' : milliseconds(latency),
      isInMemory ? 'kept in memory only' : 'mean of a transaction',
      series.commit,
      'commit',
      now,
    ),
  );
}

/** The `max` first of the locks, in this order, without sorting all of them. */
function firstOf(locks, max, isBefore) {
  const found = [];
  for (const lock of locks) {
    if (found.length === max && !isBefore(lock, found[max - 1])) continue;
    const at = found.findIndex((other) => isBefore(lock, other));
    found.splice(at < 0 ? found.length : at, 0, lock);
    if (found.length > max) found.pop();
  }
  return found;
}

function busiest(state, now) {
  const locks = firstOf(state.locks.values(), BUSIEST_MAX, (a, b) => a.waiters > b.waiters).filter(
    (lock) => lock.waiters > 0,
  );
  return locks.length === 0 ? h('p', { class: 'quiet' }, 'Nobody waits for anybody.') : lockTable(locks, now);
}

function endingSoon(state, now) {
  const end = (lock) => firstHolder(lock)?.expiry ?? Infinity;
  const locks = firstOf(state.locks.values(), ENDING_MAX, (a, b) => end(a) < end(b)).filter(firstHolder);
  return locks.length === 0 ? h('p', { class: 'quiet' }, 'No lease runs.') : lockTable(locks, now);
}

function ownerAndDoor(holder) {
  const owner = h('span', { class: 'owner' }, holder.owner);
  return h('span', { class: 'owner-door' }, owner, ' ', door(holder.door));
}

function lockTable(locks, now) {
  return wideTable(
    'Locks',
    ['Lock', 'Holder', 'Lease', 'Waiting'],
    locks.map((lock) => {
      const holder = firstHolder(lock);
      return h(
        'tr',
        {},
        h('td', { class: 'name' }, h('a', { href: lockHref(lock) }, title(lock))),
        h('td', {}, holder ? ownerAndDoor(holder) : '-'),
        h('td', {}, holder ? leaseBar(holder, now) : '-'),
        h('td', { class: 'number' }, lock.waiters === 0 ? '' : count(lock.waiters)),
      );
    }),
  );
}

/** Held, waiting, rates and latency; where people wait; what happens. */
export function overviewView(root) {
  return {
    title: 'Overview',
    update(page) {
      const { state, serverNow: now } = page;
      const isEmpty = page.isLoaded && state.locks.size === 0;
      morph(
        root,
        h('h1', { class: 'visually-hidden' }, 'Overview'),
        h('div', { class: 'alerts' }, deadlockCards(state.deadlocks, now)),
        tiles(page),
        h('p', { class: 'quiet note' }, 'The curves show the last 10 minutes.'),
        isEmpty ? emptyState() : null,
        h(
          'div',
          { class: 'columns' },
          h(
            'div',
            { class: 'stack' },
            h('section', { class: 'card' }, h('h2', {}, 'Where they wait'), busiest(state, now)),
            h('section', { class: 'card' }, h('h2', {}, 'Ending next'), endingSoon(state, now)),
          ),
          h(
            'section',
            { class: 'card' },
            h('h2', {}, 'As it happens'),
            historyList(historyOf(state, null, 16), { isKept: state.past.isKept }),
          ),
        ),
      );
    },
  };
}
