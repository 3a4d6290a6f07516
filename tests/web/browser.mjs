// Debian's Chromium, driven by playwright-core.

import fs from 'node:fs';
import { createRequire } from 'node:module';

// What npm has installed is in the build folder, not beside the tests.
const require = createRequire(`${process.env.HOLDFAST_WEB_MODULES}/`);
const { chromium } = require('playwright-core');
const axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

export async function startBrowser() {
  return chromium.launch({
    executablePath: process.env.HOLDFAST_CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

// A server may keep no history; the page then asks, and lives with the answer. Chromium calls every 404 an error.
const MAY_BE_MISSING = /404 .*\/v1\/(history|deadlocks|elections)\b/;

/** A page that remembers what went wrong on it. */
export async function openPage(browser, url, { viewport = DESKTOP, colorScheme = 'light', scale = 1 } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: scale });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (message.type() === 'error' && !MAY_BE_MISSING.test(text)) page.faults.push(text);
  });
  page.setDefaultTimeout(120_000); // under sanitizers, on a busy machine
  await page.goto(url);
  return page;
}

/** What axe-core finds wrong with the page, as it is now. */
export async function findBarriers(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map((node) => node.html.slice(0, 160))
        .slice(0, 3)
        .join(' | ')}`,
  );
}

/** Waits until the page is connected. */
export function isLive(page) {
  return page.locator('#connection', { hasText: 'live' }).waitFor();
}

/** Shows another view of the page. */
export function go(page, view) {
  return page.evaluate((hash) => {
    location.hash = `#/${hash}`;
  }, view);
}
