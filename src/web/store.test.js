import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyEvent,
  applySessions,
  applySnapshot,
  createState,
  forgetHolds,
  historyOf,
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
  const held = [...state.sessions.keys()].map((id) => leasesOfSession(state, id).map(({ lock }) => lock.name));
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
  forgetHolds(state, 2000 + 5 * 60 * 1000);
  assert.equal(state.holds.size, 2);
  forgetHolds(state, 2001 + 5 * 60 * 1000);
  assert.deepEqual([...state.holds.keys()], [2]);
});

test('an event of a kind nobody knows changes nothing', () => {
  const state = createState();
  applyEvent(state, 'gilded', granted('x', 1), '3');
  assert.equal(state.locks.size, 0);
  assert.equal(state.lastEventId, '3');
});
