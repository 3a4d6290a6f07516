// What the dashboard shows of the past, of sets, of deadlocks and of elections, against the real server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go, isLive, openPage, startBrowser } from './browser.mjs';
import { createClient, startServer } from './server.mjs';

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** The real server, and a page that is opened after `prepare`; skipped if the server does not know `path`. */
function realScene(name, path, prepare, run) {
  test(name, async (context) => {
    const server = await startServer();
    try {
      const answer = await fetch(server.http + path);
      if (answer.status === 404) return context.skip(`this server has no ${path}`);
      const client = createClient(server);
      const prepared = await prepare(client);
      const page = await openPage(browser, `${server.http}/#/`);
      await run({ page, client, prepared });
      assert.deepEqual(page.faults, []);
      await page.context().close();
    } finally {
      await server.stop();
    }
  });
}

realScene(
  'the real server: what ended before the page was opened is in its list, its timeline and its lock',
  '/v1/history',
  async (client) => {
    await client.release(await client.acquire('deploy', 'alice'));
    await client.acquire('deploy', 'bob', { ttl_ms: 60_000 });
    await client.send('DELETE', '/v1/locks/deploy');
  },
  async ({ page }) => {
    await page.getByText('released by alice').waitFor();
    await page.getByText('taken from bob by force').waitFor();
    await go(page, 'timeline');
    await page.locator('.bar').first().waitFor();
    await go(page, 'lock/named/deploy');
    await page.locator('#last-holds tbody tr', { hasText: 'bob' }).getByText('released by force').waitFor();
    await page.locator('#last-holds tbody tr', { hasText: 'alice' }).locator('.ending-released').waitFor();
  },
);

realScene(
  'the real server: two who wait for each other are shown until one of them goes on',
  '/v1/deadlocks',
  async (client) => {
    const first = await client.lease('a', 'ann');
    await client.lease('b', 'bob');
    return first;
  },
  async ({ page, client, prepared }) => {
    await isLive(page);
    client.lease('b', 'ann', { wait_ms: 60_000 }).catch(() => {});
    client.lease('a', 'bob', { wait_ms: 60_000 }).catch(() => {});
    const alarm = page.locator('.deadlock-line');
    await alarm.waitFor();
    assert.match(await alarm.innerText(), /ann waits for bob/);
    await client.send('DELETE', `/v1/leases/${prepared.token}`);
    await alarm.waitFor({ state: 'detached' });
  },
);

realScene(
  'the real server: a lease on several locks is shown as one',
  '/v1/deadlocks', // a server that looks for deadlocks has sets, too
  async (client) => {
    const lease = await client.send('POST', '/v1/leases', {
      scopes: ['a', 'path:/x', { scope: 'semaphore:s', limit: 2 }],
      holder: 'ann',
      ttl_ms: 60_000,
    });
    assert.ok(lease.token, lease.message); // a refusal would only be seen as a page that shows nothing
    return lease;
  },
  async ({ page, client, prepared }) => {
    await page.locator('.tile-held .tile-value', { hasText: /^1$/ }).waitFor();
    await go(page, 'lock/path/%2Fx');
    await page.getByText('One lease on 3 locks').waitFor();
    assert.deepEqual(await page.locator('.set-card .chips li').allInnerTexts(), [
      'a',
      'path:/x',
      'semaphore:s',
    ]);
    await go(page, '');
    await client.send('DELETE', `/v1/leases/${prepared.token}`);
    await page.locator('.history li', { hasText: 'a, path:/x, semaphore:s released by ann' }).waitFor();
    await page.getByText('Nobody holds a lock').waitFor();
  },
);

realScene(
  'the real server: a leader is shown with its value',
  '/v1/elections/none',
  (client) => client.lease('boss', 'node-1', { value: 'first' }),
  async ({ page, client, prepared }) => {
    await go(page, 'lock/named/boss');
    await page.locator('#election').getByText('first').waitFor();
    await client.send('PUT', `/v1/leases/${prepared.token}/value`, { value: 'second' });
    await page.locator('#election').getByText('second').waitFor();
    await page.locator('#election').getByText('Revision 2').waitFor();
  },
);
