import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addInterval,
  addPage,
  createPast,
  endedHolds,
  findGap,
  holdOfRow,
  historyPath,
  keysOfHold,
} from './history.js';
import { rebuildEntries, rebuildSeries } from './rebuild.js';
import { SERIES_LENGTH } from './series.js';

const row = (token, from, to, more = {}) => ({
  fencing_token: token,
  scope: { kind: 'named', name: 'x' },
  holder: `owner-${token}`,
  door: 'scoped',
  mode: 'exclusive',
  waited_ms: 0,
  acquired_at: new Date(from).toISOString(),
  ended_at: new Date(to).toISOString(),
  ended: 'released',
  ...more,
});
const hold = (...parts) => holdOfRow(row(...parts));

test('a row of the history is a hold', () => {
  const scopes = [
    { scope: { kind: 'named', name: 'x' }, mode: 'shared' },
    { scope: { kind: 'path', path: '/y' } },
  ];
  const made = hold(5, 1000, 3000, { ended: 'session', waited_ms: 400, scopes, metadata: 'm' });
  assert.deepEqual(made, {
    key: 'named:x',
    name: 'x',
    scope: '',
    set: ['x', 'path:/y'],
    token: 5,
    owner: 'owner-5',
    door: 'scoped',
    mode: 'exclusive',
    from: 1000,
    to: 3000,
    ending: 'session',
    waited: 400,
    metadata: 'm',
    grantedBy: '',
    endedBy: '',
  });
  assert.deepEqual(keysOfHold(made), ['named:x', 'path:/y']);
  assert.deepEqual(keysOfHold(hold(1, 0, 1)), ['named:x']);
});

test('an address has only the filters that have a value', () => {
  assert.equal(
    historyPath({ scope: 'path:/a b', after: undefined, limit: 20 }),
    '/v1/history?scope=path%3A%2Fa%20b&limit=20',
  );
});

test('pages are read from the newest to the oldest, until there are no more', () => {
  const past = createPast();
  addPage(past, {
    history: [row(3, 100, 900), row(2, 100, 500)],
    next: 'c',
    kept_since: '1970-01-01T00:00:00.100Z',
  });
  assert.deepEqual(
    [past.isKept, past.isWhole, past.next, past.since, past.keptSince],
    [true, false, 'c', 500, 100],
  );
  addPage(past, { history: [row(1, 100, 200)] });
  assert.deepEqual([past.isWhole, past.since, past.holds.size, past.keptSince], [true, 200, 3, 100]);
});

test('a server without a history is known as such', () => {
  const past = createPast();
  addPage(past, null);
  assert.deepEqual([past.isKept, past.isWhole, past.holds.size], [false, true, 0]);
});

test('the holds of a lock are those that were seen and those that were read, each once', () => {
  const unseen = { ...hold(2, 100, 999), ending: 'unseen' };
  const running = { ...hold(9, 100, 200), to: null };
  const other = hold(4, 0, 700, { scope: { kind: 'named', name: 'y' } });
  const found = endedHolds(
    'named:x',
    [unseen, running, hold(3, 0, 800)],
    [hold(2, 100, 500), hold(1, 0, 100), other],
  );
  assert.deepEqual(
    found.map(({ token, to, ending }) => [token, to, ending]),
    [
      [3, 800, 'released'],
      [2, 500, 'released'],
      [1, 100, 'released'],
    ],
  );
});

test('the curves of the last seconds are made from the holds', () => {
  const now = 10_000;
  const holds = [
    hold(1, -5000, 2500), // held from before, until the third second
    hold(2, 3200, 6100, { ended: 'expired', waited_ms: 2000 }),
    { ...hold(3, 7000, 7000), to: null },
    hold(4, 8100, 8200), // within a second: granted and released, but never held when a second begins
    hold(5, -9000, -1), // too old
  ];
  assert.deepEqual(rebuildSeries(holds, { since: 0, now }), {
    held: [1, 1, 1, 0, 1, 1, 1, 1, 1, 1],
    waiting: [0, 0, 1, 1, 0, 0, 0, 0, 0, 0],
    grants: [0, 0, 0, 1, 0, 0, 0, 1, 1, 0],
    releases: [0, 0, 1, 0, 0, 0, 0, 0, 1, 0],
    expiries: [0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
  });
});

test('the curves are no longer than the charts, and no longer than what is known', () => {
  const now = 5_000_000;
  assert.equal(rebuildSeries([], { since: 0, now }).held.length, SERIES_LENGTH);
  assert.equal(rebuildSeries([], { since: now - 4500, now }).held.length, 4);
  assert.deepEqual(rebuildSeries([hold(1, 0, now)], { since: now + 1000, now }).held, []);
});

test('the events of the last minutes are made from the holds, in their order, and none twice', () => {
  const holds = [
    hold(2, 3000, 5000, { ended: 'forced', waited_ms: 1500 }),
    hold(1, 500, 3000, { scopes: ['x', 'y'] }),
    { ...hold(3, 5000, 5000), to: null },
    { ...hold(4, 4000, 6000), ending: 'unseen' },
    hold(5, 100, 4000, { ended: 'expired' }),
  ];
  const entries = rebuildEntries(holds, 1000);
  const told = ({ at, type, data }) =>
    `${at} ${type} ${data.fencing_token}${data.cause ? ` ${data.cause}` : ''}`;
  assert.deepEqual(entries.map(told), [
    '3000 released 1',
    '3000 granted 2',
    '4000 granted 4',
    '4000 expired 5',
    '5000 released 2 force',
    '5000 granted 3',
  ]);
  assert.deepEqual(entries[0].keys, ['named:x', 'named:y']);
  assert.equal(entries[1].data.waited_ms, 1500);
  assert.deepEqual(rebuildEntries(holds, 1000, entries), []);
});

test('times that are known grow together, and the latest gap is found', () => {
  let known = addInterval([], 100, Infinity);
  assert.deepEqual(findGap(known, 40, 150), { from: 40, to: 100 });
  known = addInterval(known, 20, 50);
  assert.deepEqual(known, [
    { from: 20, to: 50 },
    { from: 100, to: Infinity },
  ]);
  assert.deepEqual(findGap(known, 0, 150), { from: 50, to: 100 });
  assert.deepEqual(findGap(known, 0, 50), { from: 0, to: 20 });
  assert.deepEqual(findGap(known, 0, 40), { from: 0, to: 20 });
  assert.deepEqual(findGap(known, 60, 80), { from: 60, to: 80 });
  assert.equal(findGap(known, 25, 45), null);
  known = addInterval(known, 45, 100);
  assert.deepEqual(known, [{ from: 20, to: Infinity }]);
  assert.equal(findGap(known, 20, 999), null);
  assert.deepEqual(findGap([], 1, 2), { from: 1, to: 2 });
});
