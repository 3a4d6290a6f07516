import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barText, condense, timelineRows } from './timeline.js';

const hold = (token, from, to, more = {}) => ({
  key: 'named:x',
  name: 'x',
  scope: '',
  set: [],
  token,
  owner: 'o',
  door: 'd',
  mode: 'exclusive',
  from,
  to,
  ending: to ? 'released' : '',
  waited: 0,
  metadata: '',
  ...more,
});

test('the timeline shows the holds of its window, cut at its edges', () => {
  const { rows, more } = timelineRows(
    [hold(1, 0, 50), hold(2, 50, 150), hold(3, 150, null), hold(4, 190, null, { key: 'named:y' })],
    { now: 200, windowMs: 100, rowsMax: 1 },
  );
  assert.equal(more, 1);
  assert.deepEqual(
    rows[0].bars.map(({ token, left, width, isOpen }) => [token, left, width, isOpen]),
    [
      [2, 0, 0.5, false],
      [3, 0.5, 0.5, true],
    ],
  );
  assert.equal(rows[0].lanes, 1);
});

test('a window of the past shows what was held then, and marks only the ends in it', () => {
  const { rows } = timelineRows([hold(1, 20, 60), hold(2, 60, 160), hold(3, 160, null)], {
    now: 500,
    end: 120,
    windowMs: 100,
    rowsMax: 9,
  });
  assert.deepEqual(
    rows[0].bars.map(({ token, left, width, endsInside }) => [token, left, width, endsInside]),
    [
      [1, 0, 0.4, true],
      [2, 0.4, 0.6, false],
    ],
  );
});

test('the timeline shows holders of the same lock below one another', () => {
  const { rows } = timelineRows([hold(1, 100, null), hold(2, 110, 130), hold(3, 130, null)], {
    now: 200,
    windowMs: 100,
    rowsMax: 5,
  });
  assert.deepEqual(
    rows[0].bars.map(({ token, lane }) => [token, lane]),
    [
      [1, 0],
      [2, 1],
      [3, 1],
    ],
  );
  assert.equal(rows[0].lanes, 2);
});

test('a hold on a set is in the row of each of its locks', () => {
  const set = ['x', 'path:/a', 'range:7:0-10', 'range:7:20-30'];
  const { rows } = timelineRows([hold(1, 100, 150, { set })], { now: 200, windowMs: 100, rowsMax: 5 });
  assert.deepEqual(rows.map(({ key, name }) => [key, name]).sort(), [
    ['inode:7', '7'],
    ['named:x', 'x'],
    ['path:/a', '/a'],
  ]);
  for (const { bars } of rows) assert.equal(bars.length, 1);
});

test('runs of holds that are too short to see are one bar, which shows the worst end', () => {
  const short = Array.from({ length: 100 }, (_, index) =>
    hold(index, index, index + 0.9, {
      owner: `o${index % 3}`,
      ending: index === 40 ? 'expired' : 'released',
    }),
  );
  const [row] = timelineRows([...short, hold(500, 200, 600)], { now: 1000, windowMs: 1000, rowsMax: 1 }).rows;
  assert.equal(row.bars.length, 2);
  const [many, one] = row.bars;
  assert.equal(barText(many), '100 holds of 3 owners: 99 released, 1 expired');
  assert.equal(many.ending, 'expired');
  assert.ok(Math.abs(many.width - 0.0999) < 1e-9);
  assert.equal(one.token, 500);
});

test('short holds that are far apart, in other lanes, or still held are bars of their own', () => {
  const bar = (left, lane, isOpen = false) => ({
    left,
    width: 0.001,
    lane,
    isOpen,
    owner: 'o',
    ending: 'released',
  });
  assert.equal(condense([bar(0.1, 0), bar(0.1015, 1), bar(0.2, 0)]).length, 3);
  assert.equal(condense([bar(0.1, 0), bar(0.1015, 0, true)]).length, 2);
  assert.equal(condense([bar(0.1, 0), bar(0.1015, 0)]).length, 1);
});

test('a bar says who, for how long, and how it ended', () => {
  const [row] = timelineRows([hold(1, 0, 5000, { owner: 'ann', ending: 'session', waited: 2000 })], {
    now: 9000,
    windowMs: 9000,
    rowsMax: 1,
  }).rows;
  assert.match(barText(row.bars[0]), /^ann, since [\d:]{8}, for 5 s, waited 2 s, ended with its session$/);
  assert.match(
    barText({ ...row.bars[0], isOpen: true, ms: 40, waited: 0, set: ['a', 'b'] }),
    /for 40 ms, holds it now, one lease on 2 locks: a, b$/,
  );
  for (const [ending, text] of [
    ['released', 'released'],
    ['expired', 'expired'],
    ['forced', 'released by force'],
    ['restart', 'expired after a restart of the server'],
    ['melted', 'melted'],
  ])
    assert.ok(barText({ ...row.bars[0], ending }).endsWith(`, ${text}`), ending);
});
