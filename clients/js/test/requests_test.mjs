// What the client sends, and what it makes of the answers: sets, waiters, deadlocks, elections, history and rights. The
// server is the test's own.

import assert from "node:assert/strict";

import { BadRequest, DeadlockError, Forbidden, LockHeld, LockLost, NotHoldfast } from "../holdfast.mjs";
import { checkAgainst, collect, connect, lease } from "./harness.mjs";
import { pause, until } from "./server.mjs";

const grant = () => [200, lease()];
const isAcquire = (body) => body?.holder !== undefined;
const waitersOf = (impostor) => impostor.bodies.filter(isAcquire).map(({ waiter }) => waiter);

checkAgainst("a set is sent as elements with what differs", grant, async ({ impostor, client }) => {
    const set = ["a", { scope: "path:/x", mode: "shared" }, { scope: "s", limit: 3 }, { kind: "inode", inode: 7 }];
    const lock = await client.lock(set, { shared: true });
    assert.equal(lock.name, "a, path:/x, semaphore:s, inode:7");
    const [{ scopes, mode, scope, limit }] = impostor.bodies;
    assert.deepEqual(scopes, ["a", set[1], { scope: "semaphore:s", limit: 3 }, "inode:7"]);
    assert.deepEqual([mode, scope, limit], ["shared", undefined, undefined]);
    await lock.release();

    await client.acquire([{ scope: "s", limit: 3, mode: "shared" }]);
    const one = impostor.bodies.at(-1);
    assert.deepEqual([one.scope, one.limit, one.mode, one.scopes], ["semaphore:s", 3, "shared", undefined]);
    await client.acquire([{ scope: "a", mode: "exclusive" }], { shared: true });
    assert.equal(impostor.bodies.at(-1).mode, undefined);
});

checkAgainst("a set that makes no sense is not sent", grant, async ({ impostor, client }) => {
    const mistakes = [
        () => client.lock([]),
        () => client.lock(["a", ""]),
        () => client.lock(["a", "b"], { limit: 2 }),
        () => client.acquire(["a", { scope: "b", mode: "mine" }]),
        () => client.acquire(["a", { scope: "b", ttlMs: 5 }]),
        () => client.acquire(["a", { scope: "inode:7", limit: 2 }]),
        () => client.acquire(["a", { scope: "s", limit: 0 }]),
        () => client.withLock("a", { onDeadlock: "hope" }, () => {}),
        () => client.campaign("a", { value: 7 }),
        () => client.history({ since: "yesterday" }).next(),
    ];
    for (const mistake of mistakes) await assert.rejects(mistake(), TypeError, String(mistake));
    assert.deepEqual(impostor.bodies, []);
});

checkAgainst(
    "a lease shows its scopes",
    (_request, count) => {
        const members = [["named", "name", "a"], ["named", "name", "path:of"], ["path", "path", "/x"]];
        const scopes = members.map(([kind, field, text], index) => ({
            scope: { kind, [field]: text }, mode: index === 2 ? "shared" : "exclusive",
        }));
        return [200, lease(count === 2 ? {} : { scopes })];
    },
    async ({ client }) => {
        const scopes = [
            { scope: "a", mode: "exclusive" },
            { scope: "named:path:of", mode: "exclusive" },
            { scope: "path:/x", mode: "shared" },
        ];
        assert.deepEqual((await client.acquire(["a", "b"])).scopes, scopes);
        assert.deepEqual((await client.acquire("x")).scopes, [{ scope: "x", mode: "exclusive" }]);
        assert.equal((await client.getLease("00")).name, "a, named:path:of, path:/x");
    },
);

checkAgainst(
    "a set that is held names the member in the way",
    () => [409, { error: "LockHeld", message: "held", scope: { kind: "named", name: "b" }, holder: "bob" }],
    async ({ client }) => {
        await assert.rejects(client.acquire(["a", "b"], { waitMs: 0 }), (error) => {
            assert.ok(error instanceof LockHeld);
            assert.deepEqual([error.lockName, error.message], ["b", "b is held by bob"]);
            return true;
        });
    },
);

checkAgainst("blocks inside of each other are one waiter", grant, async ({ impostor, client }) => {
    await client.withLock("a", async () => {
        await client.withLock("b", async () => {
            await pause(1);
            await client.withLock("c", () => {});
        });
        await client.withLock("d", () => {});
        const loose = await client.lock("e");
        await loose.release();
        await client.withLock("f", () => {});
    });
    await client.withLock("g", () => {});
    const [a, b, c, d, e, f, g] = waitersOf(impostor);
    assert.equal(a.length, 36);
    assert.deepEqual([b, c, d, e, f], Array(5).fill(a));
    assert.notEqual(g, a);
});

checkAgainst("what runs at the same time, or may be released by others, is another waiter", grant, async (given) => {
    const { impostor, client } = given;
    await client.withLock("a", async () => {
        await Promise.all([client.withLock("b", () => pause(20)), client.withLock("c", () => pause(20))]);
        const loose = await client.lock("d"); // has the waiter of the block, so that others must not
        await client.withLock("e", () => client.withLock("f", () => {}));
        await loose.release();
    });
    await client.lock("g");
    await client.acquire("h");
    const of = Object.fromEntries(impostor.bodies.filter(isAcquire).map(({ scope, waiter }) => [scope, waiter]));
    assert.deepEqual([of.b, of.d, of.f], [of.a, of.a, of.e]);
    assert.equal(new Set([of.a, of.c, of.e, of.g, of.h]).size, 5);
});

checkAgainst("a lock that a block has left behind keeps the waiter for itself", grant, async ({ impostor, client }) => {
    await client.withLock("a", async () => {
        let left;
        await client.withLock("b", async () => {
            left = await client.lock("c");
        });
        await client.withLock("d", () => {});
        await left.release();
        await client.withLock("e", () => {});
    });
    const [a, b, c, d, e] = waitersOf(impostor);
    assert.deepEqual([b, c, e], [a, a, a]);
    assert.notEqual(d, a);
});

checkAgainst("what a block has left running is outside of it", grant, async ({ impostor, client }) => {
    let left;
    await client.withLock("a", () => {
        left = pause(50).then(() => client.withLock("b", () => {}));
    });
    await left;
    await connect(impostor.url).withLock("c", () => client.withLock("d", () => {}));
    assert.equal(new Set(waitersOf(impostor)).size, 4);
});

checkAgainst(
    "a refused request leaves the waiter to the next one",
    (_request, count) => (count === 2 ? [409, { error: "LockHeld", message: "held" }] : grant()),
    async ({ impostor, client }) => {
        await client.withLock("a", async () => {
            assert.equal(await client.tryLock("b"), null);
            await client.withLock("c", () => {});
        });
        assert.equal(new Set(waitersOf(impostor)).size, 1);
    },
);

checkAgainst("a program may name the waiter, and wait in spite of a deadlock", grant, async ({ impostor, client }) => {
    const waiter = "worker 7";
    await client.acquire("a", { waiter });
    await client.withLock("b", { waiter, onDeadlock: "wait" }, () => client.campaign("c"));
    assert.deepEqual(waitersOf(impostor), [waiter, waiter, waiter]);
    const choices = impostor.bodies.filter(isAcquire).map((body) => body.on_deadlock);
    assert.deepEqual(choices, ["refuse", "tell", "refuse"]);
});

const cycle = [
    {
        holder: "ann", waiter: "w1", door: "scoped", waits_for: { kind: "named", name: "b" }, held_by: "bob",
        fencing_token: 34,
    },
    { hidden: true },
];

checkAgainst(
    "a deadlock is an error of its own",
    () => [409, { error: "Deadlock", message: "ann waits for bob", scope: { kind: "named", name: "b" }, cycle }],
    async ({ impostor, client }) => {
        for (const scope of ["b", ["a", "b"]]) {
            await assert.rejects(client.lock(scope), (error) => {
                assert.ok(error instanceof DeadlockError && !(error instanceof LockHeld));
                assert.equal(error.message, "to wait for b would be a deadlock: ann waits for bob");
                assert.deepEqual(error.cycle, [
                    {
                        isHidden: false, holder: "ann", waiter: "w1", door: "scoped", waitsFor: "b", heldBy: "bob",
                        fencingToken: 34,
                    },
                    { isHidden: true },
                ]);
                return true;
            });
        }
        assert.equal(impostor.bodies.length, 2);
    },
);

checkAgainst(
    "a deadlock that makes no sense is not Holdfast's",
    (_request, count) => [409, { error: "Deadlock", message: "m", cycle: [undefined, 7, [7], [{}]][count - 1] }],
    async ({ client }) => {
        for (let turn = 0; turn < 4; ++turn) await assert.rejects(client.lock("b"), NotHoldfast);
    },
);

let changes = 0;
checkAgainst(
    "the value of a candidacy is sent, and changed in order",
    async ({ method, url }, count) => {
        assert.equal(++changes, 1, "two changes at the same time");
        await pause(10);
        --changes;
        if (method === "PUT") assert.match(url, /^\/v1\/leases\/[0-9a-f]{32}\/value$/);
        if (count === 7) return [410, { error: "LockExpired", message: "over" }];
        return [200, lease({ value: `v${count}`, revision: count })];
    },
    async ({ impostor, client }) => {
        const leadership = await client.campaign("town", { candidate: "ann", value: "v1" });
        const [{ scope, holder, value }] = impostor.bodies;
        assert.deepEqual([scope, holder, value], ["named:town", "ann", "v1"]);
        assert.deepEqual([leadership.value, leadership.revision], ["v1", 1]);
        await Promise.all([2, 3, 4, 5, 6].map((number) => leadership.setValue(`v${number}`)));
        assert.deepEqual(impostor.bodies.slice(1).map((body) => body.value), ["v2", "v3", "v4", "v5", "v6"]);
        assert.deepEqual([leadership.value, leadership.lease.revision], ["v6", 6]);
        await assert.rejects(leadership.setValue("v7"), LockLost);
        await assert.rejects(leadership.setValue(7), TypeError);
        await leadership.release();
        const { length } = impostor.bodies;
        await assert.rejects(leadership.setValue("v8"), LockLost);
        assert.equal(impostor.bodies.length, length, "the server was asked after the release");
    },
);

const seenHeaders = [];
checkAgainst(
    "an observer is told each change once, and goes on at the next stream",
    ({ url, headers }, count) => {
        assert.equal(url, "/v1/elections/the%20town?watch=true");
        seenHeaders.push(headers);
        const ann = { election: "the town", leader: "ann", fencing_token: 5 };
        const states = count === 1
            ? [{ election: "the town", candidates: 0 }, ann, ann, { ...ann, value: "v", revision: 1 }]
            : [{ ...ann, value: "v", revision: 1 }, { ...ann, value: "w", revision: 2 }];
        const text = states.map((state) => `id: 7\nevent: leader\ndata: ${JSON.stringify(state)}\n\n`).join("");
        return [200, text, { "Content-Type": "text/event-stream" }];
    },
    async ({ client }) => {
        const stop = new AbortController();
        const seen = [];
        const observing = (async () => {
            for await (const leader of client.observe("the town", { signal: stop.signal })) seen.push(leader);
        })();
        await until(() => seen.length === 4);
        stop.abort();
        await observing;
        const ann = { candidate: "ann", fencingToken: 5 };
        assert.deepEqual(seen, [
            null,
            { ...ann, value: "", revision: 0 },
            { ...ann, value: "v", revision: 1 },
            { ...ann, value: "w", revision: 2 },
        ]);
        for (const headers of seenHeaders) assert.equal(headers["last-event-id"], undefined);
    },
);

checkAgainst(
    "a leader that makes no sense is not Holdfast's",
    () => [200, 'event: leader\ndata: {"leader":"ann"}\n\n', { "Content-Type": "text/event-stream" }],
    async ({ client }) => assert.rejects(client.observe("town").next(), NotHoldfast),
);

const paths = [];
checkAgainst(
    "the history is read page by page",
    ({ url }, count) => {
        paths.push(url);
        const entry = {
            fencing_token: 7, scope: { kind: "named", name: "x" }, holder: "ann", door: "scoped", mode: "exclusive",
            waited_ms: 250, ended: "expired",
            acquired_at: "2024-01-15T10:30:00.000Z", ended_at: "2024-01-15T10:30:30.000Z",
        };
        const set = { ...entry, scopes: ["x", "path:/x"], metadata: "m", granted_by: "ci", ended_by: "ops" };
        return [200, count === 1 ? { history: [entry], next: 17, position: 3 } : { history: [set], position: 3 }];
    },
    async ({ client }) => {
        const since = new Date("2024-01-15T10:30:00Z");
        const filters = { scope: "x", owner: "ann", since, until: 1705314600500, pageSize: 1 };
        const entries = await collect(client.history(filters));
        const query = "owner=ann&limit=1&scope=x&since=1705314600000&until=1705314600500";
        assert.deepEqual(paths, [`/v1/history?${query}`, `/v1/history?${query}&after=17`]);
        const [first, second] = entries;
        assert.deepEqual([first.name, first.owner, first.ended, first.waitedMs], ["named:x", "ann", "expired", 250]);
        assert.equal(first.endedAtMs - first.acquiredAtMs, 30_000);
        assert.deepEqual([first.scopes, first.metadata], [[{ scope: "x", mode: "exclusive" }], ""]);
        assert.deepEqual([second.name, second.metadata, second.scopes.length], ["x, path:/x", "m", 2]);
        assert.deepEqual([first.grantedBy, second.grantedBy, second.endedBy], ["", "ci", "ops"]);
    },
);

checkAgainst(
    "a listing that leads to itself ends with an error",
    (request, count) => {
        assert.ok(count < 3);
        return [200, { history: [], leases: [], next: 17 }];
    },
    async ({ client }) => assert.rejects(client.history().next(), NotHoldfast),
);

checkAgainst(
    "a server without a history says so",
    () => [404, { error: "HistoryOff", message: "the server keeps no history" }],
    async ({ client }) => {
        await assert.rejects(client.history().next(), (error) => {
            assert.ok(error instanceof BadRequest);
            assert.deepEqual([error.status, error.code], [404, "HistoryOff"]);
            return true;
        });
    },
);

const denial = "the token ci lacks the right lock on prod at the door http";
checkAgainst(
    "a right that is missing is named",
    (_request, count) => [403, [
        { error: "Forbidden", message: denial, right: "lock", on: "prod" },
        { error: "Forbidden", message: "no", right: "lock", on: "prod" },
        { error: "Forbidden", message: "no", right: "admin", on: "*" },
        { error: "Forbidden", message: "this needs the admin token" },
    ][count - 1]],
    async ({ client }) => {
        for (const expected of [
            [denial, "lock", "prod"],
            ["no: the right lock on prod is missing", "lock", "prod"],
            ["no: the right admin on everything is missing", "admin", "*"],
            ["this needs the admin token", undefined, undefined],
        ]) {
            await assert.rejects(client.acquire("prod"), (error) => {
                assert.ok(error instanceof Forbidden);
                assert.deepEqual([error.message, error.right, error.on], expected);
                return true;
            });
        }
    },
);
