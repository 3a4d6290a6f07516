// What the client does besides the scenarios.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import net from "node:net";
import { join } from "node:path";
import { inspect, promisify } from "node:util";

import * as holdfast from "../holdfast.mjs";
import { check, checkAgainst, collect, connect, isAborted, isQueued, lease, look } from "./harness.mjs";
import { deadPort, pause, Proxy, until } from "./server.mjs";

const { BadRequest, Client, Lock, LockHeld, LockLost, NotHoldfast, ServerUnavailable } = holdfast;
const run = promisify(execFile);

check("a lock object is used again and again", async ({ client }) => {
    const lock = new Lock(client, "x", { ttlMs: 60_000 });
    assert.equal(lock.locked(), false);
    assert.equal(lock.signal, undefined);
    assert.throws(() => lock.check(), /not acquired/);
    assert.equal(await lock.release(), false);
    const tokens = [];
    for (let turn = 0; turn < 2; ++turn) {
        assert.equal(await lock.acquire(), lock);
        assert.equal(lock.locked(), true);
        await assert.rejects(lock.acquire(), /already has x/);
        tokens.push(lock.fencingToken);
        assert.equal(await lock.release(), true);
        assert.equal(await lock.release(), true);
        assert.equal(lock.locked(), false);
        assert.throws(() => lock.check(), /was released/);
    }
    assert.ok(tokens[0] < tokens[1]);

    const both = await Promise.allSettled([lock.acquire(), lock.acquire()]);
    assert.deepEqual(both.map(({ status }) => status), ["fulfilled", "rejected"]);
    await lock.release();
    assert.equal((await look(client, "x")).held, false);

    await lock.acquire();
    await assert.rejects(lock.release({ signal: AbortSignal.abort(new RangeError("enough")) }), RangeError);
    assert.equal(lock.locked(), false);
    assert.equal(await lock.release(), true);

    const held = await client.acquire("x", { ttlMs: 60_000 });
    await assert.rejects(lock.acquire({ waitMs: 0 }), LockHeld);
    await client.release(held);
    await lock.acquire({ waitMs: 0 });
    await lock.release();
});

check("a lease of retries is renewed only by its heartbeat", async ({ client }) => {
    const lease = await client.acquireWithRetry("job-lock", { ttlMs: 3000, owner: "worker-1" });
    const losses = [];
    const lock = await client.startHeartbeat(lease, { onLost: (loss) => losses.push(loss) });
    assert.equal(lock.fencingToken, lease.fencingToken);
    assert.equal(lock.name, "job-lock");
    const { expiresAtMs } = lease;
    await until(() => lease.expiresAtMs > expiresAtMs, "a renewal");
    lock.check();
    assert.equal((await look(client, "job-lock")).owner_id, "worker-1");
    assert.equal(await client.releaseOnce(lease), true);
    assert.equal(lock.locked(), false);
    assert.equal((await look(client, "job-lock")).held, false);
    assert.equal(await client.releaseOnce(undefined), false);
    await assert.rejects(client.releaseOnce(lease.token), TypeError);
    await assert.rejects(client.renew(lock), TypeError);
    assert.deepEqual(losses, []);

    const again = await client.acquireWithRetry("job-lock", { ttlMs: 400 });
    assert.equal(again.owner, client.owner);
    assert.ok(again.fencingToken > lease.fencingToken);
    await until(async () => !(await look(client, "job-lock")).held, "it ended by itself");
    assert.equal(again.isGuaranteed(), false);
    assert.equal(await client.releaseOnce(again), false);
    await assert.rejects(client.startHeartbeat(again), LockLost);
});

check("a heartbeat tells of the loss", async ({ client }) => {
    const lease = await client.acquireWithRetry(["a", "b"], { ttlMs: 3000 });
    const lock = await client.startHeartbeat(lease);
    assert.equal(lock.name, "a, b");
    await client.forceRelease("a");
    await isAborted(lock.signal);
    assert.throws(() => lock.check(), LockLost);
    assert.equal(await client.releaseOnce(lock), false);
});

check("retries are bounded", async ({ client }) => {
    const held = await client.acquire("x", { ttlMs: 60_000 });
    for (const options of [{ maxRetries: 0 }, { maxRetries: 2, maxRetryMs: 20 }, { maxTotalWaitMs: 100, maxRetryMs: 30 }]) {
        await assert.rejects(client.acquireWithRetry("x", options), LockHeld);
    }
    const enough = AbortSignal.timeout(50);
    await assert.rejects(client.acquireWithRetry("x", { signal: enough }), { name: "TimeoutError" });
    await assert.rejects(client.acquireWithRetry("x", { jitter: 2 }), TypeError);
    await assert.rejects(client.acquireWithRetry("x", { waitMs: 2 }), TypeError);
    const waiting = client.acquireWithRetry("x", { maxRetries: 1000, maxRetryMs: 30 });
    await client.release(held);
    assert.ok((await waiting).fencingToken > held.fencingToken);
});

check("a lock that was lost can be acquired anew, and has another signal", async ({ client }) => {
    const losses = [];
    const lock = await client.lock("x", { ttlMs: 6000, onLost: (loss) => losses.push(loss) });
    const { signal } = lock;
    await client.forceRelease("x");
    await isAborted(signal);
    await lock.acquire();
    lock.check();
    assert.notEqual(lock.signal, signal);
    assert.equal(lock.signal.aborted, false);
    assert.equal(await lock.release(), true);
    assert.equal(losses.length, 1);
});

check("a lock is given back at the end of a block", async ({ client, far, proxy }) => {
    if (!Symbol.asyncDispose) return;
    const lock = await client.lock("x");
    await lock[Symbol.asyncDispose]();
    assert.equal((await look(client, "x")).held, false);
    const other = await connect(proxy.url, { retryForMs: 0 }).lock("y");
    proxy.cut();
    await other[Symbol.asyncDispose](); // the server cannot be told, and that is no error
    assert.equal(other.locked(), false);
    proxy.heal();
    await far.forceRelease("y");
});

check("work whose end the server cannot be told is no success", async ({ proxy }) => {
    const near = connect(proxy.url, { retryForMs: 0 });
    await assert.rejects(near.withLock("x", () => proxy.cut()), ServerUnavailable);
    proxy.heal();
    const failing = near.withLock("y", () => {
        proxy.cut();
        throw new RangeError("of the work");
    });
    await assert.rejects(failing, RangeError);
});

check("arguments are checked before anything is taken", async ({ client, proxy, far }) => {
    const mistakes = [
        () => far.withLock("x", {}),
        () => far.withLock("x"),
        () => far.withLock("x", {}, "work"),
        () => far.withLock("x", null, () => {}),
        () => far.withLock("", () => {}),
        () => far.withLock({ kind: "planet" }, () => {}),
        () => far.withLock("x", { ttl: 5 }, () => {}),
        () => far.withLock("x", { ttlMs: "5" }, () => {}),
        () => far.withLock("x", { ttlMs: 0 }, () => {}),
        () => far.withLock("x", { ttlMs: Infinity }, () => {}),
        () => far.withLock("x", { waitMs: -1 }, () => {}),
        () => far.withLock("x", { waitMs: NaN }, () => {}),
        () => far.withLock("x", { limit: 0 }, () => {}),
        () => far.withLock("path:/x", { limit: 2 }, () => {}),
        () => far.withLock("x", { signal: new AbortController() }, () => {}),
        () => far.lock("x", { onLost: 7 }),
        () => far.acquire("x", { onLost: () => {} }),
        () => far.acquire("x", { metadata: 7 }),
        () => far.campaign("", {}),
        () => far.check(undefined, "x"),
        () => far.passFence("x", undefined),
    ];
    for (const mistake of mistakes) await assert.rejects(mistake(), TypeError, String(mistake));
    assert.deepEqual(proxy.bodies, []);
    assert.deepEqual(await collect(client.leases()), []);
    const addresses = ["", [], ",", "ftp://x", "http://u:p@x", "http://x/?y", "unix:", "unix:" + "p".repeat(108)];
    for (const options of [{ server: "x" }, { timeoutMs: "7" }, ...addresses.map((servers) => ({ servers }))]) {
        assert.throws(() => new Client(options), TypeError, inspect(options));
    }
});

check("the token of a lease is not shown", async ({ client }) => {
    const lock = await client.lock("x", { ttlMs: 60_000 });
    const { token } = lock.lease;
    assert.match(token, /^[0-9a-f]{32}$/);
    const shown = [lock, lock.lease, client].flatMap((one) => [
        inspect(one, { depth: 9 }),
        inspect(one, { showHidden: true, depth: 9 }),
        JSON.stringify(one),
        String(one),
    ]);
    await lock.release();
    for (const call of [client.getLease(token), client.renew(lock.lease), client.check(token, "x")]) {
        await assert.rejects(call, (error) => {
            assert.ok(error instanceof LockLost);
            shown.push(inspect(error, { showHidden: true }));
            return true;
        });
    }
    for (const text of shown) assert.ok(!text.includes(token), text);
});

check("a scope is one text everywhere", async ({ client }) => {
    const plain = ["plain", "a:b", "named:path:/x", "path:/x", "inode:7"];
    const texts = [...plain, "range:8:0-4096", "range:9:4096-", "semaphore:s"];
    for (const text of texts) {
        const held = await client.acquire(text, text.startsWith("semaphore:") ? { limit: 1 } : {});
        assert.equal(held.name, text);
        assert.equal((await client.check(held, text)).fencingToken, held.fencingToken);
        assert.equal((await client.check(held.token, held.scope)).fencingToken, held.fencingToken);
    }
    const kinds = (await collect(client.leases())).map(({ scope, name }) => `${scope.kind} ${name}`);
    assert.deepEqual(kinds, [
        "named named:plain", "named named:a:b", "named named:path:/x", "path path:/x", "inode inode:7",
        "range range:8:0-4096", "range range:9:4096-", "semaphore semaphore:s",
    ]);
    for (const text of plain) assert.equal(await client.forceRelease(text), 1, text);
});

check("regions conflict where they overlap, and tokens cover them", async ({ client, far, proxy }) => {
    proxy.loseAnswers(1);
    const lock = await far.lock({ kind: "range", inode: 7, start: 0, end: 4096 });
    assert.equal(lock.name, "range:7:0-4096");
    assert.equal((await collect(client.leases({ inode: 7 }))).length, 1);
    await client.withLock("range:7:4096-", { shared: true }, async (shared) => {
        assert.equal((await collect(client.leases({ pageSize: 1 }))).length, 2);
        assert.equal((await client.check(shared, "range:7:5000-6000", { shared: true })).mode, "shared");
        await assert.rejects(client.check(shared, "range:7:5000-6000"), holdfast.ScopeMismatch);
        await (await client.lock("range:7:4096-", { shared: true })).release();
    });
    await assert.rejects(client.acquire("inode:7", { waitMs: 0 }), LockHeld);
    assert.equal((await client.check(lock, "range:7:0-512")).mode, "exclusive");
    await assert.rejects(client.check(lock, "range:7:0-5000"), (error) => {
        assert.ok(error instanceof holdfast.ScopeMismatch);
        assert.equal(error.scope.end, 4096);
        return true;
    });
    await lock.release();
    await assert.rejects(client.check(lock, "range:7:0-512"), LockLost);
});

check("a lease is renewed, made shorter and found by its token", async ({ client }) => {
    const held = await client.acquire("x", { ttlMs: 60_000, metadata: "build 7" });
    assert.ok(held.isGuaranteed() && held.guaranteedForMs > 30_000 && held.guaranteedForMs <= 55_000);
    assert.equal(await client.renew(held, { ttlMs: 12_000 }), held);
    assert.equal(held.ttlMs, 12_000);
    assert.ok(held.guaranteedForMs <= 10_000);
    const found = await client.getLease(held.token);
    assert.equal(found.fencingToken, held.fencingToken);
    assert.equal(found.metadata, "build 7");
    assert.equal(found.isGuaranteed(), false);
    await client.renew(found);
    assert.equal(found.isGuaranteed(), true);
    assert.equal(await client.release(found), true);
    assert.equal(await client.release(held), false);
    await assert.rejects(client.renew(held), LockLost);
    await assert.rejects(client.getLease(held.token), LockLost);
});

check("a renewal that makes the lease shorter counts, also if its answer is lost", async ({ client, proxy }) => {
    const held = await client.acquire("x", { ttlMs: 60_000 });
    proxy.loseAnswers(1);
    await assert.rejects(connect(proxy.url, { retryForMs: 0 }).renew(held, { ttlMs: 12_000 }), ServerUnavailable);
    assert.equal(proxy.lost, 1);
    assert.ok(held.guaranteedForMs <= 10_000);
    assert.equal((await client.getLease(held.token)).ttlMs, 12_000);
});

check("a lease that was waited for longer than its TTL is whole", async ({ client }) => {
    const first = await client.acquire("x", { ttlMs: 60_000 });
    const waiting = client.acquire("x", { ttlMs: 6000 });
    await isQueued(client, "x");
    await pause(6500);
    await client.release(first);
    assert.ok((await waiting).isGuaranteed());
});

check("a semaphore has as many holders as its limit", async ({ client }) => {
    const first = await client.lock("s", { limit: 2 });
    const second = await client.lock("semaphore:s", { limit: 2 });
    assert.equal(await client.tryLock("s", { limit: 2 }), null);
    const refusals = [
        [() => client.tryLock("s", { limit: 3 }), "LimitMismatch"],
        [() => client.tryLock("s"), "KindMismatch"],
    ];
    for (const [call, code] of refusals) {
        await assert.rejects(call(), (error) => {
            assert.ok(error instanceof BadRequest);
            assert.equal(error.status, 409);
            assert.equal(error.code, code);
            return true;
        });
    }
    await first.release();
    await (await client.tryLock("s", { limit: 2 })).release();
    await second.release();
    await (await client.lock("s", { limit: 1 })).release(); // a limit of 1 is the plain lock
});

check("a program with a request id of its own finds the lease that it had", async ({ server }) => {
    const options = { requestId: "deploy-17", ttlMs: 60_000 };
    const before = await connect(server.url, { owner: "w1" }).acquire("x", options);
    await pause(100);
    const restarted = connect(server.url, { owner: "w1" });
    const found = await restarted.lock("x", options);
    assert.equal(found.fencingToken, before.fencingToken);
    assert.ok(found.locked());
    assert.ok(found.lease.expiresAtMs > before.expiresAtMs, "nobody knows how old the lease is: it must be renewed");
    await found.release();
    await assert.rejects(restarted.acquire("x", options), LockLost);
});

check("fences refuse smaller tokens", async ({ client }) => {
    const old = await client.acquire("x");
    await client.release(old);
    const young = await client.lock("x");
    assert.equal(await client.getFence("a/bucket"), null);
    assert.equal(await client.passFence("a/bucket", young), young.fencingToken);
    assert.equal(await client.getFence("a/bucket"), young.fencingToken);
    await assert.rejects(client.passFence("a/bucket", old), (error) => {
        assert.ok(error instanceof holdfast.StaleFence);
        assert.equal(error.resource, "a/bucket");
        assert.equal(error.fencingToken, old.fencingToken);
        assert.equal(error.highest, young.fencingToken);
        return true;
    });
    await client.dropFence("a/bucket");
    assert.equal(await client.passFence("a/bucket", old.fencingToken), old.fencingToken);
});

check("an election has one leader at a time, and all learn who it is", async ({ client, server, far, proxy }) => {
    const seen = [];
    const stop = new AbortController();
    const observing = (async () => {
        for await (const leader of far.observe("town", { signal: stop.signal })) seen.push(leader);
    })();
    await until(() => seen.length === 1);
    const first = await client.campaign("town", { candidate: "ann", value: "10.0.0.1" });
    await until(() => seen.length === 2);
    const waiting = connect(server.url).campaign("town", { candidate: "bob", value: "10.0.0.2" });
    await isQueued(client, "town");
    await client.withLock("township", () => {}); // another election
    proxy.cut();
    await first.release();
    const second = await waiting;
    proxy.heal();
    await until(() => seen.at(-1)?.candidate === "bob");
    await second.release();
    await until(() => seen.at(-1) === null);
    stop.abort();
    await observing;
    const { fencingToken } = first;
    assert.deepEqual(seen.slice(0, 2), [null, { candidate: "ann", value: "10.0.0.1", fencingToken, revision: 1 }]);
    assert.ok(second.fencingToken > fencingToken);
    assert.ok(seen.every((leader) => leader === null || ["ann", "bob"].includes(leader.candidate)));
});

check("events go on where they were cut off", async ({ client, far, proxy }) => {
    const controller = new AbortController();
    const seen = [];
    let isOpen = false; // the server says at once that it does not know what came after number 0
    const watching = (async () => {
        for await (const event of far.watch({ prefix: "x", after: 0, signal: controller.signal })) {
            if (event.kind === "gap") isOpen = true;
            else seen.push(event);
        }
    })();
    await until(() => isOpen, "the stream of events");
    const takeAndGive = async () => client.release(await client.acquire("x"));
    for (let turn = 0; turn < 2; ++turn) await takeAndGive();
    await client.acquire("y");
    await until(() => seen.length === 4);
    proxy.cut();
    for (let turn = 0; turn < 3; ++turn) await takeAndGive();
    proxy.heal();
    await client.acquire("x", { metadata: "last" });
    await until(() => seen.at(-1).metadata === "last");
    controller.abort();
    await watching;
    const kinds = Array.from({ length: 11 }, (_, index) => (index % 2 === 0 ? "granted" : "released"));
    assert.deepEqual(seen.map((event) => event.kind), kinds);
    assert.deepEqual(new Set(seen.map((event) => event.lockName)), new Set(["x"]));
    assert.equal(seen.at(-1).owner, client.owner);
    const ids = seen.map((event) => event.id);
    assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
    for await (const event of client.watch({ prefix: "x", after: ids[0] })) {
        assert.equal(event.id, ids[1]);
        break; // closes the connection
    }
});

check("what could do harm twice is sent once", async ({ client, far, proxy }) => {
    await client.acquire("x");
    await client.passFence("r", 7);
    proxy.loseAnswers(1);
    await assert.rejects(far.forceRelease("x"), ServerUnavailable);
    assert.equal((await look(client, "x")).held, false);
    await client.acquire("x");
    proxy.loseAnswers(1);
    await assert.rejects(far.dropFence("r"), ServerUnavailable);
    proxy.loseAnswers(1);
    await assert.rejects(far.ask("DELETE", "/v1/locks/x"), ServerUnavailable);
    assert.equal(proxy.lost, 3);
    const dead = `http://127.0.0.1:${await deadPort()}`;
    await client.acquire("x");
    assert.equal(await connect([dead, proxy.url]).forceRelease("x"), 1); // there was no connection: nothing was done
});

check("a server that cannot be reached is said to be so", async ({ proxy }) => {
    proxy.cut();
    const begin = performance.now();
    await assert.rejects(connect(proxy.url, { retryForMs: 1000 }).acquire("x"), ServerUnavailable);
    assert.ok(performance.now() - begin > 300);
    const dead = `http://127.0.0.1:${await deadPort()}`;
    await assert.rejects(connect(dead, { retryForMs: 0 }).leases().next(), (error) => {
        assert.ok(error instanceof ServerUnavailable);
        assert.match(error.message, /ECONNREFUSED/);
        assert.ok(error.message.includes(dead));
        return true;
    });
    const stopping = connect(dead).acquire("x", { signal: AbortSignal.timeout(500) });
    await assert.rejects(stopping, { name: "TimeoutError" });
});

let refusedAtMs;
checkAgainst(
    "a server that says 'not now' is asked again after the time that it names, of at most a second",
    (_request, count) => {
        if (count > 1) return [200, lease()];
        refusedAtMs = performance.now();
        return [503, { error: "StoreBusy", message: "later" }, { "Retry-After": "60" }];
    },
    async ({ impostor, client }) => {
        await client.acquire("x");
        const pauseMs = performance.now() - refusedAtMs;
        assert.ok(pauseMs > 900 && pauseMs < 20_000, String(pauseMs));
        assert.equal(new Set(impostor.bodies.map((body) => body.request_id)).size, 1);
    },
);

for (const [what, answer] of Object.entries({
    "has no such path": [404, "<html>not here</html>"],
    "has other JSON for what it does not find": [404, { error: "Not Found", status: 404 }],
    "is a web site": [200, "<html>hello</html>", { "Content-Type": "text/html" }],
    "speaks another JSON": [200, { hello: "world" }],
    "sends clients elsewhere": [302, "", { Location: "http://elsewhere" }],
})) {
    checkAgainst(`a server that ${what} is no Holdfast`, () => answer, async ({ impostor, client }) => {
        const calls = [() => client.acquire("x"), () => client.check("00", "x"), () => client.watch().next()];
        for (const call of calls) {
            await assert.rejects(call(), (error) => {
                assert.ok(error instanceof NotHoldfast, inspect(error));
                assert.ok(error.message.includes(impostor.url));
                return true;
            });
        }
    });
}

check("a server that does not speak HTTP is no Holdfast", async () => {
    const listener = net.createServer((socket) => socket.end("220 mail\r\n"));
    await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
    try {
        await assert.rejects(connect(`127.0.0.1:${listener.address().port}`).acquire("x"), NotHoldfast);
    } finally {
        listener.close();
    }
});

async function writeSecret(folder, name, text) {
    const path = join(folder, name);
    await writeFile(path, text + "\n");
    await chmod(path, 0o600);
    return path;
}

check(
    "a wrong secret is refused, a new one is read, and only the admin may end other people's leases",
    async ({ server, folder }) => {
        const tokenFile = join(folder, "auth");
        for (const options of [{}, { token: "wrong" }]) {
            const stranger = connect(server.url, options);
            await assert.rejects(stranger.acquire("x"), holdfast.Unauthorized);
            await assert.rejects(stranger.watch().next(), holdfast.Unauthorized);
        }
        const user = connect(server.url, { tokenFile });
        const held = await user.acquire("x", { ttlMs: 60_000 });
        await assert.rejects(user.forceRelease("x"), (error) => {
            assert.ok(error instanceof holdfast.Forbidden);
            assert.deepEqual([error.right, error.on], ["admin", "*"]);
            return true;
        });
        await writeSecret(folder, "auth", "second");
        server.signal("SIGHUP");
        const isReloaded = () => connect(server.url, { token: "second" }).leases().next().then(() => true, () => false);
        await until(isReloaded);
        await Promise.all([user.renew(held), user.getFence("r"), user.leases().next()]);
        const admin = connect(server.url, { tokenFile: join(folder, "admin") });
        assert.equal(await admin.forceRelease("x"), 1);
    },
    {
        flags: async (folder) => [
            "--auth-token-file", await writeSecret(folder, "auth", "first"),
            "--admin-token-file", await writeSecret(folder, "admin", "the-admins"),
        ],
    },
);

/** Runs a script in a process of its own that has only these variables for the client. */
async function runScript(script, environment) {
    const entry = new URL("../holdfast.mjs", import.meta.url);
    const text = `import { Client } from ${JSON.stringify(entry.href)};\n${script}`;
    const options = { env: { PATH: process.env.PATH, ...environment }, timeout: 60_000 };
    return (await run(process.execPath, ["--input-type=module", "--eval", text], options)).stdout;
}

check(
    "TLS is spoken with servers that are trusted, and the environment says all of it",
    async ({ server, folder }) => {
        const begin = performance.now();
        await assert.rejects(connect(server.url).acquire("x"), (error) => {
            assert.ok(error instanceof ServerUnavailable);
            assert.match(error.message, /certificate/);
            return true;
        });
        assert.ok(performance.now() - begin < 20_000, "asking again does not make a certificate better");
        const caFile = join(folder, "cert.pem");
        const lock = await connect(server.url, { caFile, token: "secret" }).lock("x");
        await lock.release();
        const script = 'console.log(await new Client().withLock("x", (lock) => lock.locked()));';
        const common = { HOLDFAST_SERVER: server.url, HOLDFAST_CA_FILE: caFile };
        assert.equal(await runScript(script, { ...common, HOLDFAST_TOKEN: "secret" }), "true\n");
        assert.equal(await runScript(script, { ...common, HOLDFAST_TOKEN_FILE: join(folder, "auth") }), "true\n");
    },
    {
        scheme: "https",
        flags: async (folder) => {
            const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
            await run("openssl", [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ]);
            const secret = await writeSecret(folder, "auth", "secret");
            return ["--tls-cert", certificate, "--tls-key", key, "--auth-token-file", secret];
        },
    },
);

check("neither a lock nor an idle connection keeps the process alive", async ({ server }) => {
    const script = 'await new Client().lock("x", { ttlMs: 600_000 }); console.log("held");';
    assert.equal(await runScript(script, { HOLDFAST_SERVER: server.url }), "held\n");
});

check("a Unix socket is a server like any other", async ({ server, folder, client }) => {
    const path = join(folder, "socket");
    await assert.rejects(connect(`unix:${path}`, { retryForMs: 0 }).acquire("x"), /ENOENT/);
    const proxy = await Proxy.start(server, path);
    try {
        const near = connect(proxy.url);
        await near.withLock("x", async () => assert.ok((await look(client, "x")).held));
        proxy.loseAnswers(1);
        await near.release(await near.acquire("x"));
        assert.equal(proxy.lost, 1);
        await client.acquire("y");
        const waiting = near.acquire("y", { signal: AbortSignal.timeout(50) });
        await assert.rejects(waiting, { name: "TimeoutError" });
        assert.equal((await look(client, "y")).queue_length, 0);
    } finally {
        proxy.end();
    }
});

check("a path in front of the server's own is kept, and any request can be made", async ({ client, server }) => {
    await client.acquire("x");
    const { status, body } = await connect(`${server.url}/`).ask("GET", "/v1/locks/x");
    assert.equal(status, 200);
    assert.equal(body.owner_id, client.owner);
    const there = connect(`${server.url}/somewhere/`);
    assert.equal((await there.ask("GET", "/v1/locks/x")).status, 404);
    await assert.rejects(there.acquire("x"), NotHoldfast);
});
