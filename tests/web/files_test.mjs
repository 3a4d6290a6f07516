// The files page of the dashboard in a real browser: two windows, one file, its lock.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createSigner } from '../hengdang_sdk/nostr.mjs';
import { findBarriers, openPage, PHONE, startBrowser } from './browser.mjs';
import { startServer } from './server.mjs';

const TOKEN = 'the-auth-token';
const ADMIN = 'the-admin-token';
const owner = createSigner(4711);
let browser;
let folder;
let server;

before(async () => {
  browser = await startBrowser();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-files-'));
  const flags = Object.entries({ auth: TOKEN, admin: ADMIN }).flatMap(([name, token]) => {
    fs.writeFileSync(path.join(folder, name), `${token}\n`, { mode: 0o600 });
    return [`--${name}-token-file`, path.join(folder, name)];
  });
  server = await startServer({
    filesRoot: path.join(folder, 'files'),
    flags: [...flags, '--files-owner', owner.publicKey],
  });
});
after(async () => {
  await browser.close();
  await server.stop();
  fs.rmSync(folder, { recursive: true });
});

/** A window on the files page whose dashboard knows the token. */
async function openWindow(look = {}) {
  const page = await openPage(browser, `${server.http}/#/files`, look);
  await page.getByLabel('Token', { exact: true }).fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Log in to the files' }).waitFor();
  return page;
}
/** The same, logged in to the files. */
async function logIn(look) {
  const page = await openWindow(look);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Folder' }).waitFor();
  return page;
}
const write = (name, text) => {
  const file = path.join(folder, 'files', name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
};
const read = (name) => fs.readFileSync(path.join(folder, 'files', name), 'utf8');
const rowOf = (page, name) => page.getByRole('row').filter({ hasText: name });
const editorOf = (page, file) => page.getByLabel(`Text of ${file}`);
async function until(isSo) {
  for (const deadline = Date.now() + 60_000; !(await isSo());) {
    assert.ok(Date.now() < deadline, 'it never came about');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
// A refusal that is expected is a complaint of the browser, too.
const faultsOf = (page) => page.faults.filter((fault) => !/status of (401|423)/.test(fault));
const close = (...pages) => Promise.all(pages.map((page) => page.context().close()));

test('two windows, one file: the lock is seen live, and one at a time edits', async () => {
  write('pair/notes 100%.txt', 'first');
  const [a, b] = [await logIn(), await logIn()];
  for (const page of [a, b]) {
    await page.getByRole('button', { name: 'pair/' }).click();
    await rowOf(page, 'notes 100%.txt').getByText('free').waitFor();
  }
  await a.getByRole('button', { name: 'Edit notes 100%.txt' }).click();
  assert.equal(await editorOf(a, '/pair/notes 100%.txt').inputValue(), 'first');
  await rowOf(b, 'notes 100%.txt').getByText(/^[0-9a-f]{16}$/).waitFor();
  await b.getByRole('button', { name: 'Edit notes 100%.txt' }).click();
  await b.getByRole('alert').filter({ hasText: 'has locked this file' }).waitFor();
  await editorOf(a, '/pair/notes 100%.txt').fill('second version');
  await a.getByRole('button', { name: 'Save' }).click();
  await a.getByText('Saved.').waitFor();
  assert.equal(read('pair/notes 100%.txt'), 'second version');
  await rowOf(b, 'notes 100%.txt').getByText('14 B').waitFor();
  await rowOf(b, 'notes 100%.txt').getByText(/^[0-9a-f]{16}$/).waitFor();
  await a.getByRole('button', { name: 'Close' }).click();
  await rowOf(b, 'notes 100%.txt').getByText('free').waitFor();
  await b.getByRole('button', { name: 'Edit notes 100%.txt' }).click();
  assert.equal(await editorOf(b, '/pair/notes 100%.txt').inputValue(), 'second version');
  await rowOf(a, 'notes 100%.txt').getByText(/^[0-9a-f]{16}$/).waitFor();
  assert.deepEqual(faultsOf(a), []);
  await close(a, b);
});

test('an editor whose lock is lost says so, keeps the text, and can go on', async () => {
  write('lost.txt', 'first');
  const page = await logIn();
  await page.getByRole('button', { name: 'Edit lost.txt' }).click();
  await editorOf(page, '/lost.txt').fill('my work');
  const forced = await fetch(`${server.http}/v1/locks/${encodeURIComponent('/lost.txt')}?kind=path`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${ADMIN}` },
  });
  assert.equal(forced.status, 200);
  await page.getByText('The lock is lost').waitFor();
  assert.equal(await editorOf(page, '/lost.txt').inputValue(), 'my work');
  assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true);
  assert.deepEqual(await findBarriers(page), []);
  // Another view and back again: nothing is lost.
  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await page.getByRole('link', { name: 'Files', exact: true }).click();
  assert.equal(await editorOf(page, '/lost.txt').inputValue(), 'my work');
  await page.getByRole('button', { name: 'Lock it again' }).click();
  await page.getByText('locked for you again').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal(read('lost.txt'), 'my work');
  await editorOf(page, '/lost.txt').fill('more work');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  assert.equal(await editorOf(page, '/lost.txt').inputValue(), 'more work');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Close without saving' }).click();
  await rowOf(page, 'lost.txt').getByText('free').waitFor();
  assert.equal(read('lost.txt'), 'my work');
  await close(page);
});

test('a window that is closed gives its lock back', async () => {
  write('left.txt', 'first');
  const [a, b] = [await logIn(), await logIn()];
  await a.getByRole('button', { name: 'Edit left.txt' }).click();
  await rowOf(b, 'left.txt').getByText(/^[0-9a-f]{16}$/).waitFor();
  await a.close();
  await rowOf(b, 'left.txt').getByText('free').waitFor();
  await close(a, b);
});

test('the lock of a browser that crashed ends by itself, soon', async () => {
  write('crashed.txt', 'first');
  const [a, b] = [await logIn(), await logIn()];
  // The page asks for a minute; this test has no patience for it.
  const asked = [];
  await a.route(/[?&]lock=/, (route) => {
    const url = route.request().url();
    asked.push(new URL(url).searchParams.get('ttl'));
    return route.continue({ url: url.replace('ttl=60s', 'ttl=2s') });
  });
  await a.getByRole('button', { name: 'Edit crashed.txt' }).click();
  await editorOf(a, '/crashed.txt').waitFor();
  assert.deepEqual(asked, ['60s']);
  const isDead = new Promise((resolve) => a.once('crash', resolve));
  await Promise.all([isDead, a.goto('chrome://crash').catch(() => {})]);
  await rowOf(b, 'crashed.txt').getByText('free').waitFor();
  await b.getByRole('button', { name: 'Edit crashed.txt' }).click();
  await editorOf(b, '/crashed.txt').waitFor();
  await close(a, b);
});

// Apps ask with fetch() and say nothing of caches. A browser that guesses keeps a file that is 60 days old for six.
test('an old file in two sessions: a page that has the lock reads what the other has saved', async () => {
  write('old.txt', 'first');
  const age = 60 * 24 * 3600;
  fs.utimesSync(path.join(folder, 'files', 'old.txt'), Date.now() / 1000 - age, Date.now() / 1000 - age);
  const logInFrom = async (page) => {
    const session = await page.evaluate(
      async ([base, token]) => {
        const headers = { Authorization: `Bearer ${token}` };
        const response = await fetch(`${base}/auth/session`, { method: 'POST', headers });
        return (await response.json()).sessionId;
      },
      [server.files, TOKEN],
    );
    return (method, target, body) =>
      page.evaluate(
        async ([url, id, method, body]) => {
          const headers = { Authorization: `Bearer ${id}` };
          const response = await fetch(url, { method, body, headers });
          return response.text();
        },
        [server.files + target, session, method, body],
      );
  };
  const pages = [await openPage(browser, server.http), await openPage(browser, server.http)];
  const [a, b] = [await logInFrom(pages[0]), await logInFrom(pages[1])];
  assert.equal(await a('GET', '/old.txt'), 'first');
  assert.equal((JSON.parse(await a('GET', '/'))).entries.find((entry) => entry.path === '/old.txt').size, 5);
  assert.match(await b('GET', '/old.txt?lock=acquire'), /Lock acquired/);
  assert.equal(await b('GET', '/old.txt'), 'first');
  await b('PUT', '/old.txt', 'first, and the work of b');
  assert.match(await a('GET', '/old.txt?lock=acquire'), /Lock acquired/);
  const seen = await a('GET', '/old.txt');
  assert.equal(seen, 'first, and the work of b');
  await a('PUT', '/old.txt', `${seen}, and of a`);
  assert.equal(read('old.txt'), 'first, and the work of b, and of a');
  await close(...pages);
});

test('files are uploaded and downloaded', async () => {
  const page = await logIn();
  await page.getByLabel('Upload here').setInputFiles({
    name: 'a b%.bin',
    mimeType: 'application/octet-stream',
    buffer: Buffer.from([0, 1, 2, 255]),
  });
  await rowOf(page, 'a b%.bin').getByText('4 B').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download a b%.bin' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'a b%.bin');
  assert.deepEqual([...fs.readFileSync(await download.path())], [0, 1, 2, 255]);
  assert.equal(await page.getByRole('button', { name: 'Edit a b%.bin' }).count(), 0);
  await close(page);
});

test('an owner logs in with a key in a browser extension', async () => {
  const page = await openWindow();
  await page.exposeFunction('signForTest', (event) => owner.sign(event));
  await page.evaluate((publicKey) => {
    globalThis.nostr = {
      getPublicKey: async () => publicKey,
      signEvent: (event) => globalThis.signForTest(event),
    };
  }, owner.publicKey);
  await page.getByRole('button', { name: 'Log in with your Nostr key' }).click();
  await page.getByRole('navigation', { name: 'Folder' }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.locator('#files-token').fill('wrong');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'not the right one' }).waitFor();
  await close(page);
});

for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of [
    ['desktop', undefined],
    ['phone', PHONE],
  ]) {
    test(`nothing bars anybody's way to the files: ${colorScheme}, ${size}`, async () => {
      // A file of its own: the lock of a window that was closed a moment ago may still be there.
      const name = `plain-${colorScheme}-${size}.txt`;
      write(name, 'text');
      const look = { colorScheme, ...(viewport ? { viewport } : {}) };
      const page = await openWindow(look);
      const check = async (what) => {
        assert.deepEqual(await findBarriers(page), [], what);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${what} is ${overflow} pixels too wide`);
      };
      await check('login');
      await page.getByRole('button', { name: 'Log in', exact: true }).press('Enter');
      await rowOf(page, name).waitFor();
      await check('folder');
      await page.getByRole('button', { name: `Edit ${name}` }).press('Enter');
      await until(() => editorOf(page, `/${name}`).evaluate((text) => text === document.activeElement));
      await page.keyboard.type('typed at once ');
      await check('editor');
      assert.deepEqual(faultsOf(page), []);
      await close(page);
    });
  }
}
