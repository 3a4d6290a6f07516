// Ten thousand locks, and a thousand events a second.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPage, startBrowser } from './browser.mjs';
import { acquireMany, createClient, startServer } from './server.mjs';

const LOCKS = 10_000;
let browser, server, page;
before(async () => {
  server = await startServer();
  await acquireMany(
    server,
    Array.from({ length: LOCKS }, (_, index) => `lock-${String(index).padStart(5, '0')}`),
  );
  browser = await startBrowser();
  page = await openPage(browser, `${server.http}/#/locks`);
  await page.getByText('10\u202f000 locks').waitFor();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Scrolls through the whole table, a piece with every frame, and measures the time between frames. */
function scrollThrough(frames) {
  return page.evaluate(
    (count) =>
      new Promise((resolve) => {
        const scroller = document.querySelector('.scroller');
        const times = [];
        let rowsMax = 0;
        let last = performance.now();
        const step = (now) => {
          times.push(now - last);
          last = now;
          rowsMax = Math.max(rowsMax, document.querySelectorAll('.slot').length);
          scroller.scrollTop =
            (scroller.scrollHeight - scroller.clientHeight) * Math.min(1, times.length / count);
          if (times.length <= count) requestAnimationFrame(step);
          else
            resolve({
              frames: times.length,
              over50: times.filter((time) => time > 50).length,
              longest: Math.max(...times),
              rowsMax,
            });
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
}

test('only the rows in view exist, and scrolling shows the last lock', async (context) => {
  const seen = await scrollThrough(300);
  context.diagnostic(`scrolling: ${JSON.stringify(seen)}`);
  await page.locator('.lock-link', { hasText: 'lock-09999' }).waitFor();
  assert.ok(seen.rowsMax < 80, `${seen.rowsMax} rows`);
});

test('a thousand events a second do not freeze it', async (context) => {
  const client = createClient(server);
  let isDone = false;
  let count = 0;
  const traffic = Array.from({ length: 16 }, async (_, worker) => {
    while (!isDone) {
      const lease = await client.acquire(`busy-${worker}`, `w-${worker}`);
      await client.release(lease);
      count += 2;
    }
  });
  const started = performance.now();
  const seen = await scrollThrough(300);
  const perSecond = Math.round(count / ((performance.now() - started) / 1000));
  isDone = true;
  await Promise.all(traffic);
  context.diagnostic(`with ${perSecond} events a second: ${JSON.stringify(seen)}`);
  await client.acquire('the-last-one', 'w');
  await page.getByLabel('Filter locks').fill('the-last-one');
  await page.locator('.lock-link', { hasText: 'the-last-one' }).waitFor();
  assert.deepEqual(page.faults, []);
});
