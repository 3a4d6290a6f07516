// Sets, deadlocks, elections and the history, against the real server: the scenarios S15 to S17 of clients/scenarios.md,
// and what belongs to them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";

import { BadRequest, DeadlockError, LockHeld, WaitTimedOut } from "../holdfast.mjs";
import { check, collect, connect, isQueued, look } from "./harness.mjs";
import { pause, until } from "./server.mjs";

const isFree = async (client, name) => !(await look(client, name)).held;

check("S15: a set is all or nothing, and waits holding nothing", async ({ client, server }) => {
    const inTheWay = await client.acquire("b", { ttlMs: 60_000 });
    const other = connect(server.url);
    await assert.rejects(other.acquire(["a", "b"], { waitMs: 0 }), (error) => {
        assert.ok(error instanceof LockHeld);
        assert.deepEqual([error.lockName, error.holder], ["b", client.owner]);
        return true;
    });
    assert.ok(await isFree(client, "a"));
    const waiting = other.lock(["a", "b", { scope: "s", limit: 2 }], { ttlMs: 9000 });
    await isQueued(client, "b");
    assert.ok(await isFree(client, "a"), "a set that waits holds nothing");
    assert.ok(await client.release(inTheWay));
    const lock = await waiting;
    assert.deepEqual(lock.lease.scopes.map(({ scope }) => scope), ["a", "b", "semaphore:s"]);
    for (const name of ["a", "b"]) assert.equal((await look(client, name)).fencing_token, lock.fencingToken);
    assert.equal(await client.tryLock("a"), null);
    const before = lock.lease.expiresAtMs;
    await until(() => lock.lease.expiresAtMs > before, "a renewal");
    assert.ok(await lock.release());
    assert.ok((await isFree(client, "a")) && (await isFree(client, "b")));
    await assert.rejects(client.acquire(["a", "a"]), BadRequest);
});

check("S16: a deadlock is told to one of two, and the other goes on", async ({ client }) => {
    let inside = 0;
    const work = (first, second) =>
        client.withLock(first, { ttlMs: 60_000 }, async () => {
            ++inside;
            await until(() => inside === 2);
            return client.withLock(second, { ttlMs: 60_000 }, ({ fencingToken }) => fencingToken);
        }).catch((error) => error);
    const results = await Promise.all([work("a", "b"), work("b", "a")]);
    const [error] = results.filter((result) => result instanceof DeadlockError);
    assert.ok(error, String(results));
    assert.equal(results.filter((result) => typeof result === "number").length, 1, String(results));
    assert.deepEqual(error.cycle.map(({ waitsFor }) => waitsFor).sort(), ["a", "b"]);
    assert.deepEqual(new Set(error.cycle.map(({ holder }) => holder)), new Set([client.owner]));
    assert.ok((await isFree(client, "a")) && (await isFree(client, "b")));
});

check("S16: calls that only wait for each other are not refused", async ({ client }) => {
    const work = (number) =>
        client.withLock(`own-${number}`, async () => {
            for (let turn = 0; turn < 3; ++turn) {
                await client.withLock("shared", () => client.withLock("last", () => {}));
            }
        });
    await Promise.all(Array.from({ length: 6 }, (_, number) => work(number)));
    await client.withLock("outer", () => // two at the same time, inside of one block
        Promise.all([client.withLock("inner", () => pause(10)), client.withLock("inner", () => pause(10))]));
    await client.withLock("outer", async () => {
        const working = [];
        for (let turn = 0; turn < 6; ++turn) {
            const permit = await client.lock("slot", { limit: 2 });
            working.push(pause(10).then(() => permit.release())); // somebody else gives it back
        }
        await Promise.all(working);
    });
});

check("S16: a program that wants to wait nevertheless waits", async ({ client }) => {
    await client.withLock("a", async () => {
        await assert.rejects(client.lock("a", { waitMs: 300, onDeadlock: "wait" }), WaitTimedOut);
    });
});

/** Leads with the value "one", then with "two" when it is told to, until it is killed. */
function startLeader(url) {
    const entry = new URL("../holdfast.mjs", import.meta.url);
    const script = `
        import { once } from "node:events";
        import { Client } from ${JSON.stringify(entry.href)};
        const options = { candidate: "ann", value: "one", ttlMs: 3000 };
        const leadership = await new Client({ servers: ${JSON.stringify(url)} }).campaign("town", options);
        await once(process.stdin, "data");
        await leadership.setValue("two");
        setInterval(() => {}, 1000);`;
    const stdio = ["pipe", "inherit", "inherit"];
    return spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio });
}

check("S17: the value changes, and the next leads when the leader is killed", async ({ client, server }) => {
    const stop = new AbortController();
    const seen = [];
    const observing = (async () => {
        for await (const leader of client.observe("town", { signal: stop.signal })) seen.push(leader);
    })();
    const told = () => seen.map((leader) => leader && [leader.candidate, leader.value, leader.revision]);
    const isTold = (...leaders) =>
        until(() => JSON.stringify(told().slice(0, leaders.length)) === JSON.stringify(leaders), JSON.stringify(leaders));
    await isTold(null);
    const process = startLeader(server.url);
    try {
        await isTold(null, ["ann", "one", 1]);
        const waiting = connect(server.url).campaign("town", { candidate: "bob", value: "three" });
        await isQueued(client, "town");
        process.stdin.write("\n");
        await isTold(null, ["ann", "one", 1], ["ann", "two", 2]);
        process.kill("SIGKILL");
        const leadership = await waiting;
        await until(() => seen.at(-1)?.candidate === "bob", "the next leader");
        assert.deepEqual(told().at(-1), ["bob", "three", 1]);
        assert.equal(seen.at(-1).fencingToken, leadership.fencingToken);
        assert.ok(leadership.fencingToken > seen[1].fencingToken);
        await leadership.setValue("four");
        assert.deepEqual([leadership.value, leadership.revision], ["four", 2]);
        await leadership.release();
        await until(() => seen.at(-1) === null, "the end of the leadership");
    } finally {
        process.kill("SIGKILL");
    }
    stop.abort();
    await observing;
});

check("S17: an observer goes on when the server is restarted", async ({ far, server }) => {
    const stop = new AbortController();
    const seen = [];
    const observing = (async () => {
        for await (const leader of far.observe("town", { signal: stop.signal })) seen.push(leader?.value);
    })();
    await until(() => seen.length === 1);
    const leadership = await far.campaign("town", { value: "one", ttlMs: 60_000 });
    await until(() => seen.length === 2);
    await server.restart();
    await leadership.setValue("two");
    await until(() => seen.length === 3);
    stop.abort();
    await observing;
    assert.deepEqual(seen, [undefined, "one", "two"]);
    await leadership.release();
});

check("the history has the leases that ended, the newest first", async ({ client }) => {
    for (let turn = 0; turn < 5; ++turn) await client.withLock(`job/${turn}`, () => {});
    await client.withLock(["a", "b"], { metadata: "m" }, () => {});
    const jobs = await collect(client.history({ prefix: "job/", pageSize: 2 }));
    assert.deepEqual(jobs.map(({ scope }) => scope.name), ["job/4", "job/3", "job/2", "job/1", "job/0"]);
    assert.deepEqual(new Set(jobs.map(({ owner, ended }) => `${owner} ${ended}`)), new Set([`${client.owner} released`]));
    const [both] = await collect(client.history({ scope: "b" }));
    assert.deepEqual([both.metadata, both.scopes.map(({ scope }) => scope)], ["m", ["a", "b"]]);
    assert.deepEqual(await collect(client.history({ owner: "nobody" })), []);
    assert.equal((await collect(client.history({ since: 0 }))).length, 6);
});
