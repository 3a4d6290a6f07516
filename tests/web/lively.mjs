// A lively set of locks over all doors, for screenshots.

import { connectDflockd, createClient } from './server.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Two people who have logged in to the files and edit some. */
async function editFiles(server, token) {
  const send = async (method, path, bearer, body) => {
    const headers = { Authorization: `Bearer ${bearer}` };
    const response = await fetch(server.files + path, { method, headers, body });
    return response.json();
  };
  const writer = await send('POST', '/auth/session', token);
  const notes = ['# Welcome\n\n- buy milk\n- call the plumber', '# Ideas\n', '- backup\n- taxes\n'];
  for (const [index, path] of ['/notes/welcome.md', '/notes/ideas.md', '/notes/todo.md'].entries())
    await send('PUT', path, writer.sessionId, notes[index]);
  await send('PUT', '/ledger/november.csv', writer.sessionId, 'day,amount\n1,20\n');
  for (const paths of [['/notes/todo.md', '/notes/ideas.md'], ['/ledger/november.csv']]) {
    const { sessionId } = await send('POST', '/auth/session', token);
    for (const path of paths) await send('GET', `${path}?lock=acquire`, sessionId);
  }
}

/** Keeps taking, renewing, handing over and giving back until `stop()` is called. */
export async function livenUp(server, token) {
  const client = createClient(server, token);
  let isStopped = false;
  const dflockd = [];
  const forever = async (work) => {
    while (!isStopped) await work().catch(() => pause(100));
  };

  await client.job('photos-sync', 'laptop-2', '90s');
  await client.job('music-sync', 'nas', '45s');
  await client.job('backup-home', 'desktop', '25s');
  await client.acquire('migration-2026-11', 'worker-3', { ttl_ms: 240_000, metadata: 'add index on orders' });
  await client.acquire('deploy-web', 'ci-runner-7', { ttl_ms: 120_000, metadata: 'build 4711' });
  for (const reader of ['report-a', 'report-b', 'report-c'])
    await client.acquire('catalogue', reader, { mode: 'shared', ttl_ms: 180_000 });
  for (const worker of ['gpu-1', 'gpu-2', 'gpu-3'])
    await client.acquire('render-slots', worker, { limit: 4, ttl_ms: 150_000 });
  await client.lease('path:/srv/ledger/2026-11.csv', 'accountant', { duration_ms: 200_000 });
  await client.lease('path:/srv/photos/album-12.json', 'indexer', { duration_ms: 70_000 });
  await client.lease('range:8211:0-1048576', 'writer-a', { duration_ms: 170_000 });
  await client.lease('range:8211:1048576-3145728', 'writer-b', { duration_ms: 140_000 });
  await client.lease('range:8211:5242880-', 'appender', { duration_ms: 190_000 });
  await client.lease('range:4096:0-65536', 'reader-1', { mode: 'shared', duration_ms: 160_000 });
  await client.lease('range:4096:32768-131072', 'reader-2', { mode: 'shared', duration_ms: 130_000 });
  await client.lease('range:4096:131072-262144', 'compactor', { duration_ms: 110_000 });
  for (let index = 0; index < 14; index += 1)
    await client.acquire(`shard-${String(index).padStart(2, '0')}`, `node-${(index % 4) + 1}`, {
      ttl_ms: 60_000 + index * 17_000,
    });
  for (const [key, seconds] of [
    ['cron-leader', 300],
    ['mail-queue', 120],
    ['invoice-run', 80],
  ]) {
    const connection = connectDflockd(server.dflockdPort);
    dflockd.push(connection);
    await connection.ask('auth', '_', token);
    await connection.ask('l', key, `0 ${seconds}`);
  }
  await editFiles(server, token);
  const waits = [
    client.acquire('migration-2026-11', 'worker-4', { wait_ms: 400_000, metadata: 'backfill' }),
    client.acquire('migration-2026-11', 'worker-5', { wait_ms: 300_000 }),
    client.acquire('deploy-web', 'ci-runner-9', { wait_ms: 200_000, metadata: 'build 4712' }),
    client.acquire('catalogue', 'importer', { wait_ms: 200_000 }),
    client.lease('range:8211:524288-2097152', 'writer-c', { wait_ms: 200_000 }),
    client.acquire('cron-leader', 'standby-2', { wait_ms: 200_000 }),
  ];
  for (const wait of waits) wait.catch(() => {});

  for (const name of ['queue-orders', 'queue-mail']) {
    for (let worker = 1; worker <= 4; worker += 1) {
      forever(async () => {
        const lease = await client.acquire(name, `consumer-${worker}`, { ttl_ms: 20_000, wait_ms: 60_000 });
        await pause(1500 + 1100 * worker);
        if (lease.acquired) await client.release(lease);
        await pause(150);
      });
    }
  }
  forever(async () => {
    await client.job('thumbnails', 'phone', '4s');
    await pause(11_000);
  });
  forever(async () => {
    await client.job('photos-sync', 'laptop-2', '90s');
    await client.job('music-sync', 'nas', '45s');
    await pause(20_000);
  });
  return {
    stop() {
      isStopped = true;
      for (const connection of dflockd) connection.end();
    },
  };
}
