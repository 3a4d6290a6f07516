// Debian's Chromium, driven by playwright-core.

import { createRequire } from 'node:module';

// What npm has installed is in the build folder, not beside the tests.
const require = createRequire(`${process.env.HOLDFAST_WEB_MODULES}/`);
const { chromium } = require('playwright-core');
export const axePath = require.resolve('axe-core/axe.min.js');

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

export async function startBrowser() {
  return chromium.launch({
    executablePath: process.env.HOLDFAST_CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

/** A page that remembers what went wrong on it. */
export async function openPage(browser, url, { viewport = DESKTOP, colorScheme = 'light', scale = 1 } = {}) {
  // The page runs nothing that is not its own; what the tests put in is let through for them alone.
  const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: scale, bypassCSP: true });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && page.faults.push(`${message.text()} ${message.location().url}`));
  page.setDefaultTimeout(30_000);
  await page.goto(url);
  return page;
}
