// The client: everything that a program asks of a Holdfast server.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

import { Acquisition } from "./acquisition.mjs";
import { BadRequest, LockHeld, LockLost, NotHoldfast, ScopeMismatch } from "./errors.mjs";
import { observe, watch } from "./events.mjs";
import { Exchange, Secret } from "./exchange.mjs";
import { findLease, Lease, readEnded, readListed, release, renew, renewOnce, setValue } from "./lease.mjs";
import { Leadership, Lock } from "./lock.mjs";
import * as options from "./options.mjs";
import { scopeText, splitScope, wanted } from "./scope.mjs";
import { clock, sleep } from "./time.mjs";
import { readAddresses } from "./transport.mjs";
import { Waiters } from "./waiters.mjs";

const { checked, checkedText } = options;

const DEFAULT_SERVER = "http://127.0.0.1:8080";
const DEFAULT_TTL_MS = 30_000;
const ON_DEADLOCK = { refuse: "refuse", wait: "tell" }; // our words, and the server's

const fencePath = (resource) => `/v1/fence/${encodeURIComponent(checkedText(resource, "the resource"))}`;
const tokenOf = (held) => checkedText(typeof held === "string" ? held : (held?.lease ?? held)?.token, "the token");

/** What is no lease would be asked for again and again, and then be taken for one that was released. */
function checkedLease(held) {
    if (!(held instanceof Lease)) throw new TypeError("a lease is needed");
    return held;
}

/** The secret of the options, or of the environment. */
function readSecret({ token, tokenFile }) {
    if (token !== undefined || tokenFile !== undefined) return new Secret({ token, tokenFile });
    const { HOLDFAST_TOKEN, HOLDFAST_TOKEN_FILE } = process.env;
    return new Secret({ token: HOLDFAST_TOKEN || undefined, tokenFile: HOLDFAST_TOKEN_FILE || undefined });
}

/** Talks to one Holdfast server, which may have several addresses. Any number of calls may be under way at once. */
export class Client {
    #exchange;
    #waiters = new Waiters();
    #heartbeats = new WeakMap(); // the lock that renews a lease

    constructor(given = {}) {
        const settings = checked(given, options.CLIENT);
        const { timeoutMs = 10_000, retryForMs = 10_000 } = settings;
        const servers = settings.servers ?? (process.env.HOLDFAST_SERVER || DEFAULT_SERVER);
        const caFile = settings.caFile ?? (process.env.HOLDFAST_CA_FILE || undefined);
        const addresses = readAddresses(servers, caFile && readFileSync(caFile));
        this.#exchange = new Exchange(addresses, readSecret(settings), { timeoutMs, retryForMs });
        this.owner = settings.owner ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
    }

    // Locks that renew themselves.

    /**
     * Runs `work(lock)` while the lock is held, and returns its result. The lock is released in any case. Rejects with
     * LockLost if the lock was lost before the work was done, and with ServerUnavailable if the server does not answer to
     * the release: then nobody knows whether the lock was held to the end. `withLock(scope, work)`, or with options in
     * between. A list of scopes is locked as a whole.
     */
    async withLock(scope, ...rest) {
        const [given, work] = rest.length > 1 ? rest : [{}, rest[0]];
        if (typeof work !== "function") throw new TypeError("the last argument of withLock is a function");
        const lock = await new Lock(this, scope, given).acquire();
        let result;
        try {
            result = await lock._run(() => work(lock));
            lock.check();
        } catch (error) {
            await lock._dispose();
            throw error;
        }
        if (!(await lock.release())) throw new LockLost(lock.name, "it had ended when it was released");
        return result;
    }

    /** A lock that is held. Waits in the server's queue for `waitMs`, or without an end. */
    async lock(scope, given = {}) {
        return new Lock(this, scope, given).acquire();
    }

    /** A lock that is held, or null if somebody else holds it. Does not wait. */
    async tryLock(scope, given = {}) {
        try {
            return await new Lock(this, scope, given).acquire({ waitMs: 0 });
        } catch (error) {
            if (error instanceof LockHeld) return null;
            throw error;
        }
    }

    // Leases that are not renewed by themselves.

    /** Acquires a lease. Waits in the server's queue for `waitMs`, or without an end. */
    async acquire(scope, given = {}) {
        const { waiter, ...request } = checked(given, options.ACQUIRE);
        wanted(scope, request);
        return this._acquire(scope, request, this.#waiters.begin(waiter));
    }

    /** The lease lasts for `ttlMs`, or its old TTL, from now on. Rejects with LockLost if it has ended. */
    async renew(lease, given = {}) {
        return renew(this.#exchange, checkedLease(lease), checked(given, options.RENEW));
    }

    /** Releases a lease. False if it had ended before. */
    async release(lease, given = {}) {
        return release(this.#exchange, checkedLease(lease), checked(given, options.SIGNAL_ONLY));
    }

    /**
     * Acquires a lease by repeated requests, at the pace that the server recommends, without a place in the queue. Rejects
     * with the last LockHeld. Nothing renews the lease until `startHeartbeat`.
     */
    async acquireWithRetry(scope, given = {}) {
        const { maxRetries = 50, minRetryMs = 25, maxRetryMs = 1000, jitter = 0.2, maxTotalWaitMs = Infinity, ...rest } =
            checked(given, options.RETRY);
        const { waiter, ...request } = rest;
        wanted(scope, request);
        const untilMs = clock() + maxTotalWaitMs;
        for (let retries = 0; ; ++retries) {
            try {
                return await this._acquire(scope, { ...request, waitMs: 0 }, this.#waiters.begin(waiter));
            } catch (error) {
                if (!(error instanceof LockHeld) || retries >= maxRetries) throw error;
                const hintMs = Math.min(Math.max(error.retryAfterMs ?? 0, minRetryMs), maxRetryMs);
                const pauseMs = hintMs * (1 + jitter * (2 * Math.random() - 1));
                if (clock() + pauseMs > untilMs) throw error;
                await sleep(pauseMs, request.signal);
            }
        }
    }

    /** Renews a lease, now and from now on. A lock that is held; rejects with LockLost if the lease has ended. */
    async startHeartbeat(lease, given = {}) {
        const { onLost, signal } = checked(given, options.HEARTBEAT);
        const lock = Lock._over(this, await renew(this.#exchange, checkedLease(lease), { signal }), onLost);
        this.#heartbeats.set(lease, lock);
        return lock;
    }

    /**
     * Gives back a lease together with its heartbeat, or a lock. For a `finally`: it may be called again, and with nothing.
     * False if there was nothing to give back. A lock, or a lease with a heartbeat, gives the same answer each time.
     */
    async releaseOnce(held, given = {}) {
        const limits = checked(given, options.SIGNAL_ONLY);
        if (held === undefined || held === null) return false;
        if (held instanceof Lock) return held.release(limits);
        return this.#heartbeats.get(held)?.release(limits) ?? release(this.#exchange, checkedLease(held), limits);
    }

    /** The lease of this token. It is guaranteed only after a renewal. Rejects with LockLost if there is none. */
    async getLease(token, given = {}) {
        return findLease(this.#exchange, tokenOf(token), checked(given, options.SIGNAL_ONLY));
    }

    /** All live leases of the server, the oldest first, without their tokens. */
    async *leases(given = {}) {
        const { signal, pageSize = 100, ...filters } = checked(given, options.LEASES);
        const query = new URLSearchParams({ ...filters, limit: pageSize });
        for await (const page of this.#pages("/v1/leases", query, signal)) yield* page.leases.map(readListed);
    }

    /**
     * The leases that have ended, the newest first, as the server remembers them: of one lock, of those whose names begin
     * with the prefix, of one owner, of a time.
     */
    async *history(given = {}) {
        const { signal, pageSize = 100, scope, since, until, ...filters } = checked(given, options.HISTORY);
        const query = new URLSearchParams({ ...filters, limit: pageSize });
        if (scope !== undefined) query.set("scope", scopeText(scope));
        if (since !== undefined) query.set("since", Math.round(Number(since)));
        if (until !== undefined) query.set("until", Math.round(Number(until)));
        for await (const page of this.#pages("/v1/history", query, signal)) yield* page.history.map(readEnded);
    }

    /** The pages of a listing. One that leads to itself would never end. */
    async *#pages(path, query, signal) {
        for (;;) {
            const page = await this.#exchange.askFor({ method: "GET", path: `${path}?${query}`, signal });
            yield page;
            const next = page.next ?? "";
            if (next === "") return;
            if (String(next) === query.get("after")) throw new NotHoldfast(`the listing ${path} does not go on after ${next}`);
            query.set("after", next);
        }
    }

    /** Ends every lease on a lock, whoever has it, and tells how many there were. An admin's; sent once. */
    async forceRelease(scope, given = {}) {
        const { signal } = checked(given, options.SIGNAL_ONLY);
        const { kind, rest } = splitScope(scopeText(scope));
        const path = `/v1/locks/${encodeURIComponent(rest)}` + (kind ? `?kind=${kind}` : "");
        return (await this.#exchange.askFor({ method: "DELETE", path, isRepeatable: false, signal })).holders;
    }

    // Fences.

    /**
     * To be called before every use of a resource that cannot compare fencing tokens itself, with a fencing token, or
     * with the lock. Rejects with StaleFence if a larger one was used before; else returns the largest, this one.
     */
    async passFence(resource, held, given = {}) {
        const fencing_token = typeof held === "number" ? held : held?.fencingToken;
        if (!Number.isSafeInteger(fencing_token)) throw new TypeError("a fencing token is a whole number");
        const { signal } = checked(given, options.SIGNAL_ONLY);
        const ask = { method: "POST", path: fencePath(resource), body: { fencing_token }, signal };
        return (await this.#exchange.askFor(ask)).highest;
    }

    /** The largest fencing token that was used for the resource, or null. */
    async getFence(resource, given = {}) {
        const { signal } = checked(given, options.SIGNAL_ONLY);
        try {
            return (await this.#exchange.askFor({ method: "GET", path: fencePath(resource), signal })).highest;
        } catch (error) {
            if (error instanceof BadRequest && error.code === "FenceNotFound") return null;
            throw error;
        }
    }

    /** Forgets the resource, so that any number is accepted next. An admin's; sent once. */
    async dropFence(resource, given = {}) {
        const { signal } = checked(given, options.SIGNAL_ONLY);
        await this.#exchange.askFor({ method: "DELETE", path: fencePath(resource), isRepeatable: false, signal });
    }

    /**
     * The lease of this token, if its holder may now do work that needs a lock on the scope. Rejects with LockLost or
     * ScopeMismatch. A shared lease is enough only with `shared: true`.
     */
    async check(token, scope, given = {}) {
        const { shared = false, signal } = checked(given, options.CHECK);
        const body = { token: tokenOf(token), scope: scopeText(scope) };
        const answer = await this.#exchange.ask({ method: "POST", path: "/v1/fence/check", body, signal });
        if (!answer.isSuccess) throw answer.toError(body.scope);
        const lease = new Lease(answer);
        if (lease.mode === "shared" && !shared) {
            throw new ScopeMismatch("the lease is shared, which is for reading only", { scope: lease.scope });
        }
        return lease;
    }

    // Elections: the leader is the holder of the lock that is named like the election.

    /**
     * Waits until the candidate leads. It leads while the lock is held, and resigns by releasing the lock. Others see the
     * `value`; `setValue` of the lock changes it.
     */
    async campaign(election, given = {}) {
        const { candidate, value = "", ...rest } = checked(given, options.CAMPAIGN);
        checkedText(election, "the election");
        return new Leadership(this, election, value, { ...rest, owner: candidate }).acquire();
    }

    /** Tells the leader now, or null, and after every change of the leader or its value. Ends when the signal aborts. */
    async *observe(election, given = {}) {
        const { signal } = checked(given, options.SIGNAL_ONLY);
        yield* observe(this.#exchange, checkedText(election, "the election"), signal);
    }

    // What happens, and what there is no call for.

    /**
     * The events of locks whose names begin with the prefix, from now on, or after the event of an id. When the
     * connection breaks, they go on after the last one. Ends when the signal aborts.
     */
    async *watch(given = {}) {
        yield* watch(this.#exchange, checked(given, options.WATCH));
    }

    /**
     * Any other request, with the server's own answer, whatever its status. It is repeated only if it is a GET, or if
     * `isRepeatable` says so.
     */
    async ask(method, path, given = {}) {
        const { body, signal, isRepeatable = method === "GET" } = checked(given, options.ASK);
        const answer = await this.#exchange.ask({ method, path, body, signal, isRepeatable });
        return { status: answer.status, body: answer.body };
    }

    /** Who waits. */
    get _waiters() {
        return this.#waiters;
    }

    /** Acquires a lease for a waiter, whose use ends if nothing is granted. REQUIRES: the options are checked. */
    async _acquire(scope, { waitMs = Infinity, signal, ...request }, waiter) {
        const { ttlMs = DEFAULT_TTL_MS, metadata, requestId, owner = this.owner, onDeadlock = "refuse", value } = request;
        const { name, fields } = wanted(scope, request);
        Object.assign(fields, { holder: owner, ttl_ms: Math.round(ttlMs), request_id: requestId });
        Object.assign(fields, { waiter: waiter.identity, on_deadlock: ON_DEADLOCK[onDeadlock] });
        if (metadata) fields.metadata = metadata;
        if (value) fields.value = value;
        try {
            return await new Acquisition(this.#exchange, name, fields, { waitMs, signal }).run();
        } catch (error) {
            waiter.end();
            throw error;
        }
    }

    _setValue(lease, value, limits) {
        return setValue(this.#exchange, lease, value, limits);
    }

    /** Asks once, for the heartbeat of a lock. */
    _renewOnce(lease, limits) {
        return renewOnce(this.#exchange, lease, limits);
    }
}
