// Lock clients of Redis for Node, unmodified, at the Redis door of the real server.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';

const require = createRequire(`${process.env.HOLDFAST_REDIS_MODULES}/package.json`);
const { Redis } = require('ioredis');
const { createClient } = require('redis');
const { Mutex } = require('redis-semaphore');
const Redlock4 = require('redlock4');
const Redlock5 = require('redlock').default;

const servers = [];
const toClose = [];

async function start() {
  const process_ = spawn(
    process.env.HOLDFAST_PROGRAM,
    ['serve', '--http', 'none', '--dflockd', 'none', '--redis', '127.0.0.1:0', '--memory', '--log-level', 'off'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const line of createInterface({ input: process_.stdout })) {
    const port = /^listening redis .*:(\d+)$/.exec(line)?.[1];
    if (port) return { process: process_, port: Number(port) };
  }
  throw new Error('the server has ended');
}

function ioredis(server) {
  const client = new Redis({ port: server.port });
  toClose.push(() => client.disconnect());
  return client;
}

async function nodeRedis(server) {
  const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
  await client.connect();
  toClose.push(() => client.quit());
  return client;
}

before(async () => {
  for (let count = 0; count < 3; ++count) servers.push(await start());
});

after(async () => {
  for (const close of toClose) await close();
  for (const server of servers) server.process.kill();
});

test('ioredis and node-redis take and release', async () => {
  const client = ioredis(servers[0]);
  assert.equal(await client.set('plain', 'me', 'PX', 5000, 'NX'), 'OK');
  const other = await nodeRedis(servers[0]);
  assert.equal(await other.set('plain', 'you', { NX: true, PX: 5000 }), null);
  assert.equal(await other.get('plain'), 'me');
  const release = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
  assert.equal(await client.eval(release, 1, 'plain', 'you'), 0);
  assert.equal(await other.eval(release, { keys: ['plain'], arguments: ['me'] }), 1);
});

test('redlock 4 over three servers', async () => {
  const redlock = new Redlock4(servers.map(ioredis), { retryCount: 0 });
  const lock = await redlock.lock(['r4:a', 'r4:b'], 5000);
  await assert.rejects(redlock.lock('r4:b', 5000));
  const longer = await lock.extend(8000);
  await longer.unlock();
  await (await redlock.lock('r4:b', 5000)).unlock();
});

test('redlock 5 over three servers, one of them lost', async () => {
  const own = await start();
  const clients = [servers[0], servers[1], own].map(ioredis);
  for (const client of clients) client.on('error', () => {});
  const redlock = new Redlock5(clients, { retryCount: 0 });
  redlock.on('error', () => {});
  const lock = await redlock.acquire(['r5:a', 'r5:b'], 5000);
  await assert.rejects(redlock.acquire(['r5:a'], 5000));
  const longer = await lock.extend(8000);
  own.process.kill('SIGKILL');
  clients[2].disconnect();
  await longer.release();
  const again = await redlock.acquire(['r5:a'], 5000);
  await again.release();
});

test('redlock 5 runs a function under its lock and renews', async () => {
  const redlock = new Redlock5(servers.map(ioredis));
  const client = ioredis(servers[0]);
  await redlock.using(['r5:using'], 2000, { automaticExtensionThreshold: 1500 }, async (signal) => {
    const before_ = await client.pttl('r5:using');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.ok(!signal.aborted);
    assert.ok((await client.pttl('r5:using')) > before_ - 900, 'the lock was renewed');
  });
  assert.equal(await client.exists('r5:using'), 0);
});

test("redis-semaphore's Mutex", async () => {
  const options = { lockTimeout: 5000, acquireTimeout: 200, retryInterval: 10 };
  const mutex = new Mutex(ioredis(servers[0]), 'm', options);
  const other = new Mutex(ioredis(servers[0]), 'm', options);
  await mutex.acquire();
  assert.ok(mutex.isAcquired);
  await assert.rejects(other.acquire());
  await mutex.release();
  await other.acquire();
  await other.release();
});
