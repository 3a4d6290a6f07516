// What the page of a lock shows beside its holders and its queue: its last holds, its sets, the value of its leader.

import { askIfThere } from './api.js';
import { h } from './dom.js';
import { cut, moment, span } from './format.js';
import { addPage, createPast, endedHolds, historyPath, keysOfHold } from './history.js';
import { door, ending, scopeLinks, wideTable } from './parts.js';
import { parseRange } from './ranges.js';
import { encodeName, othersOf, textOfName } from './scopes.js';
import { rangeText } from './view_ranges.js';

const ROWS_FIRST = 10;
const ROWS_MORE = 50;
const VALUE_SHOWN = 400;

function holdRow(hold, key, now) {
  const others = hold.set.length > 0 ? othersOf(hold.set, key) : [];
  const isAlike = hold.mode === 'exclusive' && !hold.scope;
  return h(
    'tr',
    {},
    h(
      'td',
      {},
      hold.owner,
      byText(hold.grantedBy),
      isAlike
        ? null
        : h('span', { class: 'quiet' }, ` ${hold.scope ? rangeText(parseRange(hold.scope)) : hold.mode}`),
      others.length > 0 ? h('span', { class: 'quiet' }, ' with ', scopeLinks(others)) : null,
      hold.metadata ? h('span', { class: 'quiet' }, ` ${hold.metadata}`) : null,
    ),
    h('td', {}, door(hold.door)),
    h('td', { class: 'time' }, moment(hold.from, now)),
    h('td', { class: 'time' }, moment(hold.to, now)),
    h('td', { class: 'time' }, hold.waited > 0 ? waitText(hold.waited) : 'not at all'),
    h('td', {}, ending(hold.ending), byText(hold.endedBy)),
    h('td', { class: 'number' }, String(hold.token)),
  );
}

// Who has asked for it: an access token, or a door and an address.
function byText(by) {
  return by ? h('span', { class: 'quiet' }, ` by ${by}`) : null;
}

function waitText(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : span(ms);
}

/** The last holds of a lock: what the server keeps, and what the page sees. */
export function createLockHistory(kind, name, key) {
  const past = createPast();
  let shown = ROWS_FIRST;
  let isAsking = false;
  let takenRevision = -1;

  async function ask(page) {
    if (isAsking || past.isWhole || !page.state.past.isKept || page.connection !== 'live') return;
    isAsking = true;
    try {
      const scope = textOfName(kind, name);
      addPage(past, await askIfThere(historyPath({ scope, after: past.next, limit: ROWS_MORE })));
    } catch {
      past.isKept = null; // asked again when something happens
    } finally {
      isAsking = false;
      page.redraw();
    }
  }

  // The page forgets its holds after some minutes; this view keeps those of its lock.
  function take(state) {
    if (state.revision === takenRevision) return;
    takenRevision = state.revision;
    for (const hold of endedHolds(key, state.holds.values(), past.holds.values()))
      past.holds.set(hold.token, hold);
  }

  return function lockHistory(page) {
    const { state, serverNow: now } = page;
    if (past.isKept === null && takenRevision !== state.revision) ask(page);
    take(state);
    const rows = [...past.holds.values()]
      .filter((hold) => keysOfHold(hold).includes(key))
      .sort((a, b) => b.to - a.to || b.token - a.token);
    if (past.isKept && rows.length < shown) ask(page); // somebody wants more than a page had
    const hasMore = rows.length > shown || (state.past.isKept && !past.isWhole && past.next !== undefined);
    const more = () => {
      shown += ROWS_MORE;
      page.redraw();
    };
    return h(
      'section',
      { class: 'card', id: 'last-holds' },
      h('h2', {}, 'Last holds', keptNote(state, past, now)),
      rows.length === 0
        ? h(
            'p',
            { class: 'quiet' },
            state.past.isKept ? 'No hold of it has ended.' : 'No hold has ended since this page was opened.',
          )
        : wideTable(
            'Last holds',
            ['Holder', 'Door', 'From', 'To', 'Waited', 'Ended', 'Fencing number'],
            rows.slice(0, shown).map((hold) => holdRow(hold, key, now)),
          ),
      hasMore
        ? h(
            'div',
            { class: 'actions start' },
            h('button', { type: 'button', id: 'older', on: { click: more } }, 'Show older'),
          )
        : null,
    );
  };
}

function keptNote(state, past, now) {
  const keptSince = past.keptSince ?? state.past.keptSince;
  if (state.past.isKept === false) return h('span', { class: 'quiet' }, ' the server keeps no history');
  return keptSince === null ? null : h('span', { class: 'quiet' }, ` kept since ${moment(keptSince, now)}`);
}

/** Each lease on several locks that holds this one: all of its locks. */
export function setCards(lock) {
  const seen = new Set();
  return [...(lock?.holders.values() ?? [])]
    .filter(({ set, token }) => set.length > 0 && !seen.has(token) && seen.add(token))
    .map(({ owner, set, token }) =>
      h(
        'section',
        { class: 'card set-card' },
        h('h2', {}, `One lease on ${set.length} locks`),
        h(
          'p',
          {},
          `${owner} was granted all of them at once, and they end together. Fencing number ${token}.`,
        ),
        h(
          'ul',
          { class: 'chips' },
          set.map((text) => h('li', {}, scopeLinks([text]))),
        ),
      ),
    );
}

/** The value of the holder of a lock, if it has one, and its revision. It is asked for once; events tell changes. */
export function createElection(kind, name) {
  let answer = null;
  let askedToken = null;
  let isThere = kind === 'named';

  async function ask(page, token) {
    askedToken = token;
    try {
      answer = await askIfThere(`/v1/elections/${encodeName(name)}`);
      isThere = answer !== null;
    } catch {
      askedToken = null; // asked again with the next holder or the next connection
    }
    page.redraw();
  }

  return function election(page, holder) {
    if (!holder || holder.inGrace) return null;
    if (isThere && askedToken !== holder.token && page.connection === 'live') ask(page, holder.token);
    const isOfHolder = answer !== null && answer.fencing_token === holder.token;
    const asked = isOfHolder && answer.value !== undefined ? answer : { value: '', revision: 0 };
    const { value, revision } = holder.revision >= asked.revision && holder.revision > 0 ? holder : asked;
    if (revision === 0) return null;
    return h(
      'section',
      { class: 'card', id: 'election' },
      h('h2', {}, 'Value of the leader'),
      h('pre', { class: 'value', tabindex: '0', 'aria-label': 'Value' }, cut(value, VALUE_SHOWN)),
      h('p', { class: 'quiet' }, `Revision ${revision}, set by ${holder.owner}.`),
    );
  };
}
