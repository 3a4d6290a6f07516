import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addPage, createPast } from './history.js';
import {
  applyDeadlocks,
  applyEvent,
  applyPast,
  applySessions,
  applySnapshot,
  createState,
  forgetHolds,
  historyOf,
  HOLD_MEMORY_MS,
  leasesOfSession,
} from './store.js';

const granted = (name, token, more = {}) => ({
  at_ms: 1000,
  lock_name: name,
  kind: 'named',
  mode: 'exclusive',
  owner_id: `owner-${token}`,
  door: 'lockserver',
  fencing_token: token,
  lease_expiry_ms: 6000,
  queue_length: 0,
  ...more,
});
const listed = (name, holders, more = {}) => ({
  lock_name: name,
  kind: 'named',
  held: holders.length > 0,
  version: 1,
  waiters: 0,
  holders,
  ...more,
});
const holder = (token, more = {}) => ({
  owner_id: `owner-${token}`,
  lease_id: 'x',
  fencing_token: token,
  lease_expiry_ms: 9000,
  door: 'homelab',
  acquired_ms: 500,
  ttl_ms: 8500,
  ...more,
});

test('a lock appears with its grant and vanishes with its release', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1), '10');
  assert.equal(state.held, 1);
  assert.deepEqual([...state.locks.keys()], ['named:x']);
  assert.equal(state.locks.get('named:x').holders.get(1).ttl, 5000);
  applyEvent(state, 'released', { ...granted('x', 1), at_ms: 2000 }, '11');
  assert.equal(state.held, 0);
  assert.equal(state.locks.size, 0);
  assert.equal(state.lastEventId, '11');
});

test('a lock that somebody waits for stays until the queue is empty', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'queued', { ...granted('x', 0), owner_id: 'w2', queue_length: 1 });
  applyEvent(state, 'released', { ...granted('x', 1), queue_length: 1 });
  assert.equal(state.locks.get('named:x').waiters, 1);
  assert.equal(state.waiting, 1);
  applyEvent(state, 'wait_cancelled', { ...granted('x', 0), owner_id: 'w2', queue_length: 0 });
  assert.equal(state.locks.size, 0);
  assert.equal(state.waiting, 0);
});

test('a lease that expires with a grace is kept, and not counted as held', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1, { grace_until_ms: 11_000 }));
  applyEvent(state, 'expired', granted('x', 1, { at_ms: 6000, grace_until_ms: 11_000 }));
  assert.equal(state.held, 0);
  assert.equal(state.locks.get('named:x').holders.get(1).inGrace, true);
  applyEvent(state, 'grace_ended', granted('x', 1, { at_ms: 11_000 }));
  assert.equal(state.locks.size, 0);
});

test('a lease that expires without a grace is gone', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'expired', granted('x', 1, { at_ms: 6000 }));
  assert.equal(state.locks.size, 0);
  assert.equal(state.expired, 1);
});

test('events that the snapshot knows already do no harm', () => {
  const state = createState();
  applySnapshot(state, [listed('x', [holder(2)], { waiters: 1 }), listed('y', [holder(3)])], 1000);
  assert.deepEqual([state.held, state.waiting], [2, 1]);
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'released', granted('x', 1, { queue_length: 2 }));
  applyEvent(state, 'granted', granted('x', 2, { queue_length: 1 }));
  assert.deepEqual([state.held, state.waiting], [2, 1]);
  assert.deepEqual([...state.locks.get('named:x').holders.keys()], [2]);
});

test('a snapshot replaces what was known, and ends holds that are no longer there', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('old', 1));
  applySnapshot(state, [listed('new', [holder(5)])], 7000);
  assert.deepEqual([...state.locks.keys()], ['named:new']);
  assert.equal(state.holds.get(1).to, 7000);
  assert.equal(state.holds.get(5).to, null);
});

test('an inode and its ranges are one lock', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('7', 1, { kind: 'range', scope: 'range:7:0-10' }));
  applyEvent(state, 'granted', granted('7', 2, { kind: 'inode' }));
  assert.equal(state.locks.get('inode:7').holders.size, 2);
});

test('renewing keeps the time of the grant', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'renewed', granted('x', 1, { at_ms: 4000, lease_expiry_ms: 9000 }));
  const { acquired, expiry, ttl } = state.locks.get('named:x').holders.get(1);
  assert.deepEqual({ acquired, expiry, ttl }, { acquired: 1000, expiry: 9000, ttl: 5000 });
  assert.equal(state.held, 1);
});

test('sessions come and go, and hold what bears their number', () => {
  const state = createState();
  applyEvent(state, 'session_opened', { at_ms: 1, owner_id: 'c', door: 'dflockd', session: 4 });
  applyEvent(state, 'granted', granted('x', 1, { session: 4 }));
  assert.equal(state.sessions.get(4).opened, 1);
  assert.deepEqual(
    leasesOfSession(state, 4).map(({ lock }) => lock.name),
    ['x'],
  );
  applyEvent(state, 'session_ended', { at_ms: 2, owner_id: 'c', door: 'dflockd', session: 4 });
  assert.equal(state.sessions.size, 0);
});

test('sessions that were there before are known, log-ins too', () => {
  const state = createState();
  applyEvent(state, 'session_opened', { at_ms: 1, owner_id: 'c', door: 'dflockd', session: 4 });
  applySessions(state, [
    { id: '7-0', door: 'dflockd', owner_id: 'conn-2', opened_at_ms: 5, leases: 1, waits: 0 },
    { id: '0123456789abcdef', door: 'hengdang', owner_id: 'secret', opened_at_ms: 6, expires_at_ms: 9 },
  ]);
  applyEvent(state, 'granted', granted('x', 1, { session: 7, door: 'dflockd' }));
  applyEvent(state, 'granted', granted('/a', 2, { owner_id: '0123456789abcdef', door: 'hengdang' }));
  assert.deepEqual([...state.sessions.keys()], [7, '0123456789abcdef']);
  assert.equal(state.sessions.get(7).opened, 5);
  const held = [...state.sessions.keys()].map((id) =>
    leasesOfSession(state, id).map(({ lock }) => lock.name),
  );
  assert.deepEqual(held, [['x'], ['/a']]);
});

test('history is by lock, the newest first, and does not grow for ever', () => {
  const state = createState();
  for (let token = 1; token <= 9000; token += 1)
    applyEvent(state, 'granted', granted(token % 2 ? 'odd' : 'even', token));
  assert.ok(state.history.length <= 3600);
  assert.deepEqual(
    historyOf(state, 'named:odd', 2).map(({ owner }) => owner),
    ['owner-8999', 'owner-8997'],
  );
});

test('holds are forgotten some minutes after their end', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'granted', granted('y', 2));
  applyEvent(state, 'released', granted('x', 1, { at_ms: 2000 }));
  forgetHolds(state, 2000 + HOLD_MEMORY_MS);
  assert.equal(state.holds.size, 2);
  state.past.since = 500;
  forgetHolds(state, 2001 + HOLD_MEMORY_MS);
  assert.deepEqual([...state.holds.keys()], [2]);
  assert.equal(state.past.since, 2000); // from then on, all of them are known
});

test('an event of a kind nobody knows changes nothing', () => {
  const state = createState();
  applyEvent(state, 'gilded', granted('x', 1), '3');
  assert.equal(state.locks.size, 0);
  assert.equal(state.lastEventId, '3');
});

const SET = ['a', 'path:/x', 'range:7:0-10', 'range:7:20-30'];

test('a lease on a set holds each of its locks, and counts once', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('a', 1, { scopes: SET }), '5');
  assert.deepEqual([...state.locks.keys()], ['named:a', 'path:/x', 'inode:7']);
  assert.equal(state.locks.get('inode:7').holders.size, 2);
  assert.deepEqual(state.locks.get('path:/x').holders.get(1).set, SET);
  assert.deepEqual([state.held, state.granted, state.holds.size, state.history.length], [1, 1, 1, 1]);
  assert.equal(historyOf(state, 'path:/x', 5).length, 1);
  applyEvent(state, 'renewed', granted('a', 1, { scopes: SET, lease_expiry_ms: 9000 }), '6');
  assert.deepEqual(
    [...state.locks.get('inode:7').holders.values()].map(({ scope, expiry }) => [scope, expiry]),
    [
      ['range:7:0-10', 9000],
      ['range:7:20-30', 9000],
    ],
  );
  applyEvent(state, 'released', granted('a', 1, { scopes: SET, cause: 'session_end' }), '7');
  assert.deepEqual([state.locks.size, state.held], [0, 0]);
  assert.equal(state.holds.get(1).ending, 'session');
});

test('a set in a snapshot is one hold, which begins with its first lock', () => {
  const state = createState();
  const shown = holder(1, { scopes: ['b', 'a'] });
  applySnapshot(state, [listed('a', [shown]), listed('b', [shown])], 1000);
  assert.deepEqual([state.held, state.holds.size], [1, 1]);
  assert.equal(state.holds.get(1).key, 'named:b');
  applyEvent(state, 'expired', granted('b', 1, { scopes: ['b', 'a'] }));
  assert.equal(state.locks.size, 0);
});

test('who waits for a set is in the queue of each of its locks', () => {
  const state = createState();
  const scopes = ['x', 'y'];
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'granted', granted('y', 2));
  applyEvent(state, 'queued', granted('x', 0, { owner_id: 'w', scopes, queue_length: 1 }));
  assert.deepEqual(
    ['named:x', 'named:y'].map((key) => state.locks.get(key).waiters),
    [1, 1],
  );
  applyEvent(state, 'released', granted('y', 2, { queue_length: 1 }));
  applyEvent(state, 'released', granted('x', 1, { queue_length: 1 }));
  applyEvent(state, 'granted', granted('x', 3, { scopes, waited_ms: 20, queue_length: 0 }));
  assert.deepEqual(
    ['named:x', 'named:y'].map((key) => state.locks.get(key).waiters),
    [0, 0],
  );
  assert.equal(state.holds.get(3).waited, 20);
});

test('an event that a later page of the listing shows already changes nothing at its locks', () => {
  const state = createState();
  applySnapshot(
    state,
    [listed('x', [], { waiters: 1, position: 20 }), listed('a', [holder(9)], { position: 10 })],
    1000,
  );
  applyEvent(state, 'queued', granted('a', 0, { owner_id: 'w', scopes: ['a', 'x'], queue_length: 1 }), '15');
  assert.equal(state.locks.get('named:x').waiters, 1);
  assert.equal(state.locks.get('named:a').waiters, 1);
  applyEvent(
    state,
    'wait_cancelled',
    granted('a', 0, { owner_id: 'w', scopes: ['a', 'x'], queue_length: 0, waited_ms: 1 }),
    '21',
  );
  assert.deepEqual([state.waiting, state.locks.has('named:x')], [0, false]);
});

test('the value of a leader changes with its revision, and a renewal keeps it', () => {
  const state = createState();
  const leader = () => state.locks.get('named:x').holders.get(1);
  applyEvent(state, 'granted', granted('x', 1, { value: 'v1', revision: 1 }));
  applyEvent(state, 'value_set', granted('x', 1, { value: 'v2', revision: 2 }));
  assert.deepEqual([leader().value, leader().revision], ['v2', 2]);
  applyEvent(state, 'renewed', granted('x', 1, { lease_expiry_ms: 9000 }));
  assert.deepEqual([leader().value, leader().revision, leader().expiry], ['v2', 2, 9000]);
  assert.equal(historyOf(state, 'named:x', 2)[1].type, 'value_set');
});

const pastOf = (rows, more = {}) => {
  const past = createPast();
  addPage(past, { history: rows, ...more });
  return past;
};
const row = (token, from, to, more = {}) => ({
  fencing_token: token,
  scope: { kind: 'named', name: 'x' },
  holder: `owner-${token}`,
  door: 'scoped',
  acquired_at: new Date(from).toISOString(),
  ended_at: new Date(to).toISOString(),
  ended: 'released',
  ...more,
});

test('what happened before the page was opened is in its list of events and its holds', () => {
  const state = createState();
  applySnapshot(state, [listed('y', [holder(5)])], 2000);
  applyPast(state, pastOf([row(2, 600, 1500, { ended: 'restart' }), row(1, 100, 700)]), 200, 2000);
  assert.deepEqual(
    historyOf(state, null, 9).map(({ at, type, owner }) => [at, type, owner]),
    [
      [1500, 'expired', 'owner-2'],
      [700, 'released', 'owner-1'],
      [600, 'granted', 'owner-2'],
      [500, 'granted', 'owner-5'],
    ],
  );
  assert.deepEqual([state.past.isKept, state.past.since, state.holds.get(2).ending], [true, 200, 'restart']);
});

test('a grant that the snapshot shows is told once, though an event tells it again', () => {
  const state = createState();
  applySnapshot(state, [listed('x', [holder(5)])], 2000);
  applyPast(state, pastOf([]), 200, 2000);
  applyEvent(state, 'granted', granted('x', 5, { at_ms: 500 }), '12');
  assert.equal(state.history.length, 1);
  assert.equal(state.granted, 0);
  applyEvent(state, 'granted', granted('y', 6), '13');
  assert.deepEqual([state.history.length, state.granted], [2, 1]);
});

test('an end that the history has already is told once, too', () => {
  const state = createState();
  applySnapshot(state, [], 2000);
  applyPast(state, pastOf([row(5, 500, 1900, { ended: 'restart' })]), 200, 2000);
  assert.equal(state.history.length, 2);
  applyEvent(state, 'granted', granted('x', 5, { at_ms: 500 }), '12');
  applyEvent(state, 'expired', granted('x', 5, { at_ms: 1900, cause: 'restart' }), '13');
  assert.deepEqual([state.history.length, state.granted, state.expired, state.locks.size], [2, 0, 0, 0]);
  assert.deepEqual([state.holds.get(5).to, state.holds.get(5).ending], [1900, 'restart']);
});

test('of many holds, the oldest are forgotten, however many leases are held', () => {
  const state = createState();
  for (let token = 1; token <= 12_000; token += 1) {
    applyEvent(state, 'granted', granted(`n${token}`, token, { at_ms: token }));
    if (token <= 5500) applyEvent(state, 'released', granted(`n${token}`, token, { at_ms: 20_000 - token }));
  }
  forgetHolds(state, 20_000);
  assert.equal(state.holds.size, 5000 + 6500);
  assert.deepEqual([state.holds.has(5500), state.holds.has(5000)], [false, true]); // the later number ended earlier
});

test('the history tells how a hold ended that ended while the page was not connected', () => {
  const state = createState();
  applyEvent(state, 'granted', granted('x', 1));
  applyEvent(state, 'granted', granted('x', 2));
  applyEvent(state, 'released', granted('x', 2, { at_ms: 1800, cause: 'force' }));
  applySnapshot(state, [], 7000);
  assert.equal(state.holds.get(1).ending, 'unseen');
  applyPast(state, pastOf([row(1, 1000, 4000, { ended: 'expired' }), row(2, 1000, 1800)]), 0, 7000);
  assert.deepEqual([state.holds.get(1).to, state.holds.get(1).ending], [4000, 'expired']);
  assert.equal(state.holds.get(2).ending, 'forced');
  assert.equal(state.history.filter(({ type }) => type !== 'granted').length, 2);
});

test('without a history, the page knows what it has seen, and when the leases that are held were granted', () => {
  const state = createState();
  applySnapshot(state, [listed('x', [holder(5)])], 2000);
  applyPast(state, null, 200, 2000);
  assert.deepEqual([state.past.isKept, state.past.since], [false, 2000]);
  assert.deepEqual(
    historyOf(state, null, 5).map(({ at, type }) => [at, type]),
    [[500, 'granted']],
  );
  applyPast(state, null, 300, 9000);
  assert.equal(state.past.since, 2000);
});

test('a history that was not read to its end is known since its oldest hold', () => {
  const state = createState();
  applyPast(state, pastOf([row(2, 100, 1500)], { next: 'c' }), 200, 2000);
  assert.equal(state.past.since, 1500);
  applyPast(state, pastOf([row(2, 100, 1500)], { kept_since: new Date(900).toISOString() }), 200, 2000);
  assert.deepEqual([state.past.since, state.past.keptSince], [200, 900]);
});

test('a deadlock is known until the server says that it is gone', () => {
  const state = createState();
  const cycle = [
    { holder: 'ann', waits_for: { kind: 'named', name: 'b' }, held_by: 'bob', fencing_token: 2 },
    { holder: 'bob', waits_for: { kind: 'named', name: 'a' }, held_by: 'ann', fencing_token: 1 },
  ];
  applyDeadlocks(state, { deadlocks: [], position: 5 });
  applyEvent(state, 'deadlock', { at_ms: 700, cycle }, '8');
  assert.deepEqual([state.deadlocks.length, state.deadlocks[0].since, state.deadlocksDue], [1, 700, false]);
  assert.equal(historyOf(state, 'named:b', 1)[0].type, 'deadlock');
  applyEvent(state, 'renewed', granted('z', 7, { owner_id: 'carl' }), '9');
  assert.equal(state.deadlocksDue, false);
  applyEvent(state, 'released', granted('b', 2, { owner_id: 'bob' }), '10');
  assert.equal(state.deadlocksDue, true);
  applyDeadlocks(state, { deadlocks: [], position: 10 });
  assert.deepEqual(state.deadlocks, []);
  applyDeadlocks(state, null);
  assert.equal(state.watchesDeadlocks, false);
});
