import { h, morph } from './dom.js';
import { count, milliseconds, rate } from './format.js';
import { emptyState, historyList, lockHref, leaseBar, door } from './parts.js';
import { linePoints, recentMean } from './series.js';
import { firstHolder } from './listing.js';
import { historyOf } from './store.js';

const CHART = { width: 240, height: 44 };
const BUSIEST_MAX = 8;
const RECENT_SECONDS = 5;

function tile(title, value, note, values, tone) {
  const points = linePoints(values, CHART.width, CHART.height);
  return h('section', { class: `tile tile-${tone}`, 'aria-label': `${title}: ${value}` },
    h('h2', {}, title),
    h('p', { class: 'tile-value' }, value),
    h('p', { class: 'tile-note' }, note),
    h('svg', { viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('polyline', { points, fill: 'none', 'vector-effect': 'non-scaling-stroke' })));
}

function tiles({ state, series, status }) {
  const figures = status?.figures;
  const isInMemory = status?.configuration.data === 'in memory';
  const latency = series.commit.at(-1) ?? 0;
  return h('div', { class: 'tiles' },
    tile('Held', count(state.held), `on ${count(state.locks.size)} locks`, series.held, 'held'),
    tile('Waiting', count(state.waiting), state.waiting === 0 ? 'nobody' : 'in queues', series.waiting, 'waiting'),
    tile('Grants per second', rate(recentMean(series.grants, RECENT_SECONDS)), figures ? `${count(figures.grants)} in all` : '\u00a0', series.grants, 'grants'),
    tile('Expiries per second', rate(recentMean(series.expiries, RECENT_SECONDS)), figures ? `${count(figures.expiries)} in all` : '\u00a0', series.expiries, 'expiries'),
    tile('Commit', isInMemory ? 'none' : milliseconds(latency), isInMemory ? 'kept in memory only' : 'mean of a transaction', series.commit, 'commit'));
}

function busiest(state, now) {
  const locks = [...state.locks.values()].filter((lock) => lock.waiters > 0)
    .sort((a, b) => b.waiters - a.waiters || (a.name < b.name ? -1 : 1)).slice(0, BUSIEST_MAX);
  if (locks.length === 0) return h('p', { class: 'quiet' }, 'Nobody waits for anybody.');
  return h('table', { class: 'plain' },
    h('thead', {}, h('tr', {}, ['Lock', 'Holder', 'Lease', 'Waiting'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, locks.map((lock) => {
      const holder = firstHolder(lock);
      return h('tr', {},
        h('td', { class: 'name' }, h('a', { href: lockHref(lock) }, lock.name)),
        h('td', {}, holder ? [holder.owner, ' ', door(holder.door)] : '-'),
        h('td', {}, holder ? leaseBar(holder, now) : '-'),
        h('td', { class: 'number' }, count(lock.waiters)));
    })));
}

/** Held, waiting, rates and latency; where people wait; what happens. */
export function overviewView(root) {
  return {
    title: 'Overview',
    update(page) {
      const { state, now } = page;
      const isEmpty = page.isLoaded && state.locks.size === 0;
      morph(root,
        h('h1', { class: 'visually-hidden' }, 'Overview'),
        tiles(page),
        isEmpty ? emptyState() : null,
        h('div', { class: 'columns' },
          h('section', { class: 'card' }, h('h2', {}, 'Where they wait'), busiest(state, now)),
          h('section', { class: 'card' }, h('h2', {}, 'As it happens'),
            historyList(historyOf(state, null, 14), { withNames: true }))));
    },
  };
}
