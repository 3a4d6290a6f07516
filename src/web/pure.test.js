import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, count, countdown, rate, sentence, span } from './format.js';
import { matches, prefixOf, rowsOf, shareLeft } from './listing.js';
import { extentOf, layOut, parseRange } from './ranges.js';
import { createSeries, linePoints, recentMean, SERIES_LENGTH, tick } from './series.js';
import { createSseParser } from './sse.js';
import { timelineRows } from './timeline.js';

const STREAM =
  ': hello\n\nid: 7\nevent: granted\ndata: {"a":1}\n\nevent: gap\r\ndata:{"b":\r\ndata: 2}\r\n\r\n';
const EVENTS = [
  { id: '7', event: 'granted', data: '{"a":1}' },
  { id: null, event: 'gap', data: '{"b":\n2}' },
];

test('server-sent events are read whole and cut at every byte', () => {
  assert.deepEqual(createSseParser()(STREAM), EVENTS);
  for (let at = 0; at <= STREAM.length; at += 1) {
    const feed = createSseParser();
    assert.deepEqual([...feed(STREAM.slice(0, at)), ...feed(STREAM.slice(at))], EVENTS, `cut at ${at}`);
  }
  const feed = createSseParser();
  assert.deepEqual(
    [...STREAM].flatMap((letter) => feed(letter)),
    EVENTS,
  );
});

test('times and numbers are short', () => {
  assert.deepEqual([0, 59_999, 60_000, 125_000, 3_600_000, 200_000_000].map(span), [
    '0 s',
    '59 s',
    '1 min',
    '2 min 5 s',
    '1 h',
    '2 d 7 h',
  ]);
  assert.deepEqual([-5, 0, 1, 4321, 9_950, 10_001].map(countdown), [
    '0 s',
    '0 s',
    '0.1 s',
    '4.4 s',
    '10.0 s',
    '11 s',
  ]);
  assert.equal(count(1234567), '1\u202f234\u202f567');
  assert.deepEqual([0, 0.44, 12.6].map(rate), ['0', '0.4', '13']);
  assert.deepEqual([0, 1023, 4096, 1572864].map(bytes), ['0 B', '1023 B', '4 KiB', '1.5 MiB']);
});

test('a hand-off is told as one', () => {
  const entry = { type: 'granted', owner: 'b', data: { previous_owner_id: 'a', waited_ms: 4000 } };
  assert.equal(sentence(entry), 'b took over from a after 4 s');
  assert.equal(sentence({ ...entry, data: {} }), 'granted to b');
});

const lock = (name, more = {}) => ({
  key: `named:${name}`,
  kind: 'named',
  name,
  limit: 1,
  waiters: 0,
  holders: new Map([
    [
      1,
      {
        owner: `o-${name}`,
        door: 'homelab',
        mode: 'exclusive',
        metadata: '',
        acquired: 0,
        expiry: 10,
        ttl: 10,
      },
    ],
  ]),
  ...more,
});
const names = (rows) => rows.map((row) => row.lock?.name ?? `[${row.group}${row.count}]`);

test('the table is filtered by all words, wherever they stand', () => {
  assert.ok(matches(lock('Photos'), ['photo', 'homelab']));
  assert.ok(!matches(lock('Photos'), ['photo', 'dflockd']));
  assert.deepEqual(names(rowsOf([lock('b'), lock('a'), lock('c')], { filter: ' O-a ' })), ['a']);
});

test('the table is sorted, by name where all else is equal', () => {
  const locks = [lock('b', { waiters: 1 }), lock('c', { waiters: 5 }), lock('a', { waiters: 1 })];
  assert.deepEqual(names(rowsOf(locks, { sort: 'name', descending: true })), ['c', 'b', 'a']);
  assert.deepEqual(names(rowsOf(locks, { sort: 'queue' })), ['c', 'a', 'b']);
});

test('locks nobody holds can be sorted too', () => {
  const locks = [lock('b', { holders: new Map() }), lock('a')];
  for (const sort of ['owner', 'door', 'age', 'lease', 'token', 'kind'])
    assert.equal(rowsOf(locks, { sort }).length, 2);
});

test('the table is grouped by prefix, and groups can be closed', () => {
  const locks = [lock('job-1'), lock('job-2'), lock('x')];
  assert.deepEqual(['job-1', '/a/b', 'x', '-'].map(prefixOf), ['job-', '/a/', 'x', '-']);
  assert.deepEqual(names(rowsOf(locks, { grouped: true })), ['[job-2]', 'job-1', 'job-2', '[x1]', 'x']);
  assert.deepEqual(names(rowsOf(locks, { grouped: true, closed: new Set(['job-']) })), [
    '[job-2]',
    '[x1]',
    'x',
  ]);
});

test('what is left of a lease is a share of it, and then of its grace', () => {
  const holder = { expiry: 1000, ttl: 800, inGrace: false, graceUntil: 1500 };
  assert.deepEqual(
    [0, 200, 600, 1000, 2000].map((now) => shareLeft(holder, now)),
    [1, 1, 0.5, 0, 0],
  );
  assert.equal(shareLeft({ ...holder, inGrace: true }, 1250), 0.5);
});

test('ranges that overlap have lanes of their own, others share one', () => {
  assert.deepEqual(parseRange('range:7:10-20'), { start: 10, end: 20 });
  assert.deepEqual(parseRange('range:7:10-'), { start: 10, end: Infinity });
  assert.deepEqual(parseRange(''), { start: 0, end: Infinity });
  const { extent, lanes, places } = layOut([
    { start: 0, end: 50 },
    { start: 50, end: 100 },
    { start: 25, end: 75 },
  ]);
  assert.deepEqual([extent, lanes], [100, 2]);
  assert.deepEqual(
    places.map(({ lane, left, width }) => [lane, left, width]),
    [
      [0, 0, 0.5],
      [0, 0.5, 0.5],
      [1, 0.25, 0.5],
    ],
  );
  assert.equal(extentOf([{ start: 0, end: Infinity }]), 4096);
  assert.equal(layOut([]).lanes, 0);
});

test('the charts forget what is too old and stay in their box', () => {
  const series = createSeries();
  for (let second = 0; second < SERIES_LENGTH + 10; second += 1) tick(series, { held: second });
  assert.equal(series.held.length, SERIES_LENGTH);
  assert.equal(series.held[0], 10);
  assert.equal(recentMean([1, 2, 3], 2), 2.5);
  assert.equal(recentMean([], 2), 0);
  const points = linePoints([0, 5, 10], 100, 20)
    .split(' ')
    .map((point) => point.split(',').map(Number));
  assert.deepEqual(points.at(-1), [100, 1]);
  assert.deepEqual(
    points.map(([, y]) => y),
    [19, 10, 1],
  );
});

test('the timeline shows the holds of its window, cut at its edges', () => {
  const hold = (token, from, to, key = 'named:x') => ({
    key,
    name: key,
    token,
    owner: 'o',
    door: 'd',
    from,
    to,
    ending: to ? 'released' : '',
  });
  const { rows, more } = timelineRows(
    [hold(1, 0, 50), hold(2, 50, 150), hold(3, 150, null), hold(4, 190, null, 'named:y')],
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

test('the timeline shows holders of the same lock below one another', () => {
  const hold = (token, from, to) => ({
    key: 'semaphore:s',
    name: 's',
    token,
    owner: 'o',
    door: 'd',
    from,
    to,
    ending: '',
  });
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
