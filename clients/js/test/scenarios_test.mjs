// The scenarios that every client is tested with: clients/scenarios.md.

import assert from "node:assert/strict";

import { LockHeld, LockLost, WaitTimedOut } from "../holdfast.mjs";
import { check, checkAgainst, collect, connect, isAborted, isQueued, lease, look, queueLength } from "./harness.mjs";
import { deadPort, pause, Proxy, until } from "./server.mjs";

check("S1: a lock is taken, renewed and given back, also when the work fails", async ({ client }) => {
    let first;
    const result = await client.withLock("a/b", { ttlMs: 9000, metadata: "build 7" }, async (lock) => {
        first = lock;
        const [seen] = await collect(client.leases());
        assert.equal(seen.fencingToken, lock.fencingToken);
        assert.equal(seen.metadata, "build 7");
        await pause(2 * 9000);
        lock.check();
        assert.equal(lock.signal.aborted, false);
        return 7;
    });
    assert.equal(result, 7);
    assert.equal(first.locked(), false);
    assert.throws(() => first.check(), LockLost);
    assert.equal((await look(client, "a/b")).held, false);
    let second;
    const failing = client.withLock("a/b", (lock) => {
        second = lock;
        throw new RangeError("of the work");
    });
    await assert.rejects(failing, RangeError);
    assert.ok(second.fencingToken > first.fencingToken);
    assert.equal((await look(client, "a/b")).held, false);
});

check("S2: an error names the holder, and nothing is held afterwards", async ({ client, server }) => {
    const held = await client.acquire("x", { ttlMs: 60_000 });
    const other = connect(server.url);
    await assert.rejects(other.acquire("x", { waitMs: 0 }), (error) => {
        assert.ok(error instanceof LockHeld && !(error instanceof WaitTimedOut));
        assert.equal(error.holder, client.owner);
        assert.equal(error.expiresAtMs, held.expiresAtMs);
        assert.ok(error.retryAfterMs > 0);
        return true;
    });
    assert.equal(await other.tryLock("x"), null);
    const leases = await collect(client.leases());
    assert.deepEqual(leases.map((one) => one.owner), [client.owner]);
    assert.equal(await queueLength(client, "x"), 0);
    await client.release(held);
    assert.ok(await (await other.tryLock("x")).release());
});

check("S3: clients that wait are served in the order in which they came", async ({ client, server }) => {
    const first = await client.acquire("x", { ttlMs: 60_000 });
    const order = [];
    const waiting = [];
    for (const owner of ["early", "late"]) {
        waiting.push(connect(server.url, { owner }).withLock("x", () => order.push(owner)));
        await isQueued(client, "x", waiting.length);
    }
    await client.release(first);
    await Promise.all(waiting);
    assert.deepEqual(order, ["early", "late"]);
});

check("S4: a wait that ends names the holder, and leaves no ghost", async ({ client, server }) => {
    const held = await client.acquire("x", { ttlMs: 60_000 });
    const begin = performance.now();
    await assert.rejects(connect(server.url).lock("x", { waitMs: 1000 }), (error) => {
        assert.ok(error instanceof WaitTimedOut && error instanceof LockHeld);
        assert.equal(error.holder, client.owner);
        assert.equal(error.expiresAtMs, held.expiresAtMs);
        return true;
    });
    assert.ok(performance.now() - begin > 900);
    assert.equal(await queueLength(client, "x"), 0);
    await client.release(held);
    assert.equal((await look(client, "x")).held, false);
});

checkAgainst(
    "S4: a wait that ends says what the server said of the holder",
    () => [409, {
        error: "WaitTimedOut", message: "late", holder: "ann", expires_at: "2024-01-15T10:30:00Z", retry_after_ms: 250,
    }],
    async ({ impostor, client }) => {
        await assert.rejects(client.lock("x", { waitMs: 5 }), (error) => {
            assert.ok(error instanceof WaitTimedOut);
            const { holder, expiresAtMs, retryAfterMs } = error;
            assert.deepEqual({ holder, expiresAtMs, retryAfterMs },
                { holder: "ann", expiresAtMs: 1705314600000, retryAfterMs: 250 });
            return true;
        });
        assert.equal(impostor.bodies.length, 1, "the holder was asked for");
    },
);

check("S5: a wait that is aborted leaves the queue", async ({ client, server }) => {
    const held = await client.acquire("x", { ttlMs: 60_000 });
    const controller = new AbortController();
    const waiting = connect(server.url).lock("x", { signal: controller.signal });
    await isQueued(client, "x");
    controller.abort(new RangeError("enough"));
    await assert.rejects(waiting, RangeError);
    assert.equal(await queueLength(client, "x"), 0);
    await client.release(held);
    assert.equal((await look(client, "x")).held, false);
    await assert.rejects(client.lock("x", { signal: controller.signal }), RangeError);
    assert.equal((await look(client, "x")).held, false);
});

check("S5: a lease that was granted to an aborted wait is given back", async ({ client, far, proxy }) => {
    proxy.loseAnswers(1, { silently: true });
    const controller = new AbortController();
    const asking = far.acquire("x", { ttlMs: 600_000, signal: controller.signal });
    await until(async () => (await look(client, "x")).held && proxy.lost === 1);
    controller.abort(new RangeError("enough"));
    await assert.rejects(asking, RangeError);
    assert.equal((await look(client, "x")).held, false);
});

check("S5: an aborted wait tries for three seconds to leave a server that is silent", async ({ client, server }) => {
    await client.acquire("x", { ttlMs: 60_000 });
    const controller = new AbortController();
    const waiting = connect(server.url).lock("x", { signal: controller.signal });
    await isQueued(client, "x");
    server.signal("SIGSTOP");
    try {
        const begin = performance.now();
        controller.abort(new RangeError("enough"));
        await assert.rejects(waiting, RangeError);
        assert.ok(performance.now() - begin < 20_000);
    } finally {
        server.signal("SIGCONT");
    }
    await isQueued(client, "x", 0);
});

check("S5: every call that waits for a server can be aborted", async ({ server, client }) => {
    const held = await client.acquire("x", { ttlMs: 600_000 });
    const lock = await client.lock("y", { ttlMs: 600_000 });
    server.signal("SIGSTOP");
    try {
        const calls = {
            acquire: (options) => connect(server.url).acquire("x", options),
            lock: (options) => connect(server.url).lock("x", options),
            tryLock: (options) => connect(server.url).tryLock("x", options),
            withLock: (options) => connect(server.url).withLock("x", options, () => assert.fail("it is held")),
            campaign: (options) => connect(server.url).campaign("x", options),
            renew: (options) => client.renew(held, options),
            release: (options) => client.release(held, options),
            lockRelease: (options) => lock.release(options),
            getLease: (options) => client.getLease(held.token, options),
            leases: (options) => client.leases(options).next(),
            forceRelease: (options) => client.forceRelease("z", options),
            passFence: (options) => client.passFence("r", 1, options),
            getFence: (options) => client.getFence("r", options),
            dropFence: (options) => client.dropFence("r", options),
            check: (options) => client.check(held, "x", options),
            ask: (options) => client.ask("GET", "/v1/locks", options),
        };
        await Promise.all(Object.entries(calls).map(async ([name, call]) => {
            const controller = new AbortController();
            const calling = call({ signal: controller.signal });
            setTimeout(() => controller.abort(new RangeError("enough")), 100);
            await assert.rejects(calling, RangeError, name);
        }));
        for (const iterator of ["watch", "observe"]) {
            const signal = AbortSignal.timeout(100);
            const items = iterator === "watch" ? client.watch({ signal }) : client.observe("x", { signal });
            assert.deepEqual(await collect(items), [], iterator);
        }
    } finally {
        server.signal("SIGCONT");
    }
});

check("S6: when the answer of an acquire is lost, its repetition finds the lease", async ({ client, far, proxy }) => {
    proxy.loseAnswers(2);
    const held = await far.acquire("s", { ttlMs: 60_000, limit: 2 });
    assert.equal(proxy.lost, 2);
    assert.equal(proxy.bodies.length, 3);
    assert.equal(new Set(proxy.bodies.map((body) => body.request_id)).size, 1);
    const leases = await collect(client.leases());
    assert.deepEqual(leases.map((one) => one.fencingToken), [held.fencingToken]);

    const first = await client.acquire("x", { ttlMs: 60_000 });
    const waiting = far.acquire("x", { ttlMs: 60_000 });
    await isQueued(client, "x");
    proxy.loseAnswers(1);
    await client.release(first);
    const { fencingToken } = await waiting;
    assert.equal(proxy.lost, 3);
    assert.equal((await look(client, "x")).fencing_token, fencingToken);
});

check("S7: a release whose answer is lost counts as done", async ({ client, far, proxy }) => {
    const held = await far.acquire("x", { ttlMs: 60_000 });
    proxy.loseAnswers(1);
    assert.equal(await far.release(held), true);
    assert.equal(proxy.lost, 1);
    assert.equal((await look(client, "x")).held, false);
    assert.equal(await far.release(held), false);
});

check("S8: a lock goes on when the server is killed and started again", async ({ server, far }) => {
    const losses = [];
    const options = { ttlMs: 15_000, onLost: (loss) => losses.push(loss) };
    await far.withLock("x", options, async (lock) => {
        const before = lock.lease.expiresAtMs;
        await server.restart();
        await until(() => lock.lease.expiresAtMs > before, "a renewal");
        lock.check();
        assert.equal((await look(far, "x")).fencing_token, lock.fencingToken);
    });
    assert.deepEqual(losses, []);
    assert.equal((await look(far, "x")).held, false);
});

check("S8: a lock and a wait go on when the server is restarted in good order", async ({ far, proxy, server }) => {
    const lock = await far.lock("x", { ttlMs: 60_000 });
    const waiting = connect(proxy.url).lock("x", { ttlMs: 60_000 });
    await isQueued(far, "x");
    await server.restartInGoodOrder();
    await isQueued(far, "x");
    lock.check();
    assert.equal(await lock.release(), true);
    const next = await waiting;
    assert.ok(next.fencingToken > lock.fencingToken);
    await next.release();
});

for (const [what, signal] of [["is killed", "SIGKILL"], ["stands still", "SIGSTOP"]]) {
    check(`S9: the loss is told before the lease can end, when the server ${what}`, async ({ server, far }) => {
        const ttlMs = 18_000;
        const marginMs = 3000;
        const losses = [];
        let toldAtMs;
        const onLost = (loss) => {
            losses.push(loss);
            toldAtMs = performance.now();
        };
        const askedAtMs = performance.now();
        const lock = await far.lock("x", { ttlMs, onLost });
        const before = lock.lease.expiresAtMs;
        await until(() => lock.lease.expiresAtMs > before, "a renewal");
        server.signal(signal);
        const goneAtMs = performance.now();
        await isAborted(lock.signal);
        await until(() => toldAtMs !== undefined);
        assert.ok(toldAtMs > askedAtMs + ttlMs - marginMs, "too early");
        assert.ok(toldAtMs < goneAtMs + ttlMs, "too late");
        assert.equal(lock.signal.reason, losses[0]);
        assert.ok(losses[0] instanceof LockLost);
        assert.equal(lock.locked(), false);
        assert.throws(() => lock.check(), LockLost);
        assert.equal(await lock.release(), false);
        assert.equal(losses.length, 1);
    });
}

check("S10: a lock that is taken away is lost with the next renewal", async ({ client }) => {
    const losses = [];
    const work = client.withLock("x", { ttlMs: 6000, onLost: (loss) => losses.push(loss) }, async (lock) => {
        assert.equal(await client.forceRelease("x"), 1);
        await isAborted(lock.signal);
        assert.ok(lock.signal.reason instanceof LockLost);
        assert.equal(lock.locked(), false);
        assert.throws(() => lock.check(), LockLost);
        lock.signal.throwIfAborted();
    });
    await assert.rejects(work, LockLost);
    assert.equal(losses.length, 1);
    const unnoticed = client.withLock("x", { ttlMs: 60_000 }, () => client.forceRelease("x"));
    await assert.rejects(unnoticed, LockLost);
});

check("S11: nothing happens when the wall clock is set", async ({ client }) => {
    const RealDate = Date;
    const losses = [];
    const lock = await client.lock("x", { ttlMs: 9000, onLost: (loss) => losses.push(loss) });
    try {
        for (const shiftMs of [86_400_000, -86_400_000]) {
            globalThis.Date = class extends RealDate {
                constructor(...given) {
                    super(...(given.length > 0 ? given : [RealDate.now() + shiftMs]));
                }
                static now() {
                    return RealDate.now() + shiftMs;
                }
            };
            lock.check();
            const before = lock.lease.expiresAtMs;
            await until(() => lock.lease.expiresAtMs > before, "a renewal");
            const other = await client.acquire("y", { ttlMs: 60_000 });
            assert.ok(other.guaranteedForMs > 0 && other.guaranteedForMs <= 55_000);
            await client.release(other);
        }
    } finally {
        globalThis.Date = RealDate;
    }
    assert.deepEqual(losses, []);
    assert.equal(await lock.release(), true);
});

checkAgainst(
    "S12: a wait of more than ten minutes goes on with the same request",
    async (_request, count) => {
        await pause(100);
        const still = { error: "StillWaiting", message: "ask again", place_kept_ms: 5000 };
        return count <= 3 ? [409, still] : [200, lease({ fencing_token: 34 })];
    },
    async ({ impostor, client }) => {
        const begin = performance.now();
        assert.equal((await client.acquire("x", { waitMs: 900_000 })).fencingToken, 34);
        assert.ok(performance.now() - begin < 5000, "the place is kept for five seconds only");
        const [first, ...more] = impostor.bodies;
        assert.equal(more.length, 3);
        assert.equal(first.wait_ms, 900_000);
        for (const body of more) {
            assert.ok(body.wait_ms > 600_000 && body.wait_ms < first.wait_ms);
            assert.deepEqual({ ...body, wait_ms: 0 }, { ...first, wait_ms: 0 });
        }
    },
);

checkAgainst(
    "S12: a wait without an end stays without an end",
    (_request, count) => (count === 1 ? [409, { error: "StillWaiting", message: "ask again" }] : [200, lease()]),
    async ({ impostor, client }) => {
        await client.acquire("x");
        assert.deepEqual(impostor.bodies.map((body) => body.wait_ms), Array(2).fill(365 * 86_400_000));
    },
);

check("S13: a request that got no answer goes to the next server", async ({ client, proxy, server }) => {
    const second = await Proxy.start(server);
    try {
        const dead = await deadPort();
        const several = connect(`127.0.0.1:${dead},${proxy.url}, ${second.url.slice("http://".length)}`);
        proxy.loseAnswers(1);
        const held = await several.acquire("s", { limit: 2 });
        assert.equal(proxy.lost, 1);
        assert.equal(proxy.bodies.length, 1);
        assert.equal(second.bodies.length, 1);
        assert.deepEqual({ ...second.bodies[0], wait_ms: 0 }, { ...proxy.bodies[0], wait_ms: 0 });
        const leases = await collect(client.leases());
        assert.deepEqual(leases.map((one) => one.fencingToken), [held.fencingToken]);
        assert.equal(await connect([proxy.url, second.url]).release(held), true);
    } finally {
        second.end();
    }
});

check("S14: many tasks use one client at the same time", async ({ client }) => {
    const tokens = [];
    let inside = 0;
    const share = async (task) => {
        const own = await client.lock(`own-${task}`);
        for (let turn = 0; turn < 3; ++turn) {
            await client.withLock("shared", async ({ fencingToken }) => {
                assert.equal(++inside, 1);
                tokens.push(fencingToken);
                await pause(2);
                --inside;
            });
        }
        assert.equal(await own.release(), true);
    };
    await Promise.all(Array.from({ length: 6 }, (_, task) => share(task)));
    assert.equal(new Set(tokens).size, 18);
    assert.deepEqual(tokens, [...tokens].sort((a, b) => a - b));
});
