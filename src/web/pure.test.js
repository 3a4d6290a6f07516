import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, count, countdown, cut, moment, rate, sentence, span } from './format.js';
import { leaseCount, matches, prefixOf, rowsOf, shareLeft } from './listing.js';
import { extentOf, layOut, parseRange } from './ranges.js';
import { createSeries, linePoints, recentMean, refill, SERIES_LENGTH, tick } from './series.js';
import { createSseParser } from './sse.js';

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

test('a lease on several ranges of an inode is one', () => {
  const holders = new Map([
    ['7 range:1:0-4', { token: 7 }],
    ['7 range:1:8-9', { token: 7 }],
    [8, { token: 8 }],
  ]);
  assert.equal(leaseCount({ kind: 'inode', holders }), 2);
  assert.equal(leaseCount({ kind: 'semaphore', holders }), 3); // each permit counts
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

test('a time of another day says which', () => {
  const at = (...parts) => new Date(...parts).getTime();
  const now = at(2026, 10, 18, 10, 31, 7);
  assert.equal(moment(at(2026, 10, 18, 4, 5, 6), now), '04:05:06');
  assert.equal(moment(at(2026, 10, 17, 23, 59, 59), now), '17 Nov 23:59:59');
  assert.equal(moment(at(2025, 0, 2, 3, 4, 5), now), '2 Jan 2025 03:04:05');
});

test('an entry says what an administrator did, and who that was', () => {
  const data = { action: 'end_session', what: '1-7', by: 'oncall' };
  assert.equal(sentence({ type: 'audit', owner: '', data }), 'an administrator ended the session (oncall)');
  assert.equal(sentence({ type: 'audit', owner: '', data: { action: 'later' } }), 'later');
});

test('an entry says how a lease ended, which value was set, and who is in a deadlock', () => {
  const say = (type, data) => sentence({ type, owner: 'ann', data });
  assert.equal(say('released', {}), 'released by ann');
  assert.equal(say('released', { cause: 'force' }), 'taken from ann by force');
  assert.equal(say('released', { cause: 'force', by: 'ops' }), 'taken from ann by force (ops)');
  assert.equal(say('granted', { by: 'http@192.0.2.7' }), 'granted to ann (http@192.0.2.7)');
  assert.equal(say('released', { cause: 'session_end' }), 'given back as the session of ann ended');
  assert.equal(say('expired', {}), 'the lease of ann expired');
  assert.equal(
    say('expired', { cause: 'restart' }),
    'the lease of ann expired after a restart of the server',
  );
  assert.equal(say('value_set', { value: 'a', revision: 2 }), 'ann set the value to “a”, revision 2');
  assert.match(say('value_set', { value: 'x'.repeat(99), revision: 3 }), /“x{59}…”, revision 3$/);
  const cycle = [
    { holder: 'ann', waits_for: { kind: 'named', name: 'b' }, held_by: 'bob' },
    { holder: 'bob', waits_for: { kind: 'named', name: 'a' }, held_by: 'ann' },
  ];
  assert.equal(say('deadlock', { cycle }), 'ann waits for bob, bob waits for ann');
  assert.deepEqual([cut('abc', 3), cut('abcd', 3), cut('äöüß', 3)], ['abc', 'ab…', 'äö…']);
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
  const points = linePoints([0, 0, 0, 0, 0, 4, 5, 6, 5, 5, 10, 10, 10, 10, 10], 599, 20)
    .split(' ')
    .map((point) => point.split(',').map(Number));
  assert.deepEqual(points, [
    [587, 19],
    [592, 10],
    [597, 1],
  ]);
});

test('the same seconds of a chart are one point, a second later too', () => {
  const values = [...Array(5).fill(1), ...Array(5).fill(7)];
  const heights = (line) => line.split(' ').map((point) => point.split(',')[1]);
  const before = heights(linePoints(values, 599, 20, 10_000));
  const after = heights(linePoints([...values, 7], 599, 20, 11_000));
  assert.deepEqual(after, [...before, before.at(-1)]);
  assert.equal(linePoints([], 599, 20), '');
});

test('what happened before goes in front of a chart, and replaces what is there', () => {
  const series = createSeries();
  for (const held of [1, 2, 3]) tick(series, { held, commit: held });
  refill(series, { held: [8, 9], releases: [1, 1] });
  assert.deepEqual(series.held, [1, 8, 9]);
  refill(series, { held: [5, 5, 5, 5] });
  assert.deepEqual(series.held, [5, 5, 5, 5]);
  assert.deepEqual(series.commit, [1, 2, 3]);
  refill(series, { held: new Array(SERIES_LENGTH + 5).fill(1) });
  assert.equal(series.held.length, SERIES_LENGTH);
});
