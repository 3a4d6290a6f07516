import { askIfThere } from './api.js';
import { h, morph } from './dom.js';
import { clock, moment } from './format.js';
import { addInterval, ENDINGS, findGap, historyPath, holdOfRow } from './history.js';
import { ending, hrefOfKey, titleOfKey } from './parts.js';
import { barText, colourOf, timelineRows } from './timeline.js';

const ROWS_MAX = 40;
const LANE_HEIGHT = 26;
const MINUTE = 60_000;
const WINDOWS = [
  { ms: MINUTE, text: '1 minute' },
  { ms: 5 * MINUTE, text: '5 minutes' },
  { ms: 15 * MINUTE, text: '15 minutes' },
  { ms: 60 * MINUTE, text: '1 hour' },
  { ms: 6 * 60 * MINUTE, text: '6 hours' },
  { ms: 24 * 60 * MINUTE, text: '1 day' },
];
const PAGE_LENGTH = 1000;
// So many holds are remembered while the view is open.
const HOLDS_MAX = 50_000;
// A button or a key moves the window by this share of it.
const STEP = 0.5;
const NEARLY = 0.05;
const RETRY_MS = 5000;

function bar(item, choose) {
  const text = barText(item);
  const colour = item.count ? 'many' : `colour-${colourOf(item.owner)}`;
  const isMarked = item.endsInside && !item.isOpen;
  return h(
    'li',
    {
      class: `bar ${colour}${item.isOpen ? ' open' : ''} ${item.ending}`,
      title: text,
      style: {
        left: `${(item.left * 100).toFixed(2)}%`,
        width: `${(item.width * 100).toFixed(2)}%`,
        top: `${item.lane * LANE_HEIGHT}px`,
      },
      on: { click: () => choose(text) },
    },
    h('span', { class: 'bar-text', 'aria-hidden': 'true' }, item.count ? `${item.count} holds` : item.owner),
    item.set?.length > 0
      ? h('span', { class: 'bar-set', 'aria-hidden': 'true' }, `${item.set.length}`)
      : null,
    isMarked
      ? h(
          'span',
          { class: `bar-end end-${item.ending}`, 'aria-hidden': 'true' },
          ENDINGS[item.ending]?.mark ?? '?',
        )
      : null,
    h('span', { class: 'visually-hidden' }, text),
  );
}

function legend() {
  return h(
    'ul',
    { class: 'legend', 'aria-label': 'How a hold ended' },
    Object.keys(ENDINGS)
      .filter((name) => name !== 'unseen')
      .map((name) => h('li', {}, ending(name))),
  );
}

/** The holds that the view knows: those that the page has seen, and older ones that are read when they are needed. */
function createReader() {
  let holds = new Map();
  let known = []; // the times of which all holds are known
  let first = Infinity; // since when the page knows them
  let isLoading = false;
  let pages = 0;
  let failedAt = 0;

  function addRows(page, gap) {
    const oldest = Math.min(...page.history.map((row) => Date.parse(row.ended_at)));
    for (const hold of page.history.map(holdOfRow)) if (!holds.has(hold.token)) holds.set(hold.token, hold);
    // What ended at the end of a full page may go on in the next one. A page without progress is the last.
    const isCut = page.next !== undefined && oldest > gap.from && oldest < gap.to;
    known = addInterval(known, isCut ? oldest : gap.from, gap.to);
  }

  return {
    holds: () => holds.values(),
    isLoading: () => isLoading,
    isFull: () => holds.size > HOLDS_MAX,
    /** Changes when something is read. */
    progress: () => `${pages} ${isLoading}`,
    /** Forgets what was read, if it is too much. */
    trim() {
      if (holds.size <= HOLDS_MAX) return;
      holds = new Map();
      first = Infinity;
      known = [];
    },
    /** Takes over what the page knows, before it is forgotten there. */
    take({ holds: seen, past: { since } }) {
      if (first === Infinity && since !== Infinity) {
        first = since;
        known = addInterval(known, since, Infinity);
      }
      for (const hold of seen.values()) holds.set(hold.token, hold);
    },
    /** Nothing is known of the time before this one, and nothing can be read. */
    beginning({ past: { isKept, keptSince } }) {
      return isKept && keptSince !== null ? keptSince : first;
    },
    /** Reads a page of what is not known of this time. */
    async reach(page, from, to) {
      const gap = findGap(known, Math.max(from, this.beginning(page.state)), to);
      const mayAsk = page.state.past.isKept && Date.now() - failedAt > RETRY_MS && !this.isFull();
      if (gap === null || isLoading || !mayAsk) return;
      isLoading = true;
      try {
        const span = { since: Math.floor(gap.from), until: Math.ceil(gap.to) + 1 };
        const answer = await askIfThere(historyPath({ ...span, limit: PAGE_LENGTH }));
        addRows(answer ?? { history: [] }, gap);
      } catch {
        failedAt = Date.now(); // the connection is lost, or the server cannot read now
      } finally {
        isLoading = false;
        pages += 1;
        page.redraw();
      }
    },
  };
}

/** Holds, a row for each lock; where a bar meets the next, the lock was handed over. One can go back in time. */
export function timelineView(root) {
  const reader = createReader();
  let windowMs = WINDOWS[1].ms;
  let end = null; // null: now
  let page = null;
  let drawnAt = 0;
  let drawnProgress = '';
  let chosen = '';

  const pick = h(
    'select',
    { 'aria-label': 'How long', on: { change: () => change(() => (windowMs = Number(pick.value))) } },
    WINDOWS.map(({ ms, text }) => h('option', { value: ms, selected: ms === windowMs }, text)),
  );
  const button = (text, click) => h('button', { type: 'button', on: { click } }, text);
  const earlier = button('← Earlier', () => move(-STEP));
  const later = button('Later →', () => move(STEP));
  const live = button('Now', () => change(() => (end = null)));
  const known = h('span', { class: 'quiet', role: 'status' });
  const chart = h('div', {
    class: 'timeline-chart',
    tabindex: '0',
    role: 'group',
    'aria-label': 'Holds. The arrow keys go back and forth in time.',
    'data-keep': true,
  });
  morph(
    root,
    h(
      'div',
      { class: 'toolbar' },
      h('h1', {}, 'Timeline'),
      h('label', {}, 'Show ', pick),
      h('span', { class: 'button-group' }, earlier, later, live),
      known,
    ),
    legend(),
    chart,
  );
  listenForMoves();

  function change(apply) {
    apply();
    reader.trim();
    drawnAt = 0;
    if (page) update(page);
  }

  // Moves the window by a share of it: back as far as something can be known, and forward until now.
  function move(share) {
    if (!page) return;
    const now = page.serverNow;
    const first = reader.beginning(page.state) + windowMs / 2;
    const wanted = Math.max(Math.min(first, now), (end ?? now) + share * windowMs);
    // One who goes forward and is nearly there wants to be there.
    const isNow = wanted >= (share > 0 ? now - windowMs * NEARLY : now);
    change(() => (end = isNow ? null : wanted));
  }

  function listenForMoves() {
    let dragged = null;
    let hasMoved = false;
    const widthOfBars = () => chart.querySelector('.bars')?.clientWidth || chart.clientWidth || 1;
    chart.addEventListener('keydown', (event) => {
      const share = { ArrowLeft: -STEP / 2, ArrowRight: STEP / 2, PageUp: -1, PageDown: 1 }[event.key];
      if (share === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(share);
    });
    chart.addEventListener(
      'wheel',
      (event) => {
        const pixels = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
        if (Math.abs(pixels) <= Math.abs(event.deltaY) && !event.shiftKey) return;
        event.preventDefault();
        move(pixels / widthOfBars());
      },
      { passive: false },
    );
    chart.addEventListener('pointerdown', (event) => {
      hasMoved = false;
      if (event.button === 0 && !event.target.closest('a')) dragged = event.clientX;
    });
    chart.addEventListener('click', (event) => hasMoved && event.stopPropagation(), { capture: true });
    addEventListenerWhileShown('pointermove', (event) => {
      if (dragged === null || Math.abs(event.clientX - dragged) < 3) return;
      const share = (dragged - event.clientX) / widthOfBars();
      dragged = event.clientX;
      hasMoved = true;
      move(share);
    });
    for (const name of ['pointerup', 'pointercancel'])
      addEventListenerWhileShown(name, () => (dragged = null));
  }

  // A drag may leave the chart. The listener goes with the view.
  function addEventListenerWhileShown(name, listener) {
    const listen = (event) => (chart.isConnected ? listener(event) : removeEventListener(name, listen));
    addEventListener(name, listen);
  }

  function update(next) {
    page = next;
    reader.take(page.state);
    const now = page.serverNow;
    const from = (end ?? now) - windowMs;
    if (page.connection === 'live') reader.reach(page, from, end ?? now);
    // A long window moves slowly: nobody sees a difference sooner.
    const isDue = Math.abs(page.now - drawnAt) >= Math.min(5000, windowMs / 600);
    if (!isDue && drawnAt !== 0 && drawnProgress === reader.progress()) return;
    drawnAt = page.now;
    drawnProgress = reader.progress();
    draw(now, from);
  }

  function knownText(now) {
    const { state } = page;
    if (state.past.isKept === null) return '';
    if (!state.past.isKept)
      return `Seen since ${moment(reader.beginning(state), now)}; the server keeps no history.`;
    if (reader.isLoading()) return 'Reading older holds …';
    if (reader.isFull()) return 'There are too many holds in this time: not all are shown.';
    return `Kept since ${moment(reader.beginning(state), now)}.`;
  }

  function draw(now, from) {
    const last = end ?? now;
    const { rows, more } = timelineRows(reader.holds(), { now, end: last, windowMs, rowsMax: ROWS_MAX });
    earlier.disabled = from <= reader.beginning(page.state);
    later.disabled = live.disabled = end === null;
    morph(known, knownText(now));
    const choose = (text) => change(() => (chosen = text));
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => from + windowMs * share);
    const axis = h(
      'div',
      { class: 'timeline-row timeline-scale' },
      h('span', { class: 'quiet' }, moment(from, now).replace(/ ?\S+$/, '')),
      h(
        'p',
        { class: 'scale', 'aria-hidden': 'true' },
        marks.map((at) => h('span', {}, clock(at))),
      ),
    );
    morph(
      chart,
      h(
        'section',
        { class: 'card timeline' },
        axis,
        rows.length === 0 ? h('p', { class: 'quiet' }, 'Nothing was held in this time.') : null,
        rows.map((row) =>
          h(
            'div',
            { class: 'timeline-row' },
            h('a', { href: hrefOfKey(row.key) }, titleOfKey(row.key, row.name)),
            h(
              'ul',
              { class: 'bars', style: { height: `${row.lanes * LANE_HEIGHT - 4}px` } },
              row.bars.map((item) => bar(item, choose)),
            ),
          ),
        ),
      ),
      more > 0 ? h('p', { class: 'quiet' }, `and ${more} more locks`) : null,
      chosen ? h('p', { class: 'chosen', role: 'status' }, chosen) : null,
    );
  }
  return { title: 'Timeline', update };
}
