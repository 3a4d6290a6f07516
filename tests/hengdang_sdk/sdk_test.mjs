// What Hengdang's SDK and its two apps do, from the login to the logout, against the real program.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startServer } from '../web/server.mjs';
import { createClient, Refused } from './client.mjs';
import { createSigner, loginEvent } from './nostr.mjs';

const ORIGIN = 'http://localhost:5173';
const owner = createSigner(4711);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-sdk-'));
let server;

before(async () => {
  const flags = ['--files-owner', owner.publicKey, '--files-origin', ORIGIN];
  server = await startServer({ filesRoot: path.join(folder, 'files'), flags });
});
after(async () => {
  await server.stop();
  fs.rmSync(folder, { recursive: true });
});

let salt = 0;
/** Every event is another one: an event logs in only once. */
function signedLogin(scopes) {
  const event = loginEvent(`${server.files}/auth/session`, scopes);
  return owner.sign({ ...event, content: `${event.content} ${(salt += 1)}` });
}
async function loggedIn(scopes) {
  const client = createClient(server.files, { origin: ORIGIN });
  await client.createSession(signedLogin(scopes));
  return client;
}
const refusedWith = (status, fields) => (error) => {
  assert.ok(error instanceof Refused, String(error));
  assert.equal(error.status, status);
  assert.equal(typeof error.data.error, 'string');
  assert.equal(typeof error.data.message, 'string');
  for (const [name, value] of Object.entries(fields ?? {})) assert.deepEqual(error.data[name], value);
  return true;
};
const names = (listing) => listing.entries.map((entry) => entry.path);

/** Collects changes, and waits until there are so many. */
function collector() {
  const seen = [];
  let wake = () => {};
  return {
    seen,
    take(change) {
      seen.push(change);
      wake();
    },
    async until(count) {
      while (seen.length < count) await new Promise((resolve) => (wake = resolve));
      return seen;
    },
  };
}

test('the SDK logs in with a signed event, writes, lists, watches and locks', async () => {
  const a = createClient(server.files, { origin: ORIGIN });
  const session = await a.createSession(signedLogin());
  assert.match(session.sessionId, /^[0-9a-f]{64}$/);
  assert.deepEqual(session.permissions, ['read', 'write']);
  const info = await a.getSessionInfo();
  for (const name of ['sessionId', 'permissions', 'appName', 'createdAt', 'lastUsed', 'expiresAt'])
    assert.ok(name in info, name);
  assert.equal(info.sessionId, session.sessionId);
  assert.deepEqual((await a.reloaded().getSessionInfo()).permissions, ['read', 'write']);

  const changes = collector();
  const stop = await a.onFileChange(changes.take, '/docs/*');
  const made = await a.createDirectory('/docs');
  assert.deepEqual([made.path, made.owner, typeof made.created], ['/docs/', owner.publicKey, 'number']);
  await a.createDirectory('/docs/deep');
  const written = await a.uploadText('/docs/a b.txt', 'hello');
  assert.deepEqual([written.path, written.size, written.created], ['/docs/a%20b.txt', 5, true]);
  await a.uploadText('/docs/deep/100%25?.txt'.replace('?', '%3F'), 'deep');
  await a.uploadText('/elsewhere.txt', 'unheard of');

  assert.deepEqual(names(await a.listDirectory('/docs')), ['/docs/a%20b.txt', '/docs/deep/']);
  assert.deepEqual(names(await a.listDirectory('/docs/', { shallow: false })), [
    '/docs/a%20b.txt',
    '/docs/deep/',
    '/docs/deep/100%25%3F.txt',
  ]);
  for (const found of names(await a.listDirectory('/docs', { shallow: false }))) {
    const metadata = await a.getMetadata(found);
    if (found.endsWith('/')) assert.equal(metadata, null, 'the drive tells folders from files by this');
    else assert.ok(['hello', 'deep'].includes(await a.downloadText(found)), found);
  }

  const b = await loggedIn();
  const lock = await a.lock('/docs/a%20b.txt', 'acquire');
  assert.deepEqual([lock.message, lock.path], ['Lock acquired', '/docs/a%20b.txt']);
  const status = await b.lock('/docs/a%20b.txt', 'status');
  assert.deepEqual([status.locked, status.ownedByThisSession], [true, false]);
  await assert.rejects(
    b.uploadText('/docs/a%20b.txt', 'mine'),
    refusedWith(423, { error: 'File is locked', lockedBy: status.lock.lockedBy }),
  );
  await assert.rejects(b.lock('/docs/a%20b.txt', 'release'), refusedWith(404));
  await a.lock('/docs/a%20b.txt', 'refresh');
  await a.uploadText('/docs/a%20b.txt', 'hello again');
  await b.uploadText('/docs/a%20b.txt', 'mine');
  await b.deleteFile('/docs/deep/100%25%3F.txt');
  await b.deleteDirectory('/docs/deep');

  const seen = (await changes.until(7)).map((change) => `${change.type} ${change.operation} ${change.path}`);
  assert.deepEqual(seen, [
    'directory_change MKDIR /docs/deep/',
    'file_change PUT /docs/a%20b.txt',
    'file_change PUT /docs/deep/100%25%3F.txt',
    'file_change PUT /docs/a%20b.txt',
    'file_change PUT /docs/a%20b.txt',
    'file_change DELETE /docs/deep/100%25%3F.txt',
    'directory_change RMDIR /docs/deep/',
  ]);
  assert.ok(changes.seen.every((change) => typeof change.timestamp === 'number'));
  stop();
  await a.deleteSession();
  await a.deleteSession();
  await assert.rejects(a.listDirectory('/'), refusedWith(401));
});

test('pages follow one another while files come and go', async () => {
  const client = await loggedIn();
  const all = Array.from({ length: 7 }, (_, index) => `/pages/${index}.txt`);
  for (const each of all) await client.uploadText(each, 'x');
  const found = [];
  for (let cursor; ;) {
    const page = await client.listDirectory('/pages', { limit: 2, ...(cursor && { cursor }) });
    found.push(...names(page));
    if (!page.hasMore) break;
    cursor = page.nextCursor;
    await client.deleteFile(cursor);
    await client.uploadText(`/pages/${cursor.slice(7, 8)}-new.txt`, 'x');
  }
  assert.deepEqual(found.filter((each) => !each.includes('new')), all);
  await assert.rejects(client.listDirectory('/pages', { cursor: 'nonsense' }), refusedWith(400));
});

test('a session may do what its scopes say', async () => {
  const writer = await loggedIn();
  await writer.uploadText('/read.txt', 'for all');
  const reader = await loggedIn(['read']);
  assert.equal(await reader.downloadText('/read.txt'), 'for all');
  assert.equal((await reader.lock('/read.txt', 'status')).locked, false);
  const refused = refusedWith(403, { error: 'Insufficient permissions', userPermissions: ['read'] });
  await assert.rejects(reader.uploadText('/read.txt', 'mine'), refused);
  for (const action of ['acquire', 'refresh', 'release'])
    await assert.rejects(reader.lock('/read.txt', action), refused);
  await assert.rejects(loggedIn(['read', 'everything']), refusedWith(400, { error: 'Invalid auth event' }));
  await assert.rejects(
    createClient(server.files, { origin: ORIGIN }).createSession({ ...signedLogin(), content: 'changed' }),
    refusedWith(401, { error: 'Invalid signature' }),
  );
});

test('what cannot be read is refused, and nothing is overwritten', async () => {
  const client = await loggedIn();
  await client.uploadText('/kept.txt', 'first');
  for (const conditions of [{ 'If-Match': 'abc' }, { 'If-Unmodified-Since': 'yesterday' }])
    await assert.rejects(client.uploadText('/kept.txt', 'second', conditions), refusedWith(400));
  assert.equal(await client.downloadText('/kept.txt'), 'first');
  await assert.rejects(client.onFileChange(() => {}, 'no path'), refusedWith(400));
});

test('a page of another origin gets nothing and changes nothing', async () => {
  const client = await loggedIn();
  await client.lock('/guarded.txt', 'acquire');
  const foreign = createClient(server.files, { origin: 'https://evil.example' });
  await assert.rejects(foreign.createSession(signedLogin()), TypeError);
  await assert.rejects(foreign.listDirectory('/'), TypeError);
  assert.equal((await client.lock('/guarded.txt', 'status')).ownedByThisSession, true);
});
