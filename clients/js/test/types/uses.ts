// Everything that the types allow. It must compile, and is not run.

import {
    BadRequest, Client, DeadlockError, Forbidden, HoldfastError, Leadership, Lease, Lock, LockHeld, LockLost, NotHoldfast,
    ScopeMismatch, ServerUnavailable, StaleFence, Unauthorized, WaitTimedOut,
} from "holdfast";
import type {
    CycleMember, EndedLease, HeldLeadership, HeldLock, HistoryFilters, Leader, ListedLease, LockEvent, OnDeadlock,
    RetryOptions, Scope, Scopes, SetMember,
} from "holdfast";

const { signal } = new AbortController();
const client: Client = new Client({
    servers: ["http://127.0.0.1:8080", "unix:/run/holdfast.sock"],
    token: "secret",
    tokenFile: "/etc/secret",
    caFile: "/etc/ca.pem",
    timeoutMs: 10_000,
    retryForMs: 10_000,
    owner: "w1",
});
new Client({ servers: "a:1,b:2" });
const scopes: Scope[] = ["x", "path:/x", { kind: "named", name: "x" }, { kind: "range", inode: 7, start: 0 }];

export async function useLocks(): Promise<number> {
    const text: string = await client.withLock("x", (lock) => lock.name);
    const token: number = await client.withLock(scopes[0], { ttlMs: 6000, waitMs: 5, signal }, async (lock) => {
        lock.signal.throwIfAborted();
        return lock.fencingToken;
    });
    const onLost = (loss: LockLost): void => console.log(loss.lockName, loss.reason);
    const held: HeldLock = await client.lock("x", { shared: true, metadata: "m", requestId: "r", owner: "o", onLost });
    const tried: HeldLock | null = await client.tryLock("s", { limit: 3 });
    await tried?.release({ signal });

    const lock = new Lock(client, "x", { ttlMs: 6000, onLost });
    const before: number | undefined = lock.fencingToken;
    const lease: Lease = (await lock.acquire({ waitMs: Infinity, signal })).lease;
    const isLocked: boolean = lock.locked();
    lock.check();
    const isReleased: boolean = await lock.release();
    await held[Symbol.asyncDispose]();
    console.log(text, before, isLocked, isReleased, lease.name);
    return token;
}

export async function useRetries(): Promise<void> {
    const retries: RetryOptions = {
        owner: "worker-1", ttlMs: 3000, maxRetries: 50, minRetryMs: 25, maxRetryMs: 1000, jitter: 0.2,
        maxTotalWaitMs: 9, signal, shared: true, limit: 1, metadata: "m", waiter: "worker 7",
    };
    let lease: Lease | undefined;
    try {
        lease = await client.acquireWithRetry("job-lock", retries);
        const onLost = (loss: LockLost): void => console.log(loss.reason);
        const heartbeat: HeldLock = await client.startHeartbeat(lease, { onLost, signal });
        heartbeat.check();
    } finally {
        const isReleased: boolean = await client.releaseOnce(lease, { signal });
        console.log(isReleased, await client.releaseOnce(null));
    }
}

export async function useSets(): Promise<void> {
    const member: SetMember = { scope: "path:/x", mode: "shared" };
    const set: Scopes = ["a", member, { scope: { kind: "semaphore", name: "s" }, limit: 3 }, { kind: "inode", inode: 7 }];
    const onDeadlock: OnDeadlock = "wait";
    const lock: HeldLock = await client.lock(set, { onDeadlock, waiter: "worker 7" });
    await client.withLock(["a", "b"], { onDeadlock: "refuse" }, () => {});
    await client.tryLock(["a", "b"]);
    const lease: Lease = await client.acquire(["a", "b"], { waiter: "worker 7" });
    for (const { scope, mode } of lease.scopes) console.log(scope.length, mode === "shared");
    console.log(new Lock(client, ["a", "b"]).name, lock.lease.scopes.length);
}

export async function useHistory(): Promise<void> {
    const filters: HistoryFilters = { prefix: "x", owner: "ann", since: 0, until: new Date(), pageSize: 9, signal };
    for await (const entry of client.history({ ...filters, scope: "x" })) {
        const one: EndedLease = entry;
        console.log(one.name, one.scopes, one.owner, one.mode, one.fencingToken, one.metadata, one.door);
        console.log(one.acquiredAtMs + one.endedAtMs + one.waitedMs, one.ended === "expired");
    }
}

export async function useLeases(): Promise<void> {
    const lease: Lease = await client.acquire("inode:7", { ttlMs: 6000, waitMs: 0, signal });
    const same: Lease = await client.renew(lease, { ttlMs: 12_000, signal });
    const isReleased: boolean = await client.release(same, { signal });
    const found: Lease = await client.getLease(lease.token, { signal });
    console.log(found.scope.kind, found.mode, found.owner, found.metadata, found.ttlMs, isReleased);
    console.log(found.acquiredAtMs + found.expiresAtMs + found.guaranteedForMs, found.isGuaranteed());
    const filters = { kind: "range", holder: "w1", inode: 7, path: "/", pageSize: 9, signal } as const;
    for await (const listed of client.leases(filters)) {
        const one: ListedLease = listed;
        console.log(one.name, one.door, one.fencingToken);
    }
    const ended: number = await client.forceRelease("x", { signal });
    const { status, body } = await client.ask("GET", "/v1/locks/x", { body: {}, isRepeatable: true, signal });
    console.log(ended, status + 1, body.held);
}

export async function useFences(held: HeldLock): Promise<void> {
    const passed: number = await client.passFence("bucket", held, { signal });
    await client.passFence("bucket", 34);
    await client.passFence("bucket", held.lease);
    const highest: number | null = await client.getFence("bucket", { signal });
    await client.dropFence("bucket", { signal });
    const lease: Lease = await client.check(held, "x", { shared: true, signal });
    await client.check("0006604efeeb32d670ecdeec23021d23", { kind: "path", path: "/x" });
    console.log(passed, highest, lease.name);
}

export async function useElections(): Promise<void> {
    const options = { candidate: "ann", value: "10.0.0.1", ttlMs: 6000, waitMs: 5, signal, onLost: () => {} };
    const led: HeldLeadership = await client.campaign("town", { ...options, onDeadlock: "wait", waiter: "ann" });
    await led.setValue("10.0.0.2", { signal });
    console.log(led.value, led.revision + 1, led instanceof Leadership, led.lease.value, led.lease.revision);
    for await (const leader of client.observe("town", { signal })) {
        const one: Leader | null = leader;
        console.log(one?.candidate, one?.value, one?.fencingToken, one?.revision, led.locked());
    }
    for await (const event of client.watch({ prefix: "x", after: 7, signal })) {
        const one: LockEvent = event;
        console.log(one.id, one.kind, one.lockName, one.lockKind, one.owner, one.fencingToken, one.metadata, one.atMs);
        console.log(one.data.door);
    }
}

function explainMember(member: CycleMember): string {
    if (member.isHidden) return "somebody";
    return `${member.holder} ${member.waiter} ${member.door} ${member.waitsFor} ${member.heldBy} ${member.fencingToken}`;
}

export function explain(error: unknown): string {
    if (error instanceof WaitTimedOut) return `${error.holder} ${error.expiresAtMs}`;
    if (error instanceof LockHeld) return `${error.lockName} ${error.retryAfterMs}`;
    if (error instanceof LockLost) return error.reason;
    if (error instanceof DeadlockError) return error.cycle.map(explainMember).join();
    if (error instanceof Forbidden) return `${error.right} on ${error.on}`;
    if (error instanceof StaleFence) return `${error.resource} ${error.fencingToken + error.highest}`;
    if (error instanceof ScopeMismatch) return error.scope.kind;
    if (error instanceof BadRequest) return `${error.status} ${error.code}`;
    const rest = [Unauthorized, ServerUnavailable, NotHoldfast, HoldfastError];
    return rest.some((kind) => error instanceof kind) ? "other" : "none of ours";
}
