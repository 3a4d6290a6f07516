// Makes docs/images/*.png: the dashboard with a lively set of locks. Run by tools/screenshots.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DESKTOP, openPage, PHONE, startBrowser } from './browser.mjs';
import { livenUp } from './lively.mjs';
import { startServer } from './server.mjs';

const folder = process.argv[2];
const SETTLE_MS = Number(process.env.SETTLE_MS ?? 60_000);
const VIEWS = [
  { name: 'overview', hash: '#/' },
  { name: 'locks', hash: '#/locks' },
  { name: 'lock', hash: '#/lock/named/migration-2026-11' },
  { name: 'files', hash: '#/files' },
  { name: 'ranges', hash: '#/lock/inode/8211' },
  { name: 'timeline', hash: '#/timeline' },
  { name: 'sessions', hash: '#/sessions' },
  { name: 'about', hash: '#/about' },
  { name: 'try', hash: '#/try' },
];
// What the documents show; the rest is for looking at.
const KEPT = [
  ['overview', 'light', DESKTOP],
  ['overview', 'dark', DESKTOP],
  ['locks', 'light', DESKTOP],
  ['locks', 'dark', DESKTOP],
  ['timeline', 'light', DESKTOP],
  ['ranges', 'light', DESKTOP],
  ['lock', 'dark', DESKTOP],
  ['overview', 'light', PHONE],
  ['locks', 'dark', PHONE],
];
const ALL = VIEWS.flatMap(({ name }) => [
  [name, 'light', DESKTOP],
  [name, 'dark', DESKTOP],
  [name, 'light', PHONE],
]);

/** Two windows side by side on the files page: one edits a file, the other sees who has it locked. */
async function takeTwoWindows() {
  const viewport = { width: 760, height: 620 };
  const windows = [];
  for (const _ of ['one', 'other']) {
    const page = await openPage(browser, `${server.http}/#/files`, { viewport });
    await page.getByLabel('Token', { exact: true }).fill('the-auth-token');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('button', { name: 'notes/' }).click();
    await page.getByRole('cell', { name: 'welcome.md', exact: true }).waitFor();
    windows.push(page);
  }
  await windows[0].getByRole('button', { name: 'Edit welcome.md' }).click();
  await windows[0].getByLabel('Text of /notes/welcome.md').press('Control+End');
  await windows[0].keyboard.type('\n- water the plants');
  await windows[0].getByText('Not saved yet').waitFor();
  await windows[1].waitForTimeout(900);
  const shots = [];
  for (const page of windows) shots.push((await page.screenshot()).toString('base64'));
  const both = await openPage(browser, 'about:blank', { viewport: { width: 1572, height: 654 } });
  const image = (shot) => `<img src="data:image/png;base64,${shot}" style="border-radius:10px;border:1px solid #b8c2c6">`;
  await both.setContent(
    `<body style="margin:0;background:#dfe5e7;display:flex;gap:16px;padding:16px">${shots.map(image).join('')}</body>`,
  );
  await both.screenshot({ path: `${folder}/files-light.png` });
}

const data = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-screenshots-'));
// The files ask for a secret, and then so do all doors.
const flags = ['auth', 'admin'].flatMap((name) => {
  fs.writeFileSync(path.join(data, name), `the-${name}-token\n`, { mode: 0o600 });
  return [`--${name}-token-file`, path.join(data, name)];
});
const server = await startServer({ data: path.join(data, 'locks'), filesRoot: path.join(data, 'files'), flags });
const life = await livenUp(server, 'the-auth-token');
const browser = await startBrowser();
const pages = new Map();
const pageFor = async (scheme, viewport) => {
  const key = `${scheme} ${viewport.width}`;
  if (!pages.has(key)) {
    const page = await openPage(browser, `${server.http}/`, { viewport, colorScheme: scheme });
    await page.getByLabel('Token', { exact: true }).fill('the-admin-token');
    await page.keyboard.press('Enter');
    pages.set(key, page);
  }
  return pages.get(key);
};
for (const [scheme, viewport] of [
  ['light', DESKTOP],
  ['dark', DESKTOP],
  ['light', PHONE],
  ['dark', PHONE],
])
  await pageFor(scheme, viewport);
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
for (const [name, scheme, viewport] of process.env.ALL_VIEWS ? ALL : KEPT) {
  const page = await pageFor(scheme, viewport);
  await page.evaluate(
    (hash) => {
      location.hash = hash;
    },
    VIEWS.find((view) => view.name === name).hash,
  );
  await page.waitForTimeout(900);
  await page.screenshot({ path: `${folder}/${name}-${scheme}${viewport === PHONE ? '-phone' : ''}.png` });
}
if (!process.env.ALL_VIEWS) await takeTwoWindows();
life.stop();
await browser.close();
await server.stop();
fs.rmSync(data, { recursive: true });
process.exit(0);
