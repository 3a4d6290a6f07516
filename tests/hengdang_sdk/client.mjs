// A client that asks what Hengdang's SDK asks, as the SDK does it in a browser: every request has the origin of its
// page and the cookie, and the session id as well once it is known. Paths from answers go into URLs as they are.

import { createSseParser } from '../../src/web/sse.js';

/** An answer that is no success. `data` is its JSON. */
export class Refused extends Error {
  constructor(status, data) {
    super(`${status}: ${data?.message}`);
    this.status = status;
    this.data = data;
  }
}

/**
 * A client of the files at `base`, on a page of `origin`. It keeps the cookie and, unless `isReloaded`, the session
 * id: a page that was loaded again has the cookie alone.
 */
export function createClient(base, { origin, cookie = '' }) {
  let sessionId = '';

  async function send(method, path, { body, headers = {} } = {}) {
    const more = sessionId ? { Authorization: `Bearer ${sessionId}` } : {};
    const response = await fetch(new URL(path, base), {
      method,
      body,
      headers: { Origin: origin, 'Sec-Fetch-Site': 'cross-site', Cookie: cookie, ...more, ...headers },
    });
    // A browser shows a page no other answers.
    if (response.headers.get('access-control-allow-origin') !== origin) throw new TypeError('Failed to fetch');
    if (response.headers.get('access-control-allow-credentials') !== 'true') throw new TypeError('Failed to fetch');
    const set = response.headers.get('set-cookie');
    if (set) cookie = set.split(';')[0];
    return response;
  }
  async function ask(method, path, options) {
    const response = await send(method, path, options);
    const text = await response.text();
    if (!response.ok) throw new Refused(response.status, text && JSON.parse(text));
    return text && JSON.parse(text);
  }
  const asDirectory = (path) => (path.endsWith('/') ? path : `${path}/`);

  return {
    async createSession(event) {
      const headers = { 'Content-Type': 'application/json' };
      const session = await ask('POST', '/auth/session', { body: JSON.stringify(event), headers });
      sessionId = session.sessionId;
      return session;
    },
    getSessionInfo: () => ask('GET', '/auth/session'),
    async deleteSession() {
      await ask('DELETE', '/auth/session');
      sessionId = '';
    },
    /** The same page, loaded again. */
    reloaded: () => createClient(base, { origin, cookie }),

    uploadText(path, text, conditions = {}) {
      const headers = { 'Content-Type': 'application/octet-stream', ...conditions };
      return ask('PUT', path, { body: new TextEncoder().encode(text), headers });
    },
    async downloadText(path) {
      const response = await send('GET', path);
      if (!response.ok) throw new Refused(response.status, await response.json());
      return response.text();
    },
    async getMetadata(path) {
      const response = await send('HEAD', path);
      if (response.status === 404) return null;
      return {
        contentLength: Number(response.headers.get('content-length')),
        contentType: response.headers.get('content-type'),
        contentHash: response.headers.get('etag').replaceAll('"', '').split('-')[0],
      };
    },
    deleteFile: (path) => ask('DELETE', path),
    createDirectory: (path) =>
      ask('POST', path, { body: '{}', headers: { 'Content-Type': 'application/json' } }),
    deleteDirectory: (path) => ask('DELETE', asDirectory(path)),
    listDirectory(path, options = {}) {
      const query = new URLSearchParams(options).toString();
      return ask('GET', asDirectory(path) + (query && `?${query}`));
    },
    lock: (path, action) => ask('GET', `${path}?lock=${action}`),

    /** Calls back with every message without a name, as EventSource's `onmessage`. Returns when it is connected. */
    async onFileChange(callback, filter) {
      const url = new URL('/events/stream', base);
      if (filter) url.searchParams.set('path', filter);
      const abort = new AbortController();
      // EventSource sends no header of the page's choice: the cookie is its login.
      const response = await fetch(url, { headers: { Origin: origin, Cookie: cookie }, signal: abort.signal });
      if (response.headers.get('access-control-allow-origin') !== origin) throw new TypeError('Failed to connect');
      if (!response.ok) throw new Refused(response.status, await response.json());
      const connected = new Promise((resolve) => {
        read(response.body, (data) => (data.type === 'connected' ? resolve() : callback(data)));
      });
      await connected;
      return () => abort.abort();
    },
  };
}

async function read(body, onMessage) {
  const parse = createSseParser();
  try {
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      for (const event of parse(text)) if (event.event === 'message') onMessage(JSON.parse(event.data));
    }
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
  }
}
