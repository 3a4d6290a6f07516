// The dashboard in a real browser, against the real server.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findBarriers, isLive, openPage, PHONE, startBrowser } from './browser.mjs';
import { connectDflockd, createClient, startServer } from './server.mjs';

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** A server and a page on it, closed after the test; unless told otherwise, the test fails if the page complained. */
function scene(name, run, { flags = [], view = '', mayComplain = false, ...look } = {}) {
  test(name, async () => {
    const server = await startServer({ flags });
    const page = await openPage(browser, `${server.http}/#/${view}`, look);
    try {
      await run({ server, page, client: createClient(server) });
      if (!mayComplain) assert.deepEqual(page.faults, []);
    } finally {
      await page.context().close();
      await server.stop();
    }
  });
}

async function until(isSo) {
  for (const deadline = Date.now() + 30_000; !(await isSo());) {
    assert.ok(Date.now() < deadline, 'it never came about');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const row = (page, name) =>
  page.locator('.slot:not([hidden]) .row', {
    has: page.locator('.lock-link', { hasText: new RegExp(`^${name}$`) }),
  });

scene('an empty server teaches how to take the first lock', async ({ page, server, client }) => {
  await page.getByText('Nobody holds a lock').waitFor();
  assert.match(
    await page.locator('.empty pre').innerText(),
    new RegExp(`curl -X POST '${server.http}/lock\\?`),
  );
  await client.job('photos', 'laptop1', '60s');
  await page.getByText('Nobody holds a lock').waitFor({ state: 'detached' });
  await page.getByText('granted to laptop1').waitFor();
});

scene(
  'a lock appears, counts down, is handed over and vanishes',
  async ({ page, client }) => {
    const lease = await client.acquire('deploy', 'alice', { ttl_ms: 50_000 });
    await row(page, 'deploy').getByText('alice').waitFor();
    const left = async () => parseFloat(await row(page, 'deploy').locator('.lease-text').innerText());
    const early = await left();
    await until(async () => (await left()) < early);
    const waiting = client.acquire('deploy', 'bob', { wait_ms: 60_000 });
    await row(page, 'deploy').getByText('1 waiting').waitFor();
    await client.release(lease);
    const second = await waiting;
    await row(page, 'deploy').getByText('bob').waitFor();
    await client.release(second);
    await row(page, 'deploy').waitFor({ state: 'detached' });
  },
  { view: 'locks' },
);

scene(
  'a lease that nobody renews is seen in its grace',
  async ({ page, client }) => {
    await client.job('photos', 'laptop1', '1s');
    await row(page, 'photos').getByText('grace').waitFor();
  },
  { view: 'locks', flags: ['--grace', '10m'] },
);

scene(
  'the table is filtered as one types, sorted and grouped',
  async ({ page, client }) => {
    for (const name of ['job-1', 'job-2', 'photos']) await client.acquire(name, 'w');
    await row(page, 'photos').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('job');
    await row(page, 'photos').waitFor({ state: 'detached' });
    await page.getByText('2 of 3').waitFor();
    await page.getByLabel('Filter locks').fill('');
    await page.locator('.row-head .cell-name .sort').click();
    await until(async () =>
      (await page.locator('.slot:not([hidden]) [aria-rowindex="2"]').innerText()).startsWith('photos'),
    );
    await page.getByText('group by prefix').click();
    await page.getByRole('button', { name: /job-… 2 locks/ }).click();
    await row(page, 'job-1').waitFor({ state: 'detached' });
    await row(page, 'photos').waitFor();
  },
  { view: 'locks' },
);

scene('a slash leads to the filter from everywhere, and no letter after it is lost', async ({ page, client }) => {
  for (const name of ['job-1', 'job-2', 'photos']) await client.acquire(name, 'w');
  await page.getByText('granted to w').first().waitFor();
  await page.keyboard.type('/job');
  await page.getByText('2 of 3').waitFor();
  assert.equal(await page.getByLabel('Filter locks').inputValue(), 'job');
  await page.goBack();
  await page.getByText('granted to w').first().waitFor();
});

scene(
  'one lock shows its queue in order, why each waits, and can be released by force',
  async ({ page, client }) => {
    await client.acquire('deploy', 'alice', { metadata: 'build 7' });
    const waits = client.acquire('deploy', 'bob', { wait_ms: 60_000 });
    await page.getByRole('cell', { name: 'bob' }).waitFor();
    const queue = page.locator('section.card', { hasText: 'Queue' });
    assert.match(await queue.locator('tbody tr').innerText(), /1\s+bob\s+lockserver\s+exclusive[\s\S]*alice/);
    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    assert.equal((await client.send('GET', '/v1/locks/deploy')).owner_id, 'alice');
    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByRole('button', { name: 'Force release', exact: true }).click();
    assert.equal((await waits).acquired, true);
    await page.getByText('taken from alice by force').waitFor();
    await page.getByText('bob took over from alice').or(page.getByText('granted to bob')).first().waitFor();
  },
  { view: 'lock/named/deploy' },
);

scene(
  'the ranges of an inode are drawn to scale, and can be released by force',
  async ({ page, client }) => {
    await client.lease('range:7:0-4096', 'w1');
    await client.lease('range:7:4096-16384', 'w2');
    await page.locator('.range').nth(1).waitFor();
    const boxes = await page
      .locator('.range')
      .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().width));
    assert.ok(Math.abs(boxes[1] / boxes[0] - 3) < 0.05, `widths ${boxes}`);
    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByRole('button', { name: 'Force release', exact: true }).click();
    await page.getByText('Nobody holds it').waitFor();
  },
  { view: 'lock/inode/7' },
);

scene(
  'a connection owns its locks, and is shown with them',
  async ({ page, server }) => {
    const connection = connectDflockd(server.dflockdPort);
    assert.match(await connection.ask('l', 'cron', '0 60'), /^ok /);
    await page.getByRole('link', { name: 'cron' }).waitFor();
    connection.end();
    await page.getByRole('link', { name: 'cron' }).waitFor({ state: 'detached' });
  },
  { view: 'sessions' },
);

scene(
  'hand-offs are seen in the timeline',
  async ({ page, client }) => {
    await isLive(page);
    await client.release(await client.acquire('deploy', 'alice'));
    await client.acquire('deploy', 'bob');
    await page.locator('.bar.open', { hasText: 'bob' }).waitFor();
    assert.equal(await page.locator('.bar.released', { hasText: 'alice' }).count(), 1);
  },
  { view: 'timeline' },
);

scene(
  'a newcomer can acquire, renew and release by hand',
  async ({ page, client }) => {
    await page.getByRole('button', { name: 'Acquire' }).click();
    await page.getByText('You hold my-first-lock').waitFor();
    assert.equal((await client.send('GET', '/v1/locks/my-first-lock')).owner_id, 'me');
    await page.getByRole('button', { name: 'Renew' }).click();
    await page.getByText('"renewed": true').waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByText('"released": true').waitFor();
    assert.equal((await client.send('GET', '/v1/locks/my-first-lock')).held, false);
  },
  { view: 'try' },
);

scene(
  'a connection that is lost before the first event heals, too',
  async ({ page, server }) => {
    await server.stop();
    await page.getByText('The connection to the server is lost').waitFor();
    const again = await startServer({ http: server.address });
    try {
      await createClient(again).acquire('after', 'w'); // mostly before the page is connected again
      await row(page, 'after').waitFor();
    } finally {
      await again.stop();
    }
  },
  { view: 'locks', mayComplain: true },
);

scene(
  'a lost connection shows, and heals by itself',
  async ({ page, server, client }) => {
    await client.acquire('before', 'w');
    await row(page, 'before').waitFor();
    await server.stop();
    await page.getByText('The connection to the server is lost').waitFor();
    const again = await startServer({ http: server.address });
    try {
      await createClient(again).acquire('after', 'w');
      await row(page, 'after').waitFor();
      await row(page, 'before').waitFor({ state: 'detached' });
      await page.getByText('The connection to the server is lost').waitFor({ state: 'hidden' });
    } finally {
      await again.stop();
    }
  },
  { view: 'locks', mayComplain: true },
);

test('with secrets the page asks for the token, and only an admin gets buttons', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-web-'));
  const flags = ['auth', 'admin'].flatMap((name) => {
    fs.writeFileSync(path.join(folder, name), `the-${name}-token\n`, { mode: 0o600 });
    return [`--${name}-token-file`, path.join(folder, name)];
  });
  const server = await startServer({ flags });
  try {
    await createClient(server, 'the-auth-token').acquire('deploy', 'alice');
    for (const [token, isAdmin] of [
      ['the-auth-token', false],
      ['the-admin-token', true],
    ]) {
      const page = await openPage(browser, `${server.http}/#/lock/named/deploy`);
      await page.getByLabel('Token', { exact: true }).fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('not the right token').waitFor();
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
      await page.getByRole('cell', { name: 'alice' }).waitFor();
      await page.goto(`${server.http}/#/about`);
      await page.getByText(isAdmin ? 'an admin' : 'a user').waitFor();
      await page.goto(`${server.http}/#/lock/named/deploy`);
      await page.getByRole('cell', { name: 'alice' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Force release…' }).count(), isAdmin ? 1 : 0);
      assert.equal(
        await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length),
        0,
      );
      await page.context().close();
    }
  } finally {
    await server.stop();
    fs.rmSync(folder, { recursive: true });
  }
});

scene(
  'the page is dark where the system is',
  async ({ page }) => {
    const light = () =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
    assert.ok((await light()) < 60);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.ok((await light()) > 200);
  },
  { colorScheme: 'dark' },
);

for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of [
    ['desktop', undefined],
    ['phone', PHONE],
  ]) {
    scene(
      `nothing bars anybody's way: ${colorScheme}, ${size}`,
      async ({ page, client }) => {
        await client.acquire('deploy', 'alice', { metadata: 'build 7' });
        await client.job('photos', 'laptop', '60s');
        await client.lease('range:7:0-4096', 'w1');
        client.acquire('deploy', 'bob', { wait_ms: 60_000 }).catch(() => {});
        for (const view of [
          '',
          'locks',
          'lock/named/deploy',
          'lock/inode/7',
          'files',
          'sessions',
          'timeline',
          'try',
          'about',
        ]) {
          await page.evaluate((hash) => {
            location.hash = `#/${hash}`;
          }, view);
          await page.locator('.view').waitFor();
          await page.waitForTimeout(300);
          assert.deepEqual(await findBarriers(page), [], `in ${view || 'overview'}`);
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${view} is ${overflow} pixels too wide`);
        }
      },
      { colorScheme, ...(viewport ? { viewport } : {}) },
    );
  }
}
