// What the dashboard shows of the past, of sets, of deadlocks and of elections: against a fake server, because these tests
// need a long history or an exact order of events.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findBarriers, go, isLive, openPage, PHONE, startBrowser } from './browser.mjs';
import { startFake, waits } from './fake_server.mjs';
import { createStory } from './story.mjs';

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** A fake server with the story, changed by `change`, and a page on it. */
function scene(name, run, { view = '', change = (world) => world, ...look } = {}) {
  test(name, async () => {
    const fake = await startFake(change(createStory()));
    const page = await openPage(browser, `${fake.http}/#/${view}`, look);
    try {
      await run({ fake, page, world: fake.world });
      assert.deepEqual(page.faults, []);
    } finally {
      await page.context().close();
      await fake.stop();
    }
  });
}

async function until(isSo) {
  for (const deadline = Date.now() + 60_000; !(await isSo());) {
    assert.ok(Date.now() < deadline, 'it never came about');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const grantOf = (name, owner_id, fencing_token, more = {}) => ({
  lock_name: name,
  kind: 'named',
  mode: 'exclusive',
  owner_id,
  door: 'scoped',
  fencing_token,
  lease_expiry_ms: Date.now() + 60_000,
  queue_length: 0,
  ...more,
});

scene('a page that is opened shows the last ten minutes, and then what happens', async ({ page, fake }) => {
  await isLive(page);
  await page.locator('.history li', { hasText: 'deploy' }).first().waitFor();
  const points = await page.locator('.tile-held polyline').nth(1).getAttribute('points');
  assert.ok(points.split(' ').length > 100, `${points.split(' ').length} points`);
  fake.tell('granted', grantOf('fresh', 'zoe', 9e15));
  await page.getByText('granted to zoe').waitFor();
  assert.equal(await page.locator('.history li').count(), 16);
});

scene(
  'the stream goes on where the snapshot ended: nothing is missed, nothing is doubled',
  async ({ page, fake }) => {
    await isLive(page);
    assert.ok(
      fake.asked.includes('/v1/events?after=100'),
      fake.asked.filter((path) => path.includes('events')).join(),
    );
    fake.interrupt();
    fake.tell('granted', grantOf('meanwhile', 'zoe', 9e15));
    await page.getByText('granted to zoe').waitFor();
    fake.interrupt();
    fake.tell('granted', grantOf('again', 'yan', 9e15 + 1));
    await page.getByText('granted to yan').waitFor();
    assert.equal(await page.getByText('granted to zoe').count(), 1);
    assert.ok(fake.asked.includes('/v1/events?after=101'));
    assert.equal(fake.asked.filter((path) => path.startsWith('/v1/locks')).length, 1); // one snapshot was enough
  },
);

scene(
  'a deadlock is a red line, a picture and a list, and goes when it is gone',
  async ({ page, fake, world }) => {
    const alarm = page.locator('.deadlock');
    await alarm.getByText('ann waits for bob, bob waits for ann').waitFor();
    assert.match(await alarm.locator('.deadlock-line').innerText(), /since \d\d:\d\d:\d\d/);
    assert.equal(await alarm.locator('svg rect').count(), 2);
    assert.match(await alarm.locator('li').first().innerText(), /^ann waits for payments, which bob has/);
    await alarm.getByRole('link', { name: 'payments' }).click();
    await page.getByRole('heading', { name: 'payments' }).waitFor();
    await page.locator('.deadlock').waitFor();
    await go(page, 'locks');
    const queueOf = (name) =>
      page.locator('.row', { has: page.getByRole('link', { name, exact: true }) }).locator('.badge');
    await queueOf('payments').getByText('1, deadlock').waitFor();
    assert.equal(await queueOf('deploy').innerText(), '1 waiting');
    await go(page, 'lock/named/payments');
    await page.locator('.deadlock').waitFor();
    world.deadlocks = [];
    fake.tell('wait_cancelled', grantOf('payments', 'ann', 0, { waited_ms: 5 }));
    await page.locator('.deadlock').waitFor({ state: 'detached' });
  },
);

scene(
  'a deadlock that an event tells is shown at once, and its names are text',
  async ({ page, fake, world }) => {
    await isLive(page);
    assert.equal(await page.locator('.deadlock').count(), 0);
    const evil = '<img src=x onerror="document.title=1">';
    const cycle = [waits(evil, 'b', 'bob', 2), waits('bob', '<b>bold</b>', evil, 1)];
    world.deadlocks = [{ since: new Date().toISOString(), cycle }];
    fake.tell('deadlock', { cycle });
    await page.locator('.deadlock-line', { hasText: `${evil} waits for bob` }).waitFor();
    await page.locator('.history li', { hasText: 'bob waits for' }).waitFor();
    assert.equal(await page.locator('main img, main b').count(), 0);
    world.deadlocks = []; // without an event: asked for now and then
    await page.locator('.deadlock').waitFor({ state: 'detached' });
  },
  { change: (world) => ({ ...world, deadlocks: [] }) },
);

scene(
  'the timeline says how holds ended, and goes back as far as the history',
  async ({ page, fake }) => {
    await page.getByText(/Kept since \d+ \w+ [\d:]{8}/).waitFor();
    const deploy = page.locator('.timeline-row', { has: page.getByRole('link', { name: 'deploy' }) });
    for (const [ending, text] of [
      ['released', 'released'],
      ['expired', 'expired'],
      ['forced', 'released by force'],
      ['session', 'ended with its session'],
    ]) {
      const bar = deploy.locator(`.bar.${ending}`).first();
      await bar.locator(`.bar-end.end-${ending}`).waitFor();
      assert.match(await bar.getAttribute('title'), new RegExp(`, ${text}$`));
      assert.match(await bar.locator('.visually-hidden').innerText(), new RegExp(`, ${text}$`));
      await page.locator('.legend', { hasText: text }).waitFor();
    }
    const before = fake.asked.length;
    for (let step = 0; step < 6; step += 1) await page.getByRole('button', { name: 'Earlier' }).click();
    await until(() =>
      fake.asked.slice(before).some((path) => /^\/v1\/history\?since=\d+&until=\d+&limit=1000$/.test(path)),
    );
    await deploy.locator('.bar', { hasText: 'ci-runner' }).first().waitFor();
    assert.equal(await page.locator('.bar.open', { hasText: 'ann' }).count(), 0); // ann began later than that
    await page.getByRole('button', { name: 'Now' }).click();
    await page.locator('.bar.open', { hasText: 'ann' }).waitFor();
    await page.locator('.timeline-chart').focus();
    for (let step = 0; step < 8; step += 1) await page.keyboard.press('ArrowLeft');
    await page.locator('.bar.open', { hasText: 'ann' }).waitFor({ state: 'detached' });
    await page.keyboard.press('PageDown');
    await page.keyboard.press('PageDown');
    await page.locator('.bar.open', { hasText: 'ann' }).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Later' }).isDisabled());
  },
  { view: 'timeline' },
);

scene(
  'the timeline is dragged, and a long window is read page by page',
  async ({ page, fake }) => {
    await page.locator('.bar').first().waitFor();
    const box = await page.locator('.timeline-chart').boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await until(() => page.getByRole('button', { name: 'Now' }).isEnabled());
    await page.getByLabel('How long').selectOption('1 day');
    const reads = () => fake.asked.filter((path) => /history\?since=\d+&until=\d+&limit=1000/.test(path));
    await page.locator('.timeline-row', { hasText: 'ancient' }).locator('.bar').first().waitFor();
    assert.ok(reads().length >= 2, reads().join('\n'));
    assert.equal(new Set(reads()).size, reads().length); // nothing is read twice
  },
  {
    view: 'timeline',
    change: (world) => {
      const [row] = world.history;
      const more = Array.from({ length: 1400 }, (_, index) => ({
        ...row,
        fencing_token: index + 1,
        ...(index === 1399 ? { scope: { kind: 'named', name: 'ancient' } } : {}),
        acquired_at: new Date(Date.now() - 3_600_000 - index * 40_000).toISOString(),
        ended_at: new Date(Date.now() - 3_590_000 - index * 40_000).toISOString(),
      }));
      return { ...world, history: [...world.history, ...more] };
    },
  },
);

scene(
  'a lock shows its last holds: who, how, when, after which wait, how they ended',
  async ({ page, fake }) => {
    const rows = page.locator('#last-holds tbody tr');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 10);
    const cells = await rows.nth(1).locator('td').allInnerTexts();
    assert.match(
      cells.join(' | '),
      /^ci-runner-2 build 4699 \| scoped \| [\d:]{8} \| [\d:]{8} \| 3 s \| ✓\s*released \| \d{16}$/,
    );
    await page.getByRole('button', { name: 'Show older' }).click();
    await until(async () => (await rows.count()) === 60);
    await page.getByRole('button', { name: 'Show older' }).waitFor({ state: 'detached' });
    const { fencing_token } = fake.world.locks.find((lock) => lock.lock_name === 'deploy').holders[0];
    fake.tell(
      'released',
      grantOf('deploy', 'ci-runner-1', fencing_token, { cause: 'force', queue_length: 1 }),
    );
    await rows.first().getByText('released by force').waitFor();
    assert.match(
      await page.locator('section.card', { hasText: 'Queue' }).innerText(),
      /together with staging/,
    );
  },
  { view: 'lock/named/deploy' },
);

scene(
  'a lease on several locks is shown as one, wherever it is',
  async ({ page, fake }) => {
    const row = page.locator('.slot:not([hidden]) .row', { hasText: 'accounts' });
    await row.getByRole('button', { name: 'one of 3' }).click();
    await page.locator('.set-box').getByRole('link', { name: 'path:/srv/exports/2026-11.csv' }).waitFor();
    await page.locator('.set-box').getByRole('link', { name: 'ledger' }).click();
    await page.getByRole('heading', { name: 'ledger' }).waitFor();
    await page.getByText('One lease on 3 locks').waitFor();
    assert.deepEqual(await page.locator('.set-card .chips li').allInnerTexts(), [
      'accounts',
      'ledger',
      'path:/srv/exports/2026-11.csv',
    ]);
    await page.locator('#last-holds', { hasText: 'with accounts' }).waitFor();
    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByText('The lease is also on accounts, path:/srv/exports/2026-11.csv').waitFor();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await go(page, 'timeline');
    await until(async () => (await page.locator('.bar.open', { hasText: 'month-end' }).count()) === 3);
    await go(page, '');
    await page.locator('.tile-held .tile-value', { hasText: '11' }).waitFor();
    const scopes = ['p', 'q', 'path:/r'];
    fake.tell('granted', grantOf('p', 'zoe', 9e15, { scopes }));
    await page.locator('.history li', { hasText: 'p, q, path:/r granted to zoe' }).waitFor();
    await page.locator('.tile-held .tile-value', { hasText: '12' }).waitFor();
    fake.tell('released', grantOf('p', 'zoe', 9e15, { scopes }));
    await page.locator('.history li', { hasText: 'p, q, path:/r released by zoe' }).waitFor();
    await page.locator('.tile-held .tile-value', { hasText: '11' }).waitFor();
  },
  { view: 'locks' },
);

scene(
  'a leader is shown with its value, which events change',
  async ({ page, fake, world }) => {
    const card = page.locator('#election');
    await card.getByText('http://10.0.0.12:9000').waitFor();
    await card.getByText('Revision 3').waitFor();
    const { fencing_token } = world.elections.scheduler;
    fake.tell(
      'value_set',
      grantOf('scheduler', 'node-2', fencing_token, { value: '<i>new</i>', revision: 4, queue_length: 2 }),
    );
    await card.getByText('<i>new</i>').waitFor();
    await card.getByText('Revision 4').waitFor();
    world.elections.scheduler = { leader: 'node-3', fencing_token: 9e15, candidates: 2 };
    fake.tell('released', grantOf('scheduler', 'node-2', fencing_token, { queue_length: 2 }));
    fake.tell('granted', grantOf('scheduler', 'node-3', 9e15, { queue_length: 1, waited_ms: 4000 }));
    await page.getByRole('cell', { name: 'node-3', exact: true }).waitFor();
    await card.waitFor({ state: 'detached' });
  },
  { view: 'lock/named/scheduler' },
);

scene(
  'a server without a history, deadlocks and elections is shown as far as it can be seen',
  async ({ page, fake }) => {
    await page.getByText('the server keeps no history').waitFor();
    fake.tell('granted', grantOf('x', 'zoe', 7));
    await page.locator('.bar.open', { hasText: 'zoe' }).waitFor();
    fake.tell('expired', grantOf('x', 'zoe', 7));
    await page.locator('.bar.expired', { hasText: 'zoe' }).waitFor();
    await go(page, 'lock/named/x');
    await page.locator('#last-holds', { hasText: 'expired' }).waitFor();
    await page.locator('#last-holds', { hasText: 'the server keeps no history' }).waitFor();
    await go(page, '');
    await page.getByText('the lease of zoe expired').waitFor();
  },
  { view: 'timeline', change: (world) => ({ locks: world.locks, history: null, deadlocks: null }) },
);

for (const colorScheme of ['light', 'dark']) {
  for (const [size, look] of [
    ['desktop', {}],
    ['phone', { viewport: PHONE }],
  ]) {
    scene(
      `nothing bars anybody's way to the past: ${colorScheme}, ${size}`,
      async ({ page }) => {
        for (const [view, sign] of [
          ['', '.deadlock'],
          ['locks', '.set-mark:not([hidden])'],
          ['timeline', '.bar-end'],
          ['lock/named/accounts', '#last-holds tbody tr'],
          ['lock/named/scheduler', '#election'],
        ]) {
          await go(page, view);
          await page.locator(sign).first().waitFor();
          if (view === 'locks') await page.locator('.set-mark:not([hidden])').first().click();
          assert.deepEqual(await findBarriers(page), [], `in ${view || 'overview'}`);
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${view} is ${overflow} pixels too wide`);
        }
      },
      { colorScheme, ...look },
    );
  }
}
