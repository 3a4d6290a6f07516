// Talking to the server. The token lives in this module's memory and nowhere else.

import { addPage, createPast, historyPath } from './history.js';
import { encodeName, exactName } from './scopes.js';

let token = '';

export class NeedsToken extends Error {}

/** The token that a person has given this page; empty if there is none. */
export function knownToken() {
  return token;
}

export function setToken(value) {
  token = value;
}

function headers(more = {}) {
  return token === '' ? more : { ...more, Authorization: `Bearer ${token}` };
}

/** The answer, as it comes. Throws NeedsToken on 401, and what fetch throws when there is no server. */
export async function ask(path, options = {}) {
  const response = await fetch(path, { cache: 'no-store', ...options, headers: headers(options.headers) });
  if (response.status === 401) throw new NeedsToken(token === '' ? '' : 'That is not the right token.');
  return response;
}

/** The JSON of an answer. Throws on every status that is no success. */
export async function askJson(path) {
  const response = await ask(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** The JSON of an answer; null where the server has no such thing, or does not show it to this token. */
export async function askIfThere(path) {
  const response = await ask(path);
  if (response.status === 404 || response.status === 403) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** The status and JSON of an answer to a request that changes something. */
export async function change(method, path, body) {
  const response = await ask(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

/** Where the next page begins; undefined: there is none. Throws if that is where this page began: it would never end. */
function nextPage(next, after) {
  if (next !== undefined && next === after) throw new Error(`the page after ${after} leads to itself`);
  return next;
}

/** A listed lock with the holders that the listing left out. */
async function withAllHolders(lock) {
  const holders = [...lock.holders];
  for (let next = lock.holders_next; next !== undefined;) {
    const path = lockPath(
      { name: exactName(lock.lock_name, lock.name_bytes), kind: lock.kind },
      `&holders_after=${encodeURIComponent(next)}`,
    );
    const page = await askJson(path);
    holders.push(...(page.holders ?? []));
    next = nextPage(page.holders_next, next);
  }
  return { ...lock, holders };
}

/**
 * All locks, page by page. Each has the position of its page, which says up to which event the page shows it; the
 * position of the whole is that of the first page, or null if the server tells none.
 */
export async function listLocks() {
  const locks = [];
  let position;
  for (let after = ''; ;) {
    const page = await askJson(`/v1/locks?limit=1000&after=${encodeURIComponent(after)}`);
    position ??= page.position ?? null;
    for (const lock of page.locks) locks.push({ ...(await withAllHolders(lock)), position: page.position });
    const next = nextPage(page.next, after);
    if (next === undefined) return { locks, position };
    after = next;
  }
}

/** The holds that ended since a time, the newest first, in at most `pagesMax` pages; null: there is no history. */
export async function listHistory(since, pagesMax) {
  const past = createPast();
  let position = null;
  for (let pages = 0; pages < pagesMax && !past.isWhole; pages += 1) {
    const page = await askIfThere(historyPath({ since: Math.floor(since), after: past.next, limit: 1000 }));
    addPage(past, page);
    if (page === null) return null;
    position ??= page.position ?? null;
  }
  return { past, position };
}

/**
 * {sessions, position}: the sessions there are, the first thousand, and those who have logged in to the files. None
 * for a token that may not read everything.
 */
export async function listSessions() {
  const path = '/v1/sessions?limit=1000';
  const response = await ask(path);
  if (response.status === 403) return { sessions: [] };
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** The cycles of clients that wait for one another, and a position; null: the server looks for none. */
export function listDeadlocks() {
  return askIfThere('/v1/deadlocks');
}

export function lockPath(lock, more = '') {
  return `/v1/locks/${encodeName(lock.name)}?kind=${lock.kind}${more}`;
}
