// Talking to the file door. Its session lives in this module's memory and nowhere else: every window has its own.

import { createSseParser } from './sse.js';

/** An answer of the file door that is no success: its status, and its JSON. */
export class FileRefusal extends Error {
  constructor(status, answer) {
    super(answer.message ?? answer.error ?? `status ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

/** Where the file door is for this page; null if the server has none. `place` is the page's location. */
export function filesAddress(status, place) {
  const listener = (name) => status?.listeners.find((each) => each.name === name);
  const port = (name) => listener(name)?.address.match(/:(\d+)$/)?.[1];
  if (!listener('files')) return null;
  const usual = place.protocol === 'https:' ? '443' : '80';
  const isDirect = (place.port || usual) === port('http');
  const named = status.configuration['files-url'];
  if ((!isDirect || !port('files')) && named) return named;
  if (!port('files')) return null;
  return `${listener('files').tls ? 'https' : 'http'}://${place.hostname}:${port('files')}`;
}

/** A path of an answer, as people write it. */
export function readable(path) {
  return path.split('/').map(decodeURIComponent).join('/');
}

/** A name as it stands in a path. */
export function pathSegment(name) {
  return encodeURIComponent(name);
}

/** The door at `base`. All paths are as its answers write them. */
export function createFiles(base) {
  let session = null;

  async function send(method, path, options = {}) {
    const headers = session ? { Authorization: `Bearer ${session.sessionId}` } : {};
    const response = await fetch(base + path, {
      cache: 'no-store',
      credentials: 'omit',
      ...options,
      method,
      headers: { ...headers, ...options.headers },
    });
    if (response.ok) return response;
    const answer = await response.json().catch(() => ({}));
    if (response.status === 401) session = null;
    throw new FileRefusal(response.status, answer);
  }

  return {
    base,
    get session() {
      return session;
    },
    async logInWithToken(token) {
      session = null;
      const response = await send('POST', '/auth/session', { headers: { Authorization: `Bearer ${token}` } });
      session = await response.json();
    },
    /** `signer` is the `window.nostr` of a browser extension (NIP-07). */
    async logInWithKey(signer, now = Date.now()) {
      session = null;
      const event = {
        pubkey: await signer.getPublicKey(),
        created_at: Math.floor(now / 1000),
        kind: 27235,
        tags: [
          ['u', `${base}/auth/session`],
          ['method', 'POST'],
          ['scope', 'read'],
          ['scope', 'write'],
        ],
        content: JSON.stringify({ app: 'Holdfast dashboard' }),
      };
      const response = await send('POST', '/auth/session', { body: JSON.stringify(await signer.signEvent(event)) });
      session = await response.json();
    },
    async logOut(options = {}) {
      const leaving = send('DELETE', '/auth/session', options);
      session = null;
      await leaving;
    },
    async list(directory) {
      const entries = [];
      for (let cursor = ''; ;) {
        const query = `?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
        const page = await (await send('GET', directory + query)).json();
        entries.push(...page.entries);
        if (!page.hasMore) return entries;
        cursor = page.nextCursor;
      }
    },
    /** The content, and the ETag of its version. */
    async read(path) {
      const response = await send('GET', path);
      return { blob: await response.blob(), etag: response.headers.get('ETag') };
    },
    /** Writes a version over the one with this ETag; null: where no file is; undefined: over any. Returns its ETag. */
    async write(path, content, etag) {
      const condition = etag === null ? { 'If-None-Match': '*' } : etag ? { 'If-Match': etag } : {};
      const response = await send('PUT', path, { body: content, headers: condition });
      return response.headers.get('ETag');
    },
    async makeDirectory(path) {
      await send('POST', path);
    },
    /** `ttl` is how long the lock lasts from now on; without it half an hour. */
    async lock(path, action, { ttl, ...options } = {}) {
      return (await send('GET', `${path}?lock=${action}${ttl ? `&ttl=${ttl}` : ''}`, options)).json();
    },
    /** Calls `onChange` when something below the directory has changed, until the signal aborts it. */
    async watch(directory, onChange, signal) {
      const filter = encodeURIComponent(`${directory}*`);
      const response = await send('GET', `/events/stream?path=${filter}`, { signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parse = createSseParser();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        if (parse(value).some((event) => JSON.parse(event.data).type !== 'connected')) onChange();
      }
    },
  };
}
