// What the tests of the client share.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client } from "../holdfast.mjs";
import { Impostor, PATIENCE_MS, Proxy, Server, until } from "./server.mjs";

/** The path of the server's program. */
const program = process.argv[2] ?? process.env.HOLDFAST_PROGRAM;
if (!program) throw new Error("usage: node holdfast_test.mjs HOLDFAST");
for (const name of Object.keys(process.env)) if (name.startsWith("HOLDFAST_")) delete process.env[name];

export const connect = (servers, options) =>
    new Client({ servers, timeoutMs: 30_000, retryForMs: 30_000, ...options });

/** A test with a server of its own, which ends with it. Tests run at the same time: most of their time is waiting. */
export function check(name, work, { flags = async () => [], scheme = "http" } = {}) {
    checks.push([name, async () => {
        const folder = await mkdtemp(join(tmpdir(), "holdfast-"));
        const server = await Server.start(program, await flags(folder), scheme);
        const proxy = await Proxy.start(server);
        try {
            await work({ server, proxy, folder, client: connect(server.url), far: connect(proxy.url) });
        } finally {
            proxy.end();
            await server.end();
            await rm(folder, { recursive: true });
        }
    }]);
}

/** A test without Holdfast: `answer` is what the server of the test's own says. */
export function checkAgainst(name, answer, work) {
    checks.push([name, async () => {
        const impostor = await Impostor.start(answer);
        try {
            await work({ impostor, client: connect(impostor.url) });
        } finally {
            impostor.end();
        }
    }]);
}

const checks = [];

/** Runs all tests that were described before. */
export function runChecks() {
    test("the client against the server", { concurrency: 6 }, async (all) => {
        await Promise.all(checks.map(([name, work]) => all.test(name, { timeout: 4 * PATIENCE_MS }, work)));
    });
}

/** The lock as the server shows it, with its queue. */
export const look = async (client, name) =>
    (await client.ask("GET", `/v1/locks/${encodeURIComponent(name)}?queue=true`)).body;

export const queueLength = async (client, name) => (await look(client, name)).queue_length ?? 0;
export const isQueued = (client, name, count = 1) =>
    until(async () => (await queueLength(client, name)) === count, `a queue of ${count}`);
export const isAborted = (signal) => until(() => signal.aborted, "the loss");

export async function collect(items) {
    const all = [];
    for await (const item of items) all.push(item);
    return all;
}

/** A lease, as a server of the test's own shows it. */
export const lease = (fields) => ({
    token: "0006604efeeb32d670ecdeec23021d23",
    fencing_token: 7,
    scope: { kind: "named", name: "x" },
    holder: "somebody",
    mode: "exclusive",
    acquired_at: "2024-01-15T10:30:00.000Z",
    expires_at: "2024-01-15T10:30:30.000Z",
    ttl_ms: 30_000,
    ...fields,
});
