// The JavaScript client against the real server.
//
//     node holdfast_test.mjs HOLDFAST

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as holdfast from "./holdfast.mjs";
import { PATIENCE_MS, Proxy, Server, pause, until } from "./test_server.mjs";

const { Client, LockHeld, LockLost, WaitTimedOut } = holdfast;
const program = process.argv[2];
const here = dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
for (const name of Object.keys(process.env)) if (name.startsWith("HOLDFAST_")) delete process.env[name];

const connect = (url, options) => new Client({ server: url, timeoutMs: 30_000, retryForMs: 30_000, ...options });

/** A test with a server of its own, which ends with it. */
function check(name, work, { flags = async () => [], scheme = "http" } = {}) {
    test(name, { timeout: 4 * PATIENCE_MS }, async () => {
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
    });
}

const queueLength = async (client, name) => (await client.get(name, { queue: true })).queue_length ?? 0;
const isAborted = (signal) => until(() => signal.aborted, "the loss");

async function collect(items) {
    const all = [];
    for await (const item of items) all.push(item);
    return all;
}

check("withLock holds while the work runs, and not after", async ({ client }) => {
    const result = await client.withLock("a/b", { metadata: "build 7" }, async ({ signal, fencingToken }) => {
        const seen = await client.get("a/b");
        assert.equal(seen.fencing_token, fencingToken);
        assert.equal(seen.metadata, "build 7");
        assert.equal(signal.aborted, false);
        return 7;
    });
    assert.equal(result, 7);
    await assert.rejects(
        client.withLock("a/b", {}, () => {
            throw new RangeError("of the work");
        }),
        RangeError,
    );
    assert.equal((await client.get("a/b")).held, false);
});

check("a lock is released once, by hand or by disposal", async ({ client }) => {
    const lock = await client.lock("x");
    assert.equal(await lock.release(), true);
    const other = await client.acquire("x");
    assert.equal(await lock.release(), true);
    await lock[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
    assert.equal((await client.get("x")).lease_id, other.leaseId);
    assert.throws(() => lock.check(), LockLost);
    assert.equal(await client.tryLock("x"), null);
});

check("a short lease is kept alive far beyond its TTL", async ({ client }) => {
    const ttlMs = 4000;
    const losses = [];
    await client.withLock("x", { ttlMs, onLost: (loss) => losses.push(loss) }, async (lock) => {
        await pause(2.5 * ttlMs);
        lock.check();
        assert.equal((await client.get("x")).fencing_token, lock.fencingToken);
    });
    assert.deepEqual(losses, []);
});

check("a lock learns that its lease was ended", async ({ client }) => {
    const losses = [];
    const work = client.withLock("x", { ttlMs: 3000, onLost: (loss) => losses.push(loss) }, async (lock) => {
        assert.equal(await client.forceRelease("x"), 1);
        await isAborted(lock.signal);
        assert.ok(lock.signal.reason instanceof LockLost);
        assert.equal(lock.isHeld(), false);
    });
    await assert.rejects(work, LockLost);
    assert.equal(losses.length, 1);
});

check("a lock is lost before its lease ends when the server stands still", async ({ server, client }) => {
    let noticedAtMs;
    const lock = await client.lock("x", { ttlMs: 12_000, onLost: () => (noticedAtMs = performance.now()) });
    await until(async () => (await client.get("x")).version > 1, "a renewal");
    server.signal("SIGSTOP");
    try {
        await isAborted(lock.signal);
        await until(() => noticedAtMs !== undefined);
        assert.ok(noticedAtMs < lock.lease.endMs);
        assert.throws(() => lock.check(), LockLost);
    } finally {
        server.signal("SIGCONT");
    }
    assert.equal(typeof (await lock.release()), "boolean");
});

check("a lease goes on when the server is killed and started again", async ({ server, far }) => {
    await far.withLock("x", { ttlMs: 15_000 }, async (lock) => {
        const sureUntilMs = lock.lease.guaranteedUntilMs;
        await server.restart();
        await until(() => lock.lease.guaranteedUntilMs > sureUntilMs, "a renewal");
        lock.check();
        assert.equal((await connect(server.url).get("x")).fencing_token, lock.fencingToken);
    });
    assert.equal((await connect(server.url).get("x")).held, false);
});

check("one at a time, each with a larger token", async ({ server }) => {
    const tokens = [];
    let inside = 0;
    const worker = async () => {
        for (let turn = 0; turn < 5; ++turn) {
            await connect(server.url).withLock("x", {}, async ({ fencingToken }) => {
                assert.equal(++inside, 1);
                tokens.push(fencingToken);
                await pause(2);
                --inside;
            });
        }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    assert.deepEqual(tokens, [...new Set(tokens)].sort((a, b) => a - b));
    assert.equal(tokens.length, 40);
});

check("a refusal says who holds it, and a wait ends in time", async ({ client, server }) => {
    const lease = await client.acquire("x", { ttlMs: 60_000 });
    await assert.rejects(connect(server.url).acquire("x"), (error) => {
        assert.ok(error instanceof LockHeld && !(error instanceof WaitTimedOut));
        assert.equal(error.holder, client.owner);
        assert.equal(error.expiresAtMs, lease.expiresAtMs);
        return true;
    });
    await assert.rejects(client.acquire("x", { waitMs: 50 }), WaitTimedOut);
    await assert.rejects(client.acquireWithRetry("x", { maxRetries: 2, maxRetryMs: 30 }), LockHeld);
    await assert.rejects(client.acquireWithRetry("x", { maxTotalWaitMs: 100 }), LockHeld);
    const waiting = client.acquireWithRetry("x", { maxRetries: 10_000, maxRetryMs: 50 });
    await client.release(lease);
    assert.ok((await waiting).fencingToken > lease.fencingToken);
});

check("a lease that was waited for longer than its TTL is whole", async ({ client }) => {
    const first = await client.acquire("x", { ttlMs: 60_000 });
    const waiting = client.acquire("x", { ttlMs: 4000, waitMs: Infinity });
    await until(async () => (await queueLength(client, "x")) === 1);
    await pause(4500);
    await client.release(first);
    assert.ok((await waiting).isGuaranteed());
});

check("a long wait is asked for anew and keeps its place", async ({ client, server }) => {
    const first = await client.acquire("x", { ttlMs: 60_000 });
    const order = [];
    const queue = (owner, options) => {
        const one = connect(server.url, { owner, ...options });
        return one.withLock("x", {}, () => order.push(owner));
    };
    const early = queue("early", { fetchMaxMs: 50 });
    await until(async () => (await queueLength(client, "x")) === 1);
    const late = queue("late");
    await until(async () => (await queueLength(client, "x")) === 2);
    await pause(500);
    const [head] = (await client.get("x", { queue: true })).queue;
    assert.equal(head.owner_id, "early");
    await client.release(first);
    await Promise.all([early, late]);
    assert.deepEqual(order, ["early", "late"]);
});

check("a lock and a wait go on when the server is restarted in good order", async ({ far, proxy, server }) => {
    const lock = await far.lock("x", { ttlMs: 60_000 });
    const waiting = connect(proxy.url).lock("x", { ttlMs: 60_000 });
    await until(async () => (await queueLength(far, "x")) === 1);
    await server.restartInGoodOrder();
    await until(async () => (await queueLength(far, "x")) === 1);
    lock.check();
    assert.equal((await far.get("x")).fencing_token, lock.fencingToken);
    assert.equal(await lock.release(), true);
    const next = await waiting;
    assert.ok(next.fencingToken > lock.fencingToken);
    await next.release();
});

check("a wait that the server answers goes on with the same id", async () => {
    const lease = { acquired: true, owner_id: "a", lease_id: "l", fencing_token: 7, lease_expiry_ms: 1 };
    const answers = [
        [409, { acquired: false, reason: "STILL_WAITING" }],
        [409, { acquired: false, reason: "BUSY_RETRY" }],
        [200, lease],
    ];
    const seen = [];
    const fetch = async (_url, { body }) => {
        seen.push(JSON.parse(body));
        const [status, answer] = answers[seen.length - 1];
        return new Response(JSON.stringify(answer), { status });
    };
    assert.equal((await connect("http://127.0.0.1:1", { fetch }).acquire("x", { waitMs: Infinity })).fencingToken, 7);
    assert.equal(new Set(seen.map((body) => body.request_id)).size, 1);
    assert.deepEqual(
        seen.map((body) => body.wait_ms),
        Array(3).fill(365 * 86_400_000),
    );
});

check("a wait that is aborted leaves nothing behind", async ({ client, server }) => {
    const first = await client.acquire("x", { ttlMs: 60_000 });
    const controller = new AbortController();
    const waiting = connect(server.url).lock("x", { signal: controller.signal });
    await until(async () => (await queueLength(client, "x")) === 1);
    controller.abort(new RangeError("enough"));
    await assert.rejects(waiting, RangeError);
    await until(async () => (await queueLength(client, "x")) === 0);
    await client.release(first);
    assert.equal((await client.get("x")).held, false);
});

check("what was granted to a request that is aborted is given back", async ({ client, far, proxy }) => {
    proxy.loseAnswers(1, { silently: true });
    const controller = new AbortController();
    const asking = far.acquire("x", { ttlMs: 600_000, signal: controller.signal });
    await until(async () => (await client.get("x")).held && proxy.lost === 1);
    controller.abort(new RangeError("enough"));
    await assert.rejects(asking, RangeError);
    assert.equal((await client.get("x")).held, false);
});

check("lost answers leave no hold that nobody knows of", async ({ client, far, proxy }) => {
    proxy.loseAnswers(2);
    const lease = await far.acquire("s", { ttlMs: 60_000, limit: 2 });
    assert.equal(proxy.lost, 2);
    const seen = await client.get("s");
    assert.equal(seen.holders, undefined, "there is more than one");
    assert.equal(seen.lease_id, lease.leaseId);
    proxy.loseAnswers(1);
    assert.equal(await far.release(lease), true);
    assert.equal((await client.get("s")).held, false);

    const first = await client.acquire("x", { ttlMs: 60_000 });
    const waiting = far.acquire("x", { ttlMs: 60_000, waitMs: Infinity });
    await until(async () => (await queueLength(client, "x")) === 1);
    proxy.loseAnswers(1);
    await client.release(first);
    assert.equal((await client.get("x")).lease_id, (await waiting).leaseId);
    proxy.loseAnswers(1);
    await assert.rejects(far.forceRelease("x"), holdfast.ServerUnavailable);
    assert.equal((await client.get("x")).held, false);
});

check("nobody there is said so", async ({ proxy }) => {
    proxy.cut();
    await assert.rejects(connect(proxy.url, { retryForMs: 300 }).acquire("x"), holdfast.ServerUnavailable);
});

check("regions conflict where they overlap, and tokens cover them", async ({ client, far, proxy }) => {
    proxy.loseAnswers(1);
    const lock = await far.lease({ kind: "range", inode: 7, start: 0, end: 4096 });
    assert.equal(lock.name, "range:7:0-4096");
    assert.equal((await collect(client.leases({ inode: 7 }))).length, 1);
    await client.withLease("range:7:4096-", { shared: true }, async () => {
        assert.equal((await collect(client.leases({ pageSize: 1 }))).length, 2);
    });
    await assert.rejects(client.acquireLease("inode:7"), LockHeld);
    await assert.rejects(client.acquireLease("inode:7", { waitMs: 10 }), WaitTimedOut);
    assert.equal((await client.check(lock, "range:7:0-512")).mode, "exclusive");
    await assert.rejects(client.check(lock, "range:7:0-5000"), (error) => {
        assert.ok(error instanceof holdfast.ScopeMismatch);
        assert.equal(error.scope.end, 4096);
        return true;
    });
    const before = lock.lease.guaranteedUntilMs;
    await client.renew(lock.lease, 10_000);
    assert.ok(lock.lease.guaranteedUntilMs < before);
    assert.equal((await client.getLease(lock.lease.token)).duration_ms, 10_000);
    assert.equal(await lock.release(), true);
    assert.equal(await client.release(lock.lease), false);
    await assert.rejects(client.renew(lock.lease), LockLost);
    await assert.rejects(client.getLease(lock.lease.token), LockLost);
    await assert.rejects(client.check(lock, "range:7:0-512"), LockLost);
});

check("fences refuse smaller tokens", async ({ client }) => {
    const old = await client.acquire("x");
    await client.release(old);
    const young = await client.acquire("x");
    assert.equal(await client.getFence("a/bucket"), null);
    assert.equal(await client.fence("a/bucket", young), young.fencingToken);
    await assert.rejects(client.fence("a/bucket", old), (error) => {
        assert.ok(error instanceof holdfast.StaleFence);
        assert.equal(error.highest, young.fencingToken);
        return true;
    });
    await client.dropFence("a/bucket");
    assert.equal(await client.fence("a/bucket", old.fencingToken), old.fencingToken);
});

check("locks are listed page by page", async ({ client }) => {
    const names = ["job/0", "job/1", "job/2", "job/3", "job/4"];
    for (const name of [...names, "other"]) await client.acquire(name);
    const listed = (await collect(client.list("job/", { pageSize: 2 }))).map((lock) => lock.lock_name);
    assert.deepEqual(listed.sort(), names);
});

check("events go on where they were cut off", async ({ client, far, proxy }) => {
    const controller = new AbortController();
    const seen = [];
    const watching = (async () => {
        for await (const event of far.events({ prefix: "x", after: 0, signal: controller.signal })) {
            if (event.kind !== "gap") seen.push(event);
        }
    })();
    const takeAndGive = async () => client.release(await client.acquire("x"));
    for (let turn = 0; turn < 2; ++turn) await takeAndGive();
    await client.acquire("y");
    await until(() => seen.length === 4);
    proxy.cut();
    for (let turn = 0; turn < 3; ++turn) await takeAndGive();
    proxy.heal();
    await client.acquire("x", { metadata: "last" });
    await until(() => seen.at(-1).data.metadata === "last");
    controller.abort();
    await watching;
    const kinds = Array.from({ length: 11 }, (_, index) => (index % 2 === 0 ? "granted" : "released"));
    assert.deepEqual(seen.map((event) => event.kind), kinds);
    const ids = seen.map((event) => event.id);
    assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
});

async function secret(folder, name, text) {
    const path = join(folder, name);
    await writeFile(path, text + "\n");
    await chmod(path, 0o600);
    return path;
}

check(
    "a wrong secret is refused, a new one is read, and only the admin may end what is others'",
    async ({ server, folder }) => {
        const auth = join(folder, "auth");
        for (const options of [{}, { token: "wrong" }]) {
            await assert.rejects(connect(server.url, options).acquire("x"), holdfast.Unauthorized);
            await assert.rejects(connect(server.url, options).events().next(), holdfast.Unauthorized);
        }
        const user = connect(server.url, { tokenFile: auth });
        const lease = await user.acquire("x");
        await assert.rejects(user.forceRelease("x"), holdfast.Forbidden);
        await secret(folder, "auth", "second");
        server.signal("SIGHUP");
        const isReloaded = () => connect(server.url, { token: "second" }).get("x").then(() => true, () => false);
        await until(isReloaded);
        await user.renew(lease);
        assert.equal(await connect(server.url, { tokenFile: join(folder, "admin") }).forceRelease("x"), 1);
    },
    {
        flags: async (folder) => [
            "--auth-token-file", await secret(folder, "auth", "first"),
            "--admin-token-file", await secret(folder, "admin", "the-admins"),
        ],
    },
);

/** Runs the README's example in a process of its own, and checks what it prints. */
async function runExample(folder, environment) {
    const text = await readFile(join(here, "README.md"), "utf8");
    const [, example, output] = /```js\n(.*?)```\n.*?```text\n(.*?)```/s.exec(text);
    await mkdir(join(folder, "node_modules"));
    await symlink(here, join(folder, "node_modules", "holdfast"));
    await writeFile(join(folder, "example.mjs"), example);
    const options = { cwd: folder, env: { ...process.env, ...environment }, timeout: PATIENCE_MS };
    assert.equal((await run(process.execPath, ["example.mjs"], options)).stdout, output);
}

check("the README's example prints what it says", async ({ server, folder }) => {
    await runExample(folder, { HOLDFAST_SERVER: server.url });
});

check(
    "TLS is spoken with those whom Node trusts",
    async ({ server, folder }) => {
        await assert.rejects(connect(server.url, { retryForMs: 0 }).acquire("x"), holdfast.ServerUnavailable);
        await runExample(folder, { HOLDFAST_SERVER: server.url, NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") });
    },
    {
        scheme: "https",
        flags: async (folder) => {
            const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
            await run("openssl", [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ]);
            return ["--tls-cert", certificate, "--tls-key", key];
        },
    },
);

check("a Unix socket is a server like any other", async ({ server, folder, client }) => {
    const proxy = await Proxy.start(server, join(folder, "socket"));
    try {
        const near = connect(proxy.url);
        await near.withLock("x", {}, async () => assert.ok((await client.get("x")).held));
        proxy.loseAnswers(1);
        await near.release(await near.acquire("x"));
        assert.equal(proxy.lost, 1);

        const stop = new AbortController();
        const events = near.events({ prefix: "x", after: 0, signal: stop.signal });
        assert.equal((await events.next()).value.kind, "gap"); // the server has no event of that id any more
        stop.abort();
        while (!(await events.next()).done); // events that had arrived already

        await client.acquire("y");
        const waiting = near.acquire("y", { waitMs: Infinity, signal: AbortSignal.timeout(50) });
        await assert.rejects(waiting, { name: "TimeoutError" });
    } finally {
        proxy.end();
    }
});

check("a Unix socket without a server says why", async ({ folder }) => {
    const url = `unix:${join(folder, "socket")}`;
    await assert.rejects(connect(url, { retryForMs: 0 }).acquire("x"), /ENOENT/);
    assert.throws(() => connect("unix:" + "p".repeat(108)), /more than 107 bytes/);
    assert.throws(() => connect("unix:"), /names no socket/);
});

test("the types name what there is", async () => {
    const text = await readFile(join(here, "holdfast.d.ts"), "utf8");
    const classes = [...text.matchAll(/^export class (\w+)[^{]*\{(.*?)\}$/gms)];
    assert.deepEqual(classes.map(([, name]) => name).sort(), Object.keys(holdfast).sort());
    for (const [, name, body] of classes) {
        const typed = [...body.matchAll(/^    (\w+)(?:<\w+>)?\(/gm)].map(([, method]) => method);
        const own = Object.entries(Object.getOwnPropertyDescriptors(holdfast[name].prototype));
        const methods = own.filter(([key, { value }]) => value && !key.startsWith("_") && typeof value === "function");
        const expected = methods.map(([key]) => key).filter((key) => key !== "constructor").sort();
        assert.deepEqual(typed.filter((key) => key !== "constructor").sort(), expected, name);
    }
});
