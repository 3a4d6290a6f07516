import { h, morph } from './dom.js';
import { bytes } from './format.js';
import { lockHref } from './parts.js';
import { layOut, parseRange } from './ranges.js';
import { colourOf } from './timeline.js';

const LANE_HEIGHT = 26;

/** Which bytes, for people. */
export function rangeText({ start, end }) {
  return end === Infinity
    ? start === 0
      ? 'the whole file'
      : `${bytes(start)} to the end`
    : `${bytes(start)} to ${bytes(end)}`;
}

/** Who holds which bytes, to scale; those who wait below, hatched. */
export function rangeChart(lock, queue = []) {
  const items = [
    ...[...lock.holders.values()].map((holder) => ({
      ...parseRange(holder.scope),
      owner: holder.owner,
      what: `${holder.mode}${holder.inGrace ? ', in grace' : ''}`,
      tone: `held ${holder.mode}`,
    })),
    ...queue.map((waiter) => ({
      ...parseRange(waiter.scope ?? ''),
      owner: waiter.owner_id,
      what: 'waits',
      tone: 'wanted',
    })),
  ];
  const { extent, lanes, places } = layOut(items);
  return h(
    'div',
    { class: 'ranges' },
    h(
      'ul',
      { class: 'range-lanes', style: { height: `${lanes * LANE_HEIGHT}px` } },
      items.map((item, index) => {
        const place = places[index];
        const text = `${item.owner}: ${rangeText(item)}, ${item.what}`;
        return h(
          'li',
          {
            class: `range ${item.tone} colour-${colourOf(item.owner)}${place.isOpen ? ' open' : ''}`,
            title: text,
            style: {
              left: `${place.left * 100}%`,
              width: `${place.width * 100}%`,
              top: `${place.lane * LANE_HEIGHT}px`,
            },
          },
          h('span', { 'aria-hidden': 'true' }, item.owner),
          h('span', { class: 'visually-hidden' }, text),
        );
      }),
    ),
    h(
      'p',
      { class: 'scale', 'aria-hidden': 'true' },
      [0, 0.25, 0.5, 0.75, 1].map((share) => h('span', {}, bytes(extent * share))),
    ),
  );
}

/** What is locked of the files, by their inodes and by their paths. */
export function lockedFiles(state, hasFiles) {
  const inodes = [...state.locks.values()]
    .filter((lock) => lock.kind === 'inode')
    .sort((a, b) => b.holders.size - a.holders.size || Number(a.name) - Number(b.name));
  const paths = [...state.locks.values()]
    .filter((lock) => lock.kind === 'path')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (inodes.length + paths.length === 0)
    return hasFiles
      ? h('p', { class: 'quiet' }, 'No file, and no part of one, is locked.')
      : h(
          'p',
          { class: 'quiet' },
          'No file, and no part of one, is locked. Files are locked at ',
          h('code', {}, '/v1/leases'),
          '. A server with ',
          h('code', {}, '--files-root'),
          ' serves files, too.',
        );
  return h(
    'div',
    { class: 'stack', id: 'locked-files' },
    inodes.slice(0, 50).map((lock) =>
      h(
        'section',
        { class: 'card' },
        h(
          'h2',
          {},
          h('a', { href: lockHref(lock) }, `Inode ${lock.name}`),
          h('span', { class: 'quiet' }, ` ${lock.holders.size} held, ${lock.waiters} waiting`),
        ),
        rangeChart(lock),
      ),
    ),
    inodes.length > 50 ? h('p', { class: 'quiet' }, `and ${inodes.length - 50} more inodes`) : null,
    paths.length > 0 ? pathsCard(paths) : null,
  );
}

function pathsCard(paths) {
  const owners = (lock) => [...lock.holders.values()].map((holder) => holder.owner).join(', ');
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Locked paths'),
    h(
      'ul',
      { class: 'paths' },
      paths
        .slice(0, 200)
        .map((lock) =>
          h(
            'li',
            {},
            h('a', { href: lockHref(lock) }, lock.name),
            h('span', { class: 'quiet' }, ` ${owners(lock)}${lock.waiters ? `, ${lock.waiters} waiting` : ''}`),
          ),
        ),
    ),
  );
}
