// The live connection: a snapshot, then events; again and again, for as long as the page is open.

import { ask, listLocks, listSessions, NeedsToken } from './api.js';
import { createSseParser } from './sse.js';
import { applyEvent, applySessions, applySnapshot } from './store.js';

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 10_000;
// The server says something every 15 seconds. Silence for longer is a connection that is dead and does not know.
const SILENCE_MAX_MS = 40_000;

/**
 * Keeps `state` up to date. `on.change` is called after changes, `on.connection` with 'live' or 'lost', and
 * `on.token` is asked for a token where one is needed.
 */
export async function follow(state, on) {
  let retryMs = RETRY_MIN_MS;
  let isComplete = false;
  for (;;) {
    try {
      // Whoever has seen no event yet cannot say where to go on.
      isComplete = isComplete && state.lastEventId !== null;
      const stream = await openStream(isComplete ? state.lastEventId : null);
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

async function openStream(lastEventId) {
  const abort = new AbortController();
  const response = await ask('/v1/events', {
    headers: lastEventId === null ? {} : { 'Last-Event-ID': lastEventId },
    signal: abort.signal,
  });
  if (!response.ok) throw new Error(`events: ${response.status}`);
  return { abort, reader: response.body.pipeThrough(new TextDecoderStream()).getReader() };
}

/**
 * Reads until the connection is lost. The events that come while the snapshot is fetched wait for it: taken in twice
 * they do no harm, missed they would. Returns whether the state is whole, so that the next stream can go on from it.
 */
async function readStream({ abort, reader }, state, on, isComplete, onLive) {
  const parse = createSseParser();
  let waiting = [];
  let isWhole = isComplete;
  let isFetching = false;
  let silence = 0;
  const fail = (error) => abort.abort(error);

  async function fetchSnapshot() {
    if (isFetching) return;
    isFetching = true;
    isWhole = false;
    try {
      const [locks, sessions] = await Promise.all([listLocks(), listSessions()]);
      applySnapshot(state, locks, Date.now());
      applySessions(state, sessions);
      isWhole = true;
      for (const event of waiting) applyEvent(state, event.event, JSON.parse(event.data), event.id);
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
    silence += 1000;
    if (silence > SILENCE_MAX_MS) fail(new Error('silence'));
  }, 1000);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return isWhole;
      silence = 0;
      const events = parse(value);
      if (events.some((event) => event.event === 'gap')) fetchSnapshot();
      for (const event of events) {
        if (event.event === 'gap') continue;
        if (isWhole) applyEvent(state, event.event, JSON.parse(event.data), event.id);
        else waiting.push(event);
      }
      if (isWhole && events.length > 0) on.change();
    }
  } catch {
    return isWhole;
  } finally {
    clearInterval(watch);
  }
}
