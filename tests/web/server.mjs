// `holdfast serve` for the tests of the dashboard: on free ports, with nothing kept unless told where.

import { spawn } from 'node:child_process';
import net from 'node:net';
import readline from 'node:readline';

const PROGRAM = process.env.HOLDFAST_PROGRAM;

/** A running server; {http: 'http://127.0.0.1:…', dflockdPort, files: 'http://…' with `filesRoot`, stop()}. */
export async function startServer({ flags = [], http = '127.0.0.1:0', data = null, filesRoot = null } = {}) {
  const child = spawn(
    PROGRAM,
    [
      'serve',
      '--http',
      http,
      '--dflockd',
      '127.0.0.1:0',
      '--log-level',
      'off',
      ...(data ? ['--data', data] : ['--memory']),
      ...(filesRoot ? ['--files', '127.0.0.1:0', '--files-root', filesRoot] : []),
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const address = async (door) => {
    const { value } = await lines.next();
    if (!value?.startsWith(`listening ${door} `)) throw new Error(`the server said ${value}`);
    return value.split(' ')[2];
  };
  const httpAddress = await address('http');
  const dflockdPort = Number((await address('dflockd')).split(':')[1]);
  const files = filesRoot ? `http://${await address('files')}` : null;
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { http: `http://${httpAddress}`, address: httpAddress, dflockdPort, files, stop };
}

/** Requests to a server, with a token or without. */
export function createClient(server, token = '') {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const send = async (method, path, body) => {
    const response = await fetch(server.http + path, { method, headers, body: body && JSON.stringify(body) });
    return response.json();
  };
  return {
    send,
    acquire: (name, owner_id, more = {}) =>
      send('POST', `/v1/locks/${encodeURIComponent(name)}/acquire`, { owner_id, ttl_ms: 60_000, ...more }),
    release: (lease) =>
      send('POST', `/v1/locks/${encodeURIComponent(lease.lock_name)}/release`, {
        owner_id: lease.owner_id,
        lease_id: lease.lease_id,
        fencing_token: lease.fencing_token,
      }),
    job: (job, client, ttl) => send('POST', `/lock?job=${job}&client=${client}&ttl=${ttl}`),
    lease: (scope, holder, more = {}) =>
      send('POST', '/v1/leases', { scope, holder, duration_ms: 60_000, ...more }),
  };
}

/** A connection to the dflockd door, and the answers to what is sent on it. */
export function connectDflockd(port) {
  const socket = net.connect(port, '127.0.0.1');
  const lines = readline.createInterface({ input: socket })[Symbol.asyncIterator]();
  return {
    async ask(command, key, argument) {
      socket.write(`${command}\n${key}\n${argument}\n`);
      return (await lines.next()).value;
    },
    end: () => socket.destroy(),
  };
}

/** Takes many locks at once, all requests in one stream of bytes. */
export async function acquireMany(server, names, ttl_ms = 600_000) {
  const { hostname, port } = new URL(server.http);
  const socket = net.connect(Number(port), hostname);
  const answered = new Promise((resolve, reject) => {
    let text = '';
    let count = 0;
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk;
      const parts = text.split('"acquired":true');
      count += parts.length - 1;
      text = parts.at(-1).slice(-20);
      if (count >= names.length) resolve();
    });
  });
  for (const [index, name] of names.entries()) {
    const body = JSON.stringify({ owner_id: `worker-${index % 50}`, ttl_ms });
    socket.write(
      `POST /v1/locks/${encodeURIComponent(name)}/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }
  await answered;
  socket.destroy();
}
