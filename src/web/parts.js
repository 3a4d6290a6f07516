// Pieces that several views show.

import { h } from './dom.js';
import { clock, countdown, sentence } from './format.js';
import { shareLeft } from './listing.js';

/** What people call it: `inode 7`, but a name as it is. */
export function title(lock) {
  return lock.kind === 'inode' ? `inode ${lock.name}` : lock.name;
}

export function titleOfKey(key, name) {
  return key.startsWith('inode:') ? `inode ${name}` : name;
}

export function lockHref(lock) {
  return `#/lock/${lock.kind}/${encodeURIComponent(lock.name)}`;
}

export function hrefOfKey(key) {
  const at = key.indexOf(':');
  return `#/lock/${key.slice(0, at)}/${encodeURIComponent(key.slice(at + 1))}`;
}

/** A bar that empties as the lease runs out, and the time left. */
export function leaseBar(holder, now) {
  const left = (holder.inGrace ? holder.graceUntil : holder.expiry) - now;
  const share = shareLeft(holder, now);
  const tone = holder.inGrace ? 'grace' : share < 0.2 ? 'low' : 'good';
  return h(
    'span',
    { class: `lease ${tone}` },
    h(
      'span',
      { class: 'lease-track', 'aria-hidden': 'true' },
      h('span', { class: 'lease-fill', style: { width: `${(share * 100).toFixed(1)}%` } }),
    ),
    h('span', { class: 'lease-text' }, `${countdown(left)}${holder.inGrace ? ' grace' : ''}`),
  );
}

export function door(name) {
  return h('span', { class: `door door-${name}` }, name);
}

export function kind(name) {
  return h('span', { class: `kind kind-${name}` }, name);
}

/** What has happened, the newest first. */
export function historyList(entries, { withNames }) {
  if (entries.length === 0)
    return h('p', { class: 'quiet' }, 'Nothing has happened since this page was opened.');
  return h(
    'ol',
    { class: 'history' },
    entries.map((entry) =>
      h(
        'li',
        {},
        h('time', {}, clock(entry.at)),
        h('span', { class: `event event-${entry.type}`, 'aria-hidden': 'true' }),
        h(
          'span',
          { class: 'history-text' },
          withNames && entry.key
            ? [h('a', { href: hrefOfKey(entry.key) }, titleOfKey(entry.key, entry.name)), ' ']
            : withNames
              ? `${entry.name} `
              : null,
          sentence(entry),
        ),
      ),
    ),
  );
}

/** What to see when there is nothing: how to take the first lock. */
export function emptyState() {
  const line = `curl -X POST '${location.origin}/lock?job=photos&client=laptop1&ttl=60s'`;
  return h(
    'section',
    { class: 'empty' },
    h('h2', {}, 'Nobody holds a lock'),
    h('p', {}, 'Take the first one, in a terminal:'),
    h('pre', { tabindex: '0', 'aria-label': 'A command that takes a lock' }, h('code', {}, line)),
    h(
      'p',
      {},
      'It appears here at once, counts down, and goes when its minute is over. Or ',
      h('a', { href: '#/try' }, 'try it in this page'),
      '.',
    ),
  );
}

/** A table that can be scrolled sideways where it is too wide, by keyboard too. */
export function wideTable(label, heads, rows) {
  return h(
    'div',
    { class: 'table-scroll', tabindex: '0', role: 'group', 'aria-label': label },
    h(
      'table',
      { class: 'plain' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      h('tbody', {}, rows),
    ),
  );
}
