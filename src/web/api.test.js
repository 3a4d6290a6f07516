import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listLocks } from './api.js';

/** A server that knows these answers, by their paths. */
function serve(answers) {
  const asked = [];
  globalThis.fetch = async (path) => {
    asked.push(path);
    assert.ok(path in answers, path);
    return { ok: true, status: 200, json: async () => answers[path] };
  };
  return asked;
}

test('locks are listed page by page', async () => {
  const lock = (name) => ({ lock_name: name, kind: 'named', holders: [{ fencing_token: 1 }] });
  serve({
    '/v1/locks?limit=1000&after=': { locks: [lock('a')], next: 'named:a' },
    '/v1/locks?limit=1000&after=named%3Aa': { locks: [lock('b')] },
  });
  assert.deepEqual(
    (await listLocks()).locks.map((each) => each.lock_name),
    ['a', 'b'],
  );
});

test('the holders that a listing leaves out are asked for', async () => {
  const holders = (...tokens) => tokens.map((token) => ({ fencing_token: token }));
  const asked = serve({
    '/v1/locks?limit=1000&after=': {
      locks: [
        { lock_name: 'a/b', kind: 'semaphore', holder_count: 5, holders: holders(1, 2), holders_next: '2' },
      ],
    },
    '/v1/locks/a%2Fb?kind=semaphore&holders_after=2': {
      held: true,
      holders: holders(3, 4),
      holders_next: '4',
    },
    '/v1/locks/a%2Fb?kind=semaphore&holders_after=4': { held: true, holders: holders(5) },
  });
  const { locks } = await listLocks();
  assert.equal(locks.length, 1);
  assert.deepEqual(locks[0].holders, holders(1, 2, 3, 4, 5));
  assert.equal(asked.length, 3);
});

test('a listing that leads to itself ends with an error', async () => {
  const asked = serve({
    '/v1/locks?limit=1000&after=': { locks: [], next: 'a' },
    '/v1/locks?limit=1000&after=a': { locks: [], next: 'a' },
  });
  await assert.rejects(listLocks(), /the page after a leads to itself/);
  assert.equal(asked.length, 2);
  serve({
    '/v1/locks?limit=1000&after=': {
      locks: [{ lock_name: 'x', kind: 'semaphore', holders: [], holders_next: '1' }],
    },
    '/v1/locks/x?kind=semaphore&holders_after=1': { held: true, holders: [], holders_next: '1' },
  });
  await assert.rejects(listLocks(), /the page after 1 leads to itself/);
});

test('a lock that is free when its other holders are asked for has those that were seen', async () => {
  serve({
    '/v1/locks?limit=1000&after=': {
      locks: [{ lock_name: 'x', kind: 'semaphore', holders: [{ fencing_token: 1 }], holders_next: '1' }],
    },
    '/v1/locks/x?kind=semaphore&holders_after=1': { held: false },
  });
  assert.equal((await listLocks()).locks[0].holders.length, 1);
});
