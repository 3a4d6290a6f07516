// The live connection: a snapshot, then the events after it; again and again, for as long as the page is open.

import { ask, listDeadlocks, listHistory, listLocks, listSessions, NeedsToken } from './api.js';
import { RECENT_MS } from './rebuild.js';
import { createSseParser } from './sse.js';
import { applyDeadlocks, applyEvent, applyPast, applySessions, applySnapshot } from './store.js';

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 10_000;
// The server says something every 15 seconds. Silence for longer is a connection that is dead and does not know.
const SILENCE_MAX_MS = 40_000;
// So many pages of a thousand holds show what happened before the page was opened; a busy server has more.
const HISTORY_PAGES_MAX = 3;
// No event says that a deadlock is gone. It is asked for when something happened to its members, and now and then.
const DEADLOCKS_INTERVAL_MS = 300;
const DEADLOCKS_SECONDS = 5;

/**
 * Keeps `state` up to date. `on.now` tells the time of the server, `on.snapshot` is called after each snapshot and
 * `on.change` after changes, `on.connection` with 'live' or 'lost', and `on.token` is asked for a token where one is
 * needed.
 */
export async function follow(state, on) {
  let retryMs = RETRY_MIN_MS;
  let isComplete = false;
  for (;;) {
    try {
      isComplete = (isComplete && state.lastEventId !== null) || (await takeSnapshot(state, on));
      const stream = await openStream(state, isComplete);
      isComplete = await readStream(stream, state, on, isComplete, () => {
        retryMs = RETRY_MIN_MS;
      });
    } catch (error) {
      if (error instanceof NeedsToken) {
        await on.token(error.message);
        continue;
      }
    }
    on.connection('lost');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
  }
}

// The locks are shown even if the history cannot be read now.
function withoutHistory(error) {
  if (error instanceof NeedsToken) throw error;
  return null;
}

/**
 * Replaces all that is known. The history is asked for first: what ends after it is told by an event. Returns whether
 * the server told the position of the snapshot, so that a stream of events can begin exactly there.
 */
async function takeSnapshot(state, on) {
  const now = await on.now();
  const since = now - RECENT_MS;
  const history = await listHistory(since, HISTORY_PAGES_MAX).catch(withoutHistory);
  const [listing, sessions, deadlocks] = await Promise.all([listLocks(), listSessions(), listDeadlocks()]);
  applySnapshot(state, listing.locks, now);
  applyPast(state, history?.past ?? null, since, now);
  applySessions(state, sessions.sessions);
  applyDeadlocks(state, deadlocks);
  on.snapshot(now);
  if (listing.position === null) return false;
  const positions = [listing, history, sessions, deadlocks].map((answer) =>
    Number(answer?.position ?? Infinity),
  );
  state.hasPositions = true;
  state.lastEventId = String(Math.min(...positions));
  return true;
}

/** A stream of the events after the last one that is known. Without one, of those from now on. */
async function openStream(state, isComplete) {
  const abort = new AbortController();
  const after = isComplete ? state.lastEventId : null;
  const response = await ask(
    after !== null && state.hasPositions ? `/v1/events?after=${after}` : '/v1/events',
    {
      headers: after === null || state.hasPositions ? {} : { 'Last-Event-ID': after },
      signal: abort.signal,
    },
  );
  if (!response.ok) throw new Error(`events: ${response.status}`);
  return { abort, reader: response.body.pipeThrough(new TextDecoderStream()).getReader() };
}

/** Asks for the deadlocks again when they may have changed. */
function createDeadlockWatch(state, on) {
  let isAsking = false;
  let askedAt = 0;
  return async function look(isDue) {
    const isEarly = isAsking || Date.now() - askedAt < DEADLOCKS_INTERVAL_MS;
    if (!isDue || isEarly || !state.watchesDeadlocks || state.deadlocks.length === 0) return;
    isAsking = true;
    askedAt = Date.now();
    state.deadlocksDue = false;
    try {
      applyDeadlocks(state, await listDeadlocks());
      on.change();
    } catch {
      state.deadlocksDue = true; // the stream notices, too, and tells
    } finally {
      isAsking = false;
    }
  };
}

/**
 * Reads until the connection is lost. If a snapshot is needed, because the server no longer knows some events or
 * tells no position, the events that come meanwhile wait for it. Returns whether the state is whole, so that the next
 * stream can go on from it.
 */
async function readStream({ abort, reader }, state, on, isComplete, onLive) {
  const parse = createSseParser();
  const lookForDeadlocks = createDeadlockWatch(state, on);
  let waiting = [];
  let isWhole = isComplete;
  let isFetching = false;
  let seconds = 0;
  let heardAt = 0;
  const fail = (error) => abort.abort(error);
  const apply = (event) => applyEvent(state, event.event, JSON.parse(event.data), event.id);

  async function fetchSnapshot() {
    if (isFetching) return;
    isFetching = true;
    isWhole = false;
    try {
      const hasPosition = await takeSnapshot(state, on);
      const position = hasPosition ? Number(state.lastEventId) : -1;
      isWhole = true;
      waiting.filter((event) => event.id === null || Number(event.id) > position).forEach(apply);
      waiting = [];
      live();
    } catch (error) {
      fail(error);
    } finally {
      isFetching = false;
    }
  }
  function live() {
    onLive();
    on.connection('live');
    on.change();
  }

  if (isWhole) live();
  else fetchSnapshot();
  const watch = setInterval(() => {
    seconds += 1;
    if ((seconds - heardAt) * 1000 > SILENCE_MAX_MS) fail(new Error('silence'));
    lookForDeadlocks(state.deadlocksDue || seconds % DEADLOCKS_SECONDS === 0);
  }, 1000);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return isWhole;
      heardAt = seconds;
      const events = parse(value);
      if (events.some((event) => event.event === 'gap')) fetchSnapshot();
      for (const event of events) {
        if (event.event === 'gap') continue;
        if (isWhole) apply(event);
        else waiting.push(event);
      }
      if (isWhole && events.length > 0) on.change();
      lookForDeadlocks(state.deadlocksDue);
    }
  } catch {
    return isWhole;
  } finally {
    clearInterval(watch);
  }
}
