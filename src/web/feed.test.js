import assert from 'node:assert/strict';
import { test } from 'node:test';
import { follow } from './feed.js';
import { createState } from './store.js';

const event = (id, name, token) =>
  `id: ${id}\nevent: granted\ndata: ${JSON.stringify({ at_ms: 1000, lock_name: name, kind: 'named', owner_id: 'o', door: 'd', fencing_token: token, queue_length: 0 })}\n\n`;
const listed = (name, token) => ({
  lock_name: name,
  kind: 'named',
  waiters: 0,
  holders: [
    { owner_id: 'o', fencing_token: token, door: 'd', acquired_ms: 900, ttl_ms: 5000, lease_expiry_ms: 9000 },
  ],
});

/**
 * Follows a server until it asks for a token: the answers are by path, each used once and the last one again; a text is
 * a stream of events. Returns the state, and what was asked for.
 */
async function run(answers) {
  const asked = [];
  const queues = Object.fromEntries(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  globalThis.fetch = async (address, { headers }) => {
    const path = address.split('?')[0];
    asked.push(`${address}${headers['Last-Event-ID'] ? ` ${headers['Last-Event-ID']}` : ''}`);
    const list = queues[path] ?? [];
    const answer = path === '/v1/events' || list.length > 1 ? list.shift() : list[0];
    if (path === '/v1/events' && answer === undefined) return { status: 401 };
    if (answer === undefined) return { ok: false, status: 404 };
    const body = new ReadableStream({
      async start(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(new TextEncoder().encode(String(answer)));
        await new Promise((resolve) => setTimeout(resolve, 60));
        controller.close();
      },
    });
    return { ok: true, status: 200, body, json: async () => answer };
  };
  const state = createState();
  const connections = [];
  await new Promise((resolve) => {
    follow(state, {
      now: async () => 2000,
      snapshot: () => connections.push('snapshot'),
      change() {},
      connection: (name) => connections.push(name),
      token: () => {
        resolve();
        return new Promise(() => {});
      },
    });
  });
  return { state, asked: asked.filter((path) => path.startsWith('/v1/events')), connections };
}

test('the stream begins where the snapshot ends', async () => {
  const { state, asked, connections } = await run({
    '/v1/locks': [{ locks: [listed('a', 1)], position: 12 }],
    '/v1/sessions': [{ sessions: [], position: 12 }],
    '/v1/events': [event(13, 'b', 2)],
  });
  assert.deepEqual(asked, ['/v1/events?after=12', '/v1/events?after=13']);
  assert.deepEqual([...state.locks.keys()], ['named:a', 'named:b']);
  assert.deepEqual(connections, ['snapshot', 'live', 'lost']);
});

test('the stream begins at the earliest of several answers', async () => {
  const { asked } = await run({
    '/v1/history': [{ history: [], position: 7 }],
    '/v1/locks': [{ locks: [], position: 12 }],
    '/v1/sessions': [{ sessions: [], position: 11 }],
    '/v1/deadlocks': [{ deadlocks: [], position: 12 }],
    '/v1/events': [': nothing\n\n'],
  });
  assert.equal(asked[0], '/v1/events?after=7');
});

test('after a gap, the events that a new snapshot shows are not taken in again', async () => {
  const { state, connections } = await run({
    '/v1/locks': [
      { locks: [], position: 12 },
      { locks: [listed('b', 2)], position: 30 },
    ],
    '/v1/sessions': [{ sessions: [], position: 30 }],
    '/v1/events': [`event: gap\ndata: {}\n\n${event(29, 'b', 2)}${event(31, 'c', 3)}`],
  });
  assert.deepEqual(connections, ['snapshot', 'live', 'snapshot', 'live', 'lost']);
  assert.deepEqual([...state.locks.keys()], ['named:b', 'named:c']);
  assert.equal(state.granted, 1);
  assert.equal(state.lastEventId, '31');
});

test('a server that tells no position is read as before: events wait for the snapshot', async () => {
  const { state, asked } = await run({
    '/v1/locks': [{ locks: [listed('a', 1)] }],
    '/v1/sessions': [{ sessions: [] }],
    '/v1/events': [event(5, 'b', 2)],
  });
  assert.deepEqual(asked, ['/v1/events', '/v1/events 5']);
  assert.deepEqual([...state.locks.keys()], ['named:a', 'named:b']);
});

test('a history that cannot be read does not keep the locks from being shown', async () => {
  const { state } = await run({
    '/v1/history': [{}], // no list of holds
    '/v1/locks': [{ locks: [listed('a', 1)], position: 1 }],
    '/v1/sessions': [{ sessions: [], position: 1 }],
    '/v1/events': [': nothing\n\n'],
  });
  assert.equal(state.held, 1);
  assert.equal(state.past.isKept, false);
});
