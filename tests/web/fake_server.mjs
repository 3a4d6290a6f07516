// A small fake of the server for what a test cannot bring about quickly with the real one: a history of many hours,
// a restart, a page that is read in the middle of changes. It serves the files of src/web and answers as the server does.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const WEB = path.join(
  import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname),
  '../../src/web',
);
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' };
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'";

const rfc = (ms) => new Date(ms).toISOString();

/** A lease that has ended, as the history tells it. Times are in milliseconds before now. */
export function ended(
  scope,
  holder,
  { from, to, how = 'released', waited = 0, token, door = 'scoped', ...more },
) {
  const now = Date.now();
  return {
    fencing_token: token,
    scope: typeof scope === 'string' ? { kind: 'named', name: scope } : scope,
    holder,
    door,
    mode: 'exclusive',
    waited_ms: waited,
    acquired_at: rfc(now - from),
    ended_at: rfc(now - to),
    ended: how,
    ...more,
  };
}

/** A lock with its holder, as the listing shows it. */
export function held(
  name,
  owner,
  token,
  { age = 10_000, ttl = 60_000, waiters = 0, kind = 'named', ...more } = {},
) {
  const now = Date.now();
  const holder = {
    owner_id: owner,
    fencing_token: token,
    lease_expiry_ms: now + ttl,
    door: 'scoped',
    acquired_ms: now - age,
    ttl_ms: ttl,
    ...more,
  };
  return { lock_name: name, kind, held: true, version: token, waiters, holders: [holder] };
}

/** A member of a cycle: `holder` waits for the lock `name`, which `by` holds. */
export function waits(holder, name, by, token, more = {}) {
  const scope = typeof name === 'string' ? { kind: 'named', name } : name;
  return {
    holder,
    waiter: holder,
    door: 'scoped',
    waits_for: scope,
    held_by: by,
    fencing_token: token,
    ...more,
  };
}

function historyPage(rows, query, position, keptSince) {
  const limit = Number(query.get('limit') ?? 100);
  const time = (name, other) => {
    const text = query.get(name);
    return text === null ? other : /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  };
  const isOn = (row) => {
    const scope = query.get('scope');
    return scope === null || row.scope.name === scope || (row.scopes ?? []).includes(scope);
  };
  const found = rows
    .filter((row) => isOn(row) && Date.parse(row.ended_at) >= time('since', 0))
    .filter((row) => Date.parse(row.acquired_at) < time('until', Infinity))
    .sort((a, b) => Date.parse(b.ended_at) - Date.parse(a.ended_at));
  const start = Number(query.get('after') ?? 0);
  const next = start + limit < found.length ? { next: String(start + limit) } : {};
  return { history: found.slice(start, start + limit), ...next, position, kept_since: rfc(keptSince) };
}

/**
 * A running fake: {http, world, asked, tell(type, data), stop()}. `world` has locks, history, deadlocks, elections,
 * queues, keptSince and position, and may be changed at any time; null instead of a history or of deadlocks is a server
 * without them. `asked` has the addresses of all requests.
 */
export async function startFake(world) {
  Object.assign(world, {
    position: 100,
    keptSince: Date.now() - 86_400_000,
    elections: {},
    queues: {},
    ...world,
  });
  const asked = [];
  const streams = new Set();
  const told = [];

  function answer(url) {
    const { position } = world;
    const query = url.searchParams;
    const name = decodeURIComponent(url.pathname.split('/')[3] ?? '');
    if (url.pathname === '/v1/status')
      return { ready: true, admin: true, now_ms: Date.now(), configuration: { data: '/var/lib/holdfast' } };
    if (url.pathname === '/v1/sessions') return { sessions: [], position };
    if (url.pathname === '/v1/locks') return { locks: world.locks, position };
    if (url.pathname.startsWith('/v1/locks/'))
      return {
        queue: [],
        ...world.locks.find((lock) => lock.lock_name === name),
        ...world.queues[name],
        position,
      };
    if (url.pathname === '/v1/deadlocks' && world.deadlocks) return { deadlocks: world.deadlocks, position };
    if (url.pathname === '/v1/history' && world.history)
      return historyPage(world.history, query, position, world.keptSince);
    if (url.pathname.startsWith('/v1/elections/'))
      return { election: name, candidates: 0, ...world.elections[name], position };
    return null;
  }

  function serveStream(request, response, url) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': every transition of a lock, as it happens\n\n');
    const after = Number(url.searchParams.get('after') ?? Infinity);
    for (const { id, text } of told) if (id > after) response.write(text);
    streams.add(response);
    request.on('close', () => streams.delete(response));
  }

  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://fake');
    asked.push(request.url);
    if (url.pathname === '/v1/events') return serveStream(request, response, url);
    if (!url.pathname.startsWith('/v1/')) {
      const file = path.join(WEB, url.pathname === '/' ? 'index.html' : path.basename(url.pathname));
      response.writeHead(200, {
        'Content-Type': TYPES[path.extname(file)],
        'Content-Security-Policy': POLICY,
      });
      return response.end(fs.readFileSync(file));
    }
    const body = answer(url);
    response.writeHead(body ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'NotFound' }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    http: `http://127.0.0.1:${server.address().port}`,
    world,
    asked,
    tell(type, data) {
      world.position += 1;
      const text = `id: ${world.position}\nevent: ${type}\ndata: ${JSON.stringify({ at_ms: Date.now(), ...data })}\n\n`;
      told.push({ id: world.position, text });
      for (const stream of streams) stream.write(text);
    },
    /** Closes the connections of all pages; they come back. */
    interrupt() {
      for (const stream of streams) stream.end();
      streams.clear();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
