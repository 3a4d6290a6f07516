// The page: which view is shown, when it is drawn, and the conversation with the server.

import { askJson, NeedsToken, setToken } from './api.js';
import { h, morph } from './dom.js';
import { follow } from './feed.js';
import { rebuildSeries } from './rebuild.js';
import { decodeName } from './scopes.js';
import { createSeries, refill, tick } from './series.js';
import { createState, forgetHolds } from './store.js';
import { aboutView } from './view_about.js';
import { lockView } from './view_lock.js';
import { locksView } from './view_locks.js';
import { overviewView } from './view_overview.js';
import { filesView } from './view_files.js';
import { sessionsView } from './view_sessions.js';
import { timelineView } from './view_timeline.js';
import { tryView } from './view_try.js';

const STATUS_INTERVAL_MS = 5000;
const COUNTDOWN_INTERVAL_MS = 250;
// However many events arrive, the page is drawn so often at most.
const DRAW_INTERVAL_MS = 100;

const VIEWS = [
  { path: '', title: 'Overview', open: overviewView },
  { path: 'locks', title: 'Locks', open: locksView },
  { path: 'files', title: 'Files', open: filesView },
  { path: 'sessions', title: 'Sessions', open: sessionsView },
  { path: 'timeline', title: 'Timeline', open: timelineView },
  { path: 'try', title: 'Try it', open: tryView },
  { path: 'about', title: 'About', open: aboutView },
];

const find = (id) => document.getElementById(id);
const state = createState();
const series = createSeries();
const page = {
  state,
  series,
  status: null,
  connection: 'connecting',
  isLoaded: false,
  now: 0,
  serverNow: 0,
  redraw,
  confirm,
  say,
};
let clockOffsetMs = 0;
let view = null;
let isDrawPending = false;
let lostAt = 0;

function redraw() {
  if (isDrawPending) return;
  isDrawPending = true;
  const early = DRAW_INTERVAL_MS - (Date.now() - page.now);
  if (early > 0) setTimeout(() => requestAnimationFrame(draw), early);
  else requestAnimationFrame(draw);
}

function draw() {
  isDrawPending = false;
  page.now = Date.now();
  page.serverNow = page.now + clockOffsetMs;
  view.update(page);
  drawConnection();
}

function drawConnection() {
  const line = find('connection');
  const text = { live: 'live', lost: 'no connection', connecting: 'connecting' }[page.connection];
  if (line.textContent !== text) line.textContent = text;
  line.className = `connection ${page.connection}`;
  const isLost = page.connection === 'lost';
  const banner = find('banner');
  const isNotReady = page.connection === 'live' && page.status && !page.status.ready;
  banner.hidden = !isLost && !isNotReady;
  if (isLost)
    morph(
      banner,
      `The connection to the server is lost since ${Math.round((page.now - lostAt) / 1000)} s. What you see is from before; it is being tried again.`,
    );
  else if (isNotReady) morph(banner, `The server grants nothing: ${page.status.reason}`);
}

function onConnection(connection) {
  if (connection === 'lost' && page.connection !== 'lost') lostAt = Date.now();
  if (connection === 'live') page.isLoaded = true;
  if (connection === 'live' && page.connection !== 'live') readStatus();
  page.connection = connection;
  redraw();
}

/** Shows for a moment what became of a request. */
function say(text) {
  const note = h('p', { class: 'toast', role: 'status' }, text);
  document.body.append(note);
  setTimeout(() => note.remove(), 4000);
}

function confirm(title, text, { no = 'Keep it', yes = 'Force release' } = {}) {
  const dialog = find('confirm');
  find('confirm-no').textContent = no;
  find('confirm-yes').textContent = yes;
  find('confirm-title').textContent = title;
  find('confirm-text').textContent = text;
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true }),
  );
}

let tokenAsked = null;
function askForToken(complaint) {
  tokenAsked ??= new Promise((resolve) => {
    const dialog = find('secret');
    const input = find('secret-input');
    find('secret-error').textContent = complaint;
    input.value = '';
    dialog.showModal();
    dialog.addEventListener(
      'close',
      () => {
        setToken(input.value.trim());
        input.value = '';
        tokenAsked = null;
        resolve();
      },
      { once: true },
    );
  });
  return tokenAsked;
}

async function readStatus() {
  try {
    const sent = Date.now();
    const status = await askJson('/v1/status');
    clockOffsetMs = status.now_ms - (sent + Date.now()) / 2;
    const before = page.status?.figures;
    const { figures } = status; // none for a token that may not read everything
    if (before && figures && figures.commits > before.commits) {
      const spent = figures.commit_microseconds - before.commit_microseconds;
      page.commitMs = spent / (figures.commits - before.commits) / 1000;
    }
    page.status = status;
  } catch (error) {
    if (!(error instanceof NeedsToken)) return; // the stream notices, too, and tells
  }
  redraw();
}

let countedGrants = 0;
let countedExpiries = 0;
let hasWaits = false;

/** The curves begin with what happened before. Only the first time who waited: after that, the page has seen it. */
function onSnapshot(now) {
  if (!state.past.isKept) return;
  const rebuilt = rebuildSeries(state.holds.values(), { since: state.past.since, now });
  if (hasWaits) delete rebuilt.waiting;
  hasWaits = true;
  refill(series, rebuilt);
  countedGrants = state.granted;
  countedExpiries = state.expired;
}

function sample() {
  if (!page.isLoaded) return;
  tick(series, {
    held: state.held,
    waiting: state.waiting,
    grants: state.granted - countedGrants,
    expiries: state.expired - countedExpiries,
    commit: page.commitMs ?? 0,
  });
  countedGrants = state.granted;
  countedExpiries = state.expired;
  forgetHolds(state, Date.now() + clockOffsetMs);
}

function route() {
  const [path, kind, name] = location.hash.replace(/^#\/?/, '').split('/');
  const chosen = VIEWS.find((each) => each.path === path) ?? VIEWS[path === 'lock' ? 1 : 0];
  const root = h('div', { class: `view view-${path || 'overview'}` });
  find('view').replaceChildren(root);
  view = path === 'lock' && name ? lockView(root, kind, decodeName(name)) : chosen.open(root);
  document.title = `${view.title} · Holdfast`;
  morph(
    find('nav'),
    VIEWS.map((each) =>
      h('a', { href: `#/${each.path}`, 'aria-current': each === chosen ? 'page' : false }, each.title),
    ),
  );
  draw();
}

addEventListener('hashchange', () => {
  if (!location.hash.startsWith('#/') && location.hash !== '') return; // a place within the page
  route();
  find('view').focus({ preventScroll: true });
});
document.querySelector('#secret').addEventListener('cancel', (event) => event.preventDefault());
addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.nodeName ?? '');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (!find('filter')) {
    history.pushState(null, '', '#/locks');
    route();
  }
  find('filter').focus(); // at once: the next letter is for the filter
});

route();
setInterval(redraw, COUNTDOWN_INTERVAL_MS);
setInterval(sample, 1000);
setInterval(() => page.connection === 'live' && readStatus(), STATUS_INTERVAL_MS);
follow(state, {
  now: async () => {
    await readStatus();
    return Date.now() + clockOffsetMs;
  },
  snapshot: onSnapshot,
  change: redraw,
  connection: onConnection,
  token: askForToken,
});
