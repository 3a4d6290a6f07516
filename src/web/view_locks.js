import { keysOfDeadlock } from './deadlocks.js';
import { h, morph } from './dom.js';
import { count, countdown, span } from './format.js';
import { firstHolder, leaseCount, rowsOf, shareLeft } from './listing.js';
import { emptyState, lockHref, scopeLinks, title } from './parts.js';
import { listed, othersOf } from './scopes.js';

const ROW_HEIGHT = 40;
const ROWS_BEYOND = 6;
// However fast locks come and go, the list is put in order only so often; what is in view counts down meanwhile.
const ORDER_INTERVAL_MS = 300;

const COLUMNS = [
  { id: 'name', title: 'Lock' },
  { id: 'kind', title: 'Kind' },
  { id: 'owner', title: 'Owner' },
  { id: 'door', title: 'Door' },
  { id: 'age', title: 'Held for' },
  { id: 'lease', title: 'Lease' },
  { id: 'token', title: 'Fencing' },
  { id: 'queue', title: 'Queue' },
];

/** One row's elements, made once and filled again and again. */
function createRow(showSet) {
  const cell = (name, ...children) => h('span', { role: 'cell', class: `cell cell-${name}` }, ...children);
  const parts = {
    link: h('a', { class: 'lock-link' }),
    set: h(
      'button',
      { type: 'button', class: 'set-mark', hidden: true, 'aria-haspopup': 'dialog' },
      h('span', { class: 'set-words' }, 'one of '),
      h('span', {}),
    ),
    kind: h('span', { class: 'kind' }),
    owner: h('span', { class: 'owner' }),
    mode: h('span', { class: 'mode' }),
    door: h('span', { class: 'door' }),
    age: h('span', {}),
    fill: h('span', { class: 'lease-fill' }),
    left: h('span', { class: 'lease-text' }),
    token: h('span', {}),
    queue: h('span', {}),
  };
  const lease = h(
    'span',
    { class: 'lease' },
    h('span', { class: 'lease-track', 'aria-hidden': 'true' }, parts.fill),
    parts.left,
  );
  const element = h(
    'div',
    { role: 'row', class: 'row' },
    cell('name', parts.link, parts.set),
    cell('kind', parts.kind),
    cell('owner', parts.owner, parts.mode),
    cell('door', parts.door),
    cell('age', parts.age),
    cell('lease', lease),
    cell('token', parts.token),
    cell('queue', parts.queue),
  );
  parts.set.addEventListener('click', () => showSet(parts.set, element.lock));
  const title = h('button', { class: 'group-toggle', type: 'button' });
  const group = h(
    'div',
    { role: 'row', class: 'row row-group' },
    h('span', { role: 'cell', class: 'cell' }, title),
  );
  return { element, parts, lease, group, title };
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

// A lease on several locks says so at each of them.
function fillSetMark(mark, lock, holder) {
  const set = holder?.set ?? [];
  if (mark.hidden !== (set.length === 0)) mark.hidden = set.length === 0;
  if (set.length === 0) return;
  setText(mark.lastChild, String(set.length));
  const text = `One lease of ${holder.owner}, with ${listed(othersOf(set, lock.key, holder.scope), 6)}`;
  if (mark.title !== text) mark.title = text;
}

/** A box beside a mark, with links to all locks of a lease. The browser closes it when one does something else. */
function createSetBox() {
  const box = h('div', {
    class: 'set-box',
    popover: 'auto',
    role: 'dialog',
    'aria-label': 'One lease on several locks',
  });
  function show(mark, lock) {
    const holder = lock && firstHolder(lock);
    if (!holder || holder.set.length === 0) return;
    if (!box.showPopover) return location.assign(lockHref(lock)); // an old browser: the page of the lock has all of them
    const others = othersOf(holder.set, lock.key, holder.scope);
    morph(
      box,
      h(
        'p',
        {},
        h('strong', {}, title(lock)),
        ` is one of ${holder.set.length} locks of one lease of ${holder.owner}. The others:`,
      ),
      h(
        'ul',
        { class: 'chips' },
        others.map((text) => h('li', {}, scopeLinks([text]))),
      ),
    );
    box.showPopover();
    const { left, bottom } = mark.getBoundingClientRect();
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - box.offsetHeight - 8))}px`;
    box.querySelector('a')?.focus();
  }
  return { box, show };
}

function fillQueue(badge, lock, isStuck) {
  if (lock.waiters === 0) {
    setText(badge, '');
    return setClass(badge, '');
  }
  setText(badge, `${count(lock.waiters)}${isStuck ? ', deadlock' : ' waiting'}`);
  setClass(badge, isStuck ? 'badge badge-deadlock' : 'badge');
}

function fillRow(row, lock, now, isStuck) {
  const { parts } = row;
  const holder = firstHolder(lock);
  row.element.lock = lock;
  fillSetMark(parts.set, lock, holder);
  const others = leaseCount(lock) - 1;
  setText(parts.link, title(lock));
  const href = lockHref(lock);
  if (parts.link.getAttribute('href') !== href) parts.link.setAttribute('href', href);
  setText(parts.kind, lock.kind === 'semaphore' ? `semaphore ${lock.holders.size}/${lock.limit}` : lock.kind);
  setClass(parts.kind, `kind kind-${lock.kind}`);
  setText(parts.owner, holder ? `${holder.owner}${others > 0 ? ` +${others}` : ''}` : 'nobody');
  setText(parts.mode, holder?.mode === 'shared' ? 'shared' : '');
  setText(parts.door, holder?.door ?? '');
  setClass(parts.door, holder ? `door door-${holder.door}` : '');
  setText(parts.age, holder ? span(now - holder.acquired) : '');
  setText(parts.token, holder ? String(holder.token) : '');
  fillQueue(parts.queue, lock, isStuck);
  if (!holder) {
    setText(parts.left, '');
    parts.fill.style.width = '0';
    return;
  }
  const share = shareLeft(holder, now);
  setClass(row.lease, `lease ${holder.inGrace ? 'grace' : share < 0.2 ? 'low' : 'good'}`);
  parts.fill.style.width = `${(share * 100).toFixed(1)}%`;
  setText(
    parts.left,
    `${countdown((holder.inGrace ? holder.graceUntil : holder.expiry) - now)}${holder.inGrace ? ' grace' : ''}`,
  );
}

/** The table of all locks; only the rows in view exist. */
export function locksView(root) {
  const order = { filter: '', sort: 'name', descending: false, grouped: false, closed: new Set() };
  let rows = [];
  let orderedAt = 0;
  let orderedRevision = -1;
  let page = null;
  let stuck = new Set();
  const pool = [];

  const filter = h('input', {
    type: 'search',
    id: 'filter',
    placeholder: 'Filter by name, owner, door',
    'aria-label': 'Filter locks',
    on: {
      input: () => {
        order.filter = filter.value;
        reorder();
      },
    },
  });
  const grouped = h('input', {
    type: 'checkbox',
    on: {
      change: () => {
        order.grouped = grouped.checked;
        reorder();
      },
    },
  });
  const total = h('span', { class: 'quiet', role: 'status' });
  const sortPick = h(
    'select',
    { 'aria-label': 'Sort by', on: { change: () => sortBy(sortPick.value, false) } },
    COLUMNS.map(({ id, title }) => h('option', { value: id }, title)),
  );
  const heads = COLUMNS.map(({ id, title }) =>
    h(
      'span',
      { role: 'columnheader', class: `cell cell-${id}` },
      h(
        'button',
        {
          type: 'button',
          class: 'sort',
          on: { click: () => sortBy(id, order.sort === id && !order.descending) },
        },
        title,
      ),
    ),
  );
  const spacer = h('div', { class: 'spacer', role: 'presentation' });
  const scroller = h(
    'div',
    { class: 'scroller', tabindex: '0', role: 'rowgroup', 'aria-label': 'Locks, scrollable' },
    spacer,
  );
  const table = h(
    'div',
    { class: 'locks', role: 'table', 'aria-label': 'Locks' },
    h('div', { class: 'row row-head', role: 'row' }, heads),
    scroller,
  );
  const empty = h('div', {});
  const setBox = createSetBox();
  morph(
    root,
    h(
      'div',
      { class: 'toolbar' },
      h('h1', {}, 'Locks'),
      filter,
      h('label', { class: 'sort-pick' }, 'Sort ', sortPick),
      h('label', { class: 'check' }, grouped, ' group by prefix'),
      total,
    ),
    empty,
    table,
    setBox.box,
  );
  scroller.addEventListener('scroll', () => page && fill(), { passive: true });

  function sortBy(id, descending) {
    order.sort = id;
    order.descending = descending;
    sortPick.value = id;
    reorder();
  }
  function reorder() {
    orderedRevision = -1;
    if (page) update(page, true);
  }

  function update(next, isForced = false) {
    page = next;
    stuck = new Set(page.state.deadlocks.flatMap(keysOfDeadlock));
    const isDue = page.state.revision !== orderedRevision && page.now - orderedAt >= ORDER_INTERVAL_MS;
    if (isForced || isDue || orderedAt > page.now) {
      rows = rowsOf(page.state.locks.values(), order);
      orderedAt = page.now;
      orderedRevision = page.state.revision;
      spacer.style.height = `${rows.length * ROW_HEIGHT}px`;
      table.setAttribute('aria-rowcount', String(rows.length + 1));
      const shown = rows.filter((row) => row.lock).length;
      setText(
        total,
        order.filter
          ? `${count(shown)} of ${count(page.state.locks.size)}`
          : `${count(page.state.locks.size)} locks`,
      );
      heads.forEach((head, index) =>
        head.setAttribute(
          'aria-sort',
          COLUMNS[index].id !== order.sort ? 'none' : order.descending ? 'descending' : 'ascending',
        ),
      );
      const isEmpty = page.isLoaded && page.state.locks.size === 0;
      table.hidden = isEmpty;
      morph(empty, isEmpty ? emptyState() : null);
    }
    fill();
  }

  function fill() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - ROWS_BEYOND);
    const last = Math.min(
      rows.length,
      Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW_HEIGHT) + ROWS_BEYOND,
    );
    const needed = Math.max(0, last - first);
    while (pool.length < needed) {
      const slot = h('div', { class: 'slot', role: 'presentation' });
      spacer.append(slot);
      pool.push({ slot, row: createRow(setBox.show), shown: null });
    }
    pool.forEach((entry, index) => {
      // A row stays in its slot while it is in view, so that focus stays with it.
      const at = first + ((((index - first) % pool.length) + pool.length) % pool.length);
      const wanted = at < last ? rows[at] : null;
      entry.slot.hidden = !wanted;
      if (wanted) place(entry, wanted, at);
      else entry.slot.replaceChildren(); // a lock has one link in the page, and none when it is not shown
    });
  }

  function place(entry, wanted, at) {
    const { slot, row } = entry;
    const top = `translateY(${at * ROW_HEIGHT}px)`;
    if (slot.style.transform !== top) slot.style.transform = top;
    const element = wanted.lock ? row.element : row.group;
    if (slot.firstChild !== element) slot.replaceChildren(element);
    element.setAttribute('aria-rowindex', String(at + 2));
    if (wanted.lock) return fillRow(row, wanted.lock, page.serverNow, stuck.has(wanted.lock.key));
    setText(
      row.title,
      `${wanted.isClosed ? '▸' : '▾'} ${wanted.group}… ${count(wanted.count)} locks${wanted.waiters ? `, ${count(wanted.waiters)} waiting` : ''}`,
    );
    row.title.setAttribute('aria-expanded', String(!wanted.isClosed));
    row.title.onclick = () => {
      if (!order.closed.delete(wanted.group)) order.closed.add(wanted.group);
      reorder();
    };
  }

  return { title: 'Locks', update };
}
