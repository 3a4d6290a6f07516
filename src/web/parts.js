// Pieces that several views show.

import { h } from './dom.js';
import { clock, count, countdown, sentence } from './format.js';
import { ENDINGS, endingText } from './history.js';
import { shareLeft } from './listing.js';
import { encodeName, keyOfText, listed, othersOf } from './scopes.js';

/** What people call it: `inode 7`, but a name as it is. */
export function title(lock) {
  return lock.kind === 'inode' ? `inode ${lock.name}` : lock.name;
}

export function titleOfKey(key, name) {
  return key.startsWith('inode:') ? `inode ${name}` : name;
}

export function lockHref(lock) {
  return `#/lock/${lock.kind}/${encodeName(lock.name)}`;
}

export function hrefOfKey(key) {
  const at = key.indexOf(':');
  return `#/lock/${key.slice(0, at)}/${encodeName(key.slice(at + 1))}`;
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

/** Links to locks by their texts, separated by commas; beyond `max`, their number. */
export function scopeLinks(texts, max = 4) {
  const links = texts.slice(0, max).map((text) => h('a', { href: hrefOfKey(keyOfText(text)) }, text));
  return [
    ...links.flatMap((link, index) => (index === 0 ? [link] : [', ', link])),
    texts.length > max
      ? h('span', { title: listed(texts, texts.length) }, ` and ${count(texts.length - max)} more`)
      : null,
  ];
}

/** How a hold ended: a mark and words. */
export function ending(name) {
  return h(
    'span',
    { class: `ending ending-${name}` },
    h('span', { class: 'ending-mark', 'aria-hidden': 'true' }, ENDINGS[name]?.mark ?? '?'),
    endingText(name),
  );
}

function entryLocks(entry) {
  if (entry.set.length > 0) return [...scopeLinks(entry.set), ' '];
  if (!entry.key) return [`${entry.name} `];
  return [h('a', { href: hrefOfKey(entry.key) }, titleOfKey(entry.key, entry.name)), ' '];
}

/**
 * What has happened, the newest first; of one lock, if its key is given. `isKept`: what was before the page is known,
 * too.
 */
export function historyList(entries, { key = null, isKept = false }) {
  if (entries.length === 0)
    return h(
      'p',
      { class: 'quiet' },
      isKept ? 'Nothing has happened lately.' : 'Nothing has happened since this page was opened.',
    );
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
          { class: entry.set.length > 0 ? 'history-text long' : 'history-text' },
          key === null ? entryLocks(entry) : entry.type === 'deadlock' ? 'deadlock: ' : null,
          sentence(entry),
          key !== null && entry.set.length > 0 ? [', with ', ...scopeLinks(othersOf(entry.set, key))] : null,
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
