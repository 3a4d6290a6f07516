// The files: browse, upload, download and edit them, and see who has what locked.

import { knownToken } from './api.js';
import { h, morph } from './dom.js';
import { openEditor, REFRESH_INTERVAL_MS } from './files_editor.js';
import { createFiles, filesAddress, FileRefusal, pathSegment, readable } from './files_api.js';
import { bytes, clock } from './format.js';
import { leaseBar, lockHref, wideTable } from './parts.js';
import { firstHolder } from './listing.js';
import { lockKey } from './scopes.js';
import { lockedFiles } from './view_ranges.js';

const WATCH_RETRY_MS = 3000;
const TEXT_TYPES = /^(text\/|application\/(json|xml|yaml|toml|javascript|x-sh))/;

// What goes on with the files does not end when another view is looked at: the editor keeps its lock and its text.
const desk = { files: null, directory: '/', entries: null, editor: null, message: '', watch: null, timer: null, isFresh: false };
let page = null;
const redraw = () => page?.redraw();

function say(text) {
  desk.message = text;
  redraw();
}

/** Runs the steps, and shows what went wrong. */
async function attempt(steps) {
  desk.message = '';
  try {
    await steps();
  } catch (error) {
    if (error instanceof FileRefusal && error.status === 401 && !desk.files.session) leave();
    const by = error.answer?.lockedBy;
    say(by ? `${by} has locked this file. Try again when it is free.` : error.message);
  }
  redraw();
}

async function load() {
  const { directory, files } = desk;
  const entries = await files.list(directory);
  if (desk.directory === directory && desk.files === files) desk.entries = entries;
  redraw();
}

/** Loads a directory and follows its changes until another one is opened. */
async function open(directory) {
  desk.watch?.abort();
  const watch = (desk.watch = new AbortController());
  desk.directory = directory;
  await attempt(load);
  while (!watch.signal.aborted && desk.files.session) {
    await desk.files.watch(directory, () => load().catch(() => {}), watch.signal).catch(() => {});
    if (watch.signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, WATCH_RETRY_MS));
    if (!watch.signal.aborted) await load().catch(() => {});
  }
}

function leave() {
  desk.watch?.abort();
  desk.entries = null;
}

async function edit(path) {
  desk.editor = await openEditor(desk.files, path, redraw);
  desk.timer = setInterval(() => desk.editor?.refresh(), REFRESH_INTERVAL_MS);
  desk.isFresh = true;
  redraw();
}

async function closeEditor() {
  const { editor } = desk;
  const title = 'Close without saving?';
  const labels = { no: 'Keep editing', yes: 'Close without saving' };
  if (editor.isDirty && !(await page.confirm(title, 'What you have changed will be lost.', labels))) return;
  clearInterval(desk.timer);
  desk.editor = null;
  redraw();
  await editor.close();
}

async function upload(list) {
  for (const file of list) {
    await desk.files.write(desk.directory + pathSegment(file.name), file);
    page.say(`${file.name} is uploaded.`);
  }
  await load();
}

async function download(path) {
  const { blob } = await desk.files.read(path);
  const link = h('a', { href: URL.createObjectURL(blob), download: readable(path).split('/').pop() });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The browser asks before it closes a page with unsaved text; a page that goes gives its lock and its session back.
addEventListener('beforeunload', (event) => {
  if (desk.editor?.isDirty) event.preventDefault();
});
addEventListener('pagehide', (event) => {
  if (event.persisted || !desk.files?.session) return;
  desk.files.logOut({ keepalive: true }).catch(() => {});
});

function loginCard() {
  const token = h('input', {
    id: 'files-token',
    type: 'password',
    autocomplete: 'off',
    required: true,
    value: knownToken(),
    'data-keep': true,
  });
  const enter = (logIn) =>
    attempt(async () => {
      await logIn();
      open('/');
    });
  const byToken = (event) => {
    event.preventDefault();
    const value = document.getElementById('files-token').value.trim();
    enter(() => desk.files.logInWithToken(value));
  };
  const byKey = () => enter(() => desk.files.logInWithKey(globalThis.nostr));
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Log in to the files'),
    h(
      'p',
      { class: 'quiet' },
      'The session is kept in this page’s memory only, and ends with the page. Each window has its own.',
    ),
    h(
      'form',
      { class: 'fields', on: { submit: byToken } },
      h('label', {}, 'Token', token),
      h('div', { class: 'actions start' }, h('button', { class: 'primary' }, 'Log in')),
    ),
    globalThis.nostr
      ? h('button', { type: 'button', on: { click: byKey } }, 'Log in with your Nostr key')
      : h('p', { class: 'quiet' }, 'With a browser extension for Nostr (NIP-07), owners can log in with their key.'),
  );
}

function breadcrumb() {
  const parts = desk.directory.split('/').filter(Boolean);
  const paths = parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}/`);
  const step = (path, name, isLast) =>
    h(
      'li',
      {},
      isLast
        ? h('span', { 'aria-current': 'location' }, name)
        : h('button', { type: 'button', class: 'link', on: { click: () => open(path) } }, name),
    );
  return h(
    'nav',
    { class: 'crumbs', 'aria-label': 'Folder' },
    h(
      'ol',
      {},
      step('/', 'Files', paths.length === 0),
      paths.map((path, index) => step(path, decodeURIComponent(parts[index]), index === paths.length - 1)),
    ),
  );
}

function lockCell(path, { state, serverNow }) {
  const lock = state.locks.get(lockKey('path', readable(path)));
  const holder = lock && firstHolder(lock);
  if (!holder) return h('td', { class: 'quiet' }, 'free');
  const isOwn = holder.owner === desk.files.session?.name;
  return h(
    'td',
    {},
    h('a', { href: lockHref(lock) }, isOwn ? 'you' : holder.owner),
    ' ',
    leaseBar(holder, serverNow),
  );
}

function entryRow(entry) {
  const isDirectory = entry.type === 'directory';
  const name = decodeURIComponent(entry.path.split('/').filter(Boolean).pop());
  const act = (text, steps) =>
    h(
      'button',
      { type: 'button', 'aria-label': `${text} ${name}`, on: { click: () => attempt(steps) } },
      text,
    );
  const isText = !isDirectory && (TEXT_TYPES.test(entry.contentType) || entry.size === 0);
  return h(
    'tr',
    {},
    h(
      'td',
      {},
      isDirectory
        ? h('button', { type: 'button', class: 'link', on: { click: () => open(entry.path) } }, `${name}/`)
        : name,
    ),
    h('td', { class: 'number' }, isDirectory ? '' : bytes(entry.size)),
    h('td', { class: 'number' }, `${new Date(entry.lastModified).toLocaleDateString()} ${clock(entry.lastModified)}`),
    isDirectory ? h('td', {}) : lockCell(entry.path, page),
    h(
      'td',
      {},
      h(
        'div',
        { class: 'row-actions' },
        isText ? act('Edit', () => edit(entry.path)) : null,
        isDirectory ? null : act('Download', () => download(entry.path)),
      ),
    ),
  );
}

function browserCard() {
  const input = h('input', {
    id: 'files-upload',
    type: 'file',
    multiple: true,
    on: {
      change: (event) => {
        const list = [...event.target.files];
        attempt(() => upload(list));
        event.target.value = '';
      },
    },
  });
  const out = () =>
    attempt(async () => {
      leave();
      await desk.files.logOut();
    });
  return h(
    'section',
    { class: 'card' },
    h(
      'div',
      { class: 'toolbar' },
      breadcrumb(),
      h('span', { class: 'grow' }),
      h('label', { class: 'upload' }, 'Upload here ', input),
      h('button', { type: 'button', on: { click: out } }, 'Log out'),
    ),
    desk.entries === null
      ? h('p', { class: 'quiet' }, 'loading')
      : desk.entries.length === 0
        ? h('p', { class: 'quiet' }, 'This folder is empty.')
        : wideTable('Files', ['Name', 'Size', 'Changed', 'Locked by', 'Do'], desk.entries.map(entryRow)),
  );
}

function editorCard() {
  const { editor } = desk;
  const isHeld = editor.state === 'held';
  const text = h('textarea', {
    id: 'editor-text',
    rows: '14',
    spellcheck: 'false',
    'aria-label': `Text of ${readable(editor.path)}`,
    'data-keep': true,
    on: {
      input: (event) => {
        desk.editor.text = event.target.value;
        if (desk.editor.state === 'held') desk.editor.message = '';
        redraw();
      },
    },
  });
  text.value = editor.text;
  const button = (label, steps, options = {}) =>
    h('button', { type: 'button', on: { click: () => attempt(steps) }, ...options }, label);
  const waiting = editor.isDirty ? 'Not saved yet.' : '';
  return h(
    'section',
    { class: 'card editor', id: `editor-${editor.path}` },
    h('h2', {}, readable(editor.path)),
    h(
      'p',
      { class: isHeld ? 'quiet' : 'error', role: 'status' },
      isHeld ? `Locked for you while this is open. ${editor.message || waiting}` : editor.message,
    ),
    text,
    h(
      'div',
      { class: 'actions start' },
      button('Save', () => editor.save(), { class: 'primary', disabled: !isHeld || !editor.isDirty || editor.isBusy }),
      isHeld ? null : button('Lock it again', () => editor.lockAgain(), { disabled: editor.isBusy }),
      button('Close', closeEditor, { disabled: editor.isBusy }),
    ),
  );
}

// The feed of the locks knows of a lost lock before the next renewal does.
function checkLock() {
  const { editor } = desk;
  if (!editor || editor.state !== 'held' || editor.isBusy || page.connection !== 'live') return;
  const lock = page.state.locks.get(lockKey('path', readable(editor.path)));
  const holder = lock && firstHolder(lock);
  if (holder?.owner !== desk.files.session?.name) editor.refresh();
}

export function filesView(root) {
  return {
    title: 'Files',
    update(next) {
      page = next;
      const address = filesAddress(page.status, location);
      if (address && desk.files?.base !== address && !desk.editor) desk.files = createFiles(address);
      checkLock();
      const isIn = desk.files?.session;
      morph(
        root,
        h('div', { class: 'toolbar' }, h('h1', {}, 'Files')),
        h('div', { class: 'stack', id: 'desk' },
          desk.message ? h('p', { class: 'error', role: 'alert' }, desk.message) : null,
          !address || !desk.files ? null : desk.editor ? editorCard() : isIn ? browserCard() : loginCard()),
        lockedFiles(page.state, Boolean(address)),
      );
      if (desk.isFresh) document.getElementById('editor-text')?.focus();
      desk.isFresh = false;
    },
  };
}
