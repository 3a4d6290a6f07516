import { h, morph } from './dom.js';
import { clock, span } from './format.js';
import { hrefOfKey, titleOfKey } from './parts.js';
import { colourOf, timelineRows } from './timeline.js';

const ROWS_MAX = 40;
const LANE_HEIGHT = 26;
const WINDOWS = [
  { ms: 60_000, text: '1 minute' },
  { ms: 180_000, text: '3 minutes' },
  { ms: 300_000, text: '5 minutes' },
];

/** Holds of the last minutes, a row for each lock; where a bar meets the next, the lock was handed over. */
export function timelineView(root) {
  let windowMs = WINDOWS[0].ms;
  let page = null;
  const pick = h(
    'select',
    {
      'aria-label': 'How far back',
      on: {
        change: () => {
          windowMs = Number(pick.value);
          update(page);
        },
      },
    },
    WINDOWS.map(({ ms, text }) => h('option', { value: ms }, text)),
  );
  const body = h('div', { 'data-keep': true });
  morph(
    root,
    h('div', { class: 'toolbar' }, h('h1', {}, 'Timeline'), h('label', {}, 'The last ', pick)),
    body,
  );

  function bar(item) {
    const text = `${item.owner}, ${span(item.ms)}${item.isOpen ? ', holds it now' : `, ${item.ending}`}`;
    return h(
      'li',
      {
        class: `bar colour-${colourOf(item.owner)}${item.isOpen ? ' open' : ''} ${item.ending}`,
        title: text,
        style: {
          left: `${(item.left * 100).toFixed(2)}%`,
          width: `${(item.width * 100).toFixed(2)}%`,
          top: `${item.lane * LANE_HEIGHT}px`,
        },
      },
      h('span', { 'aria-hidden': 'true' }, item.owner),
      h('span', { class: 'visually-hidden' }, text),
    );
  }

  function update(next) {
    page = next;
    const { rows, more } = timelineRows(page.state.holds.values(), {
      now: page.serverNow,
      windowMs,
      rowsMax: ROWS_MAX,
    });
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
      h('span', {}, clock(page.serverNow - windowMs * (1 - share))),
    );
    morph(
      body,
      rows.length === 0
        ? h('p', { class: 'quiet' }, 'Nothing was held in this time.')
        : h(
            'section',
            { class: 'card timeline' },
            h(
              'div',
              { class: 'timeline-row timeline-scale', 'aria-hidden': 'true' },
              h('span', {}),
              h('p', { class: 'scale' }, marks),
            ),
            rows.map((row) =>
              h(
                'div',
                { class: 'timeline-row' },
                h('a', { href: hrefOfKey(row.key) }, titleOfKey(row.key, row.name)),
                h(
                  'ul',
                  { class: 'bars', style: { height: `${row.lanes * LANE_HEIGHT - 4}px` } },
                  row.bars.map(bar),
                ),
              ),
            ),
          ),
      more > 0 ? h('p', { class: 'quiet' }, `and ${more} more locks`) : null,
    );
  }
  return { title: 'Timeline', update };
}
