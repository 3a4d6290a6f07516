// A client of Holdfast, the lock server. One file without dependencies, for Node 18 and later: it needs no more than
// fetch, AbortSignal and timers. (Node's http module is loaded only for a server behind a Unix socket.)
//
//     import { Client } from "./holdfast.mjs";
//
//     const client = new Client();
//     await client.withLock("nightly-backup", { ttlMs: 30_000 }, async ({ signal, fencingToken }) => {
//         for (const part of parts) await store(part, { fencingToken, signal });
//     });
//
// A lock is a lease: the server takes it back from a holder that stays away for longer than its TTL. A `Lock` renews
// its lease every third of the TTL, and judges by a clock of this process how long it can be sure of it: from *before*
// the last confirmed request was sent, and less a margin of min(5 s, TTL/6). When that is over, or the server says that
// the lease is, `signal` aborts, `onLost` is called and `check()` throws, before the server can give the lock to
// anybody else. (Node's clock stands still while the machine is asleep: what must not happen then needs the fencing
// token.)
//
// Every request without an answer is repeated, for `retryForMs`. An acquire carries an id by which the server
// knows it: if only its answer was lost, the repetition finds the same lease, and nothing is left behind that nobody
// knows of. What cannot be known to be harmless twice, ending other people's leases, is asked once.

const ENDLESS_MS = 365 * 86_400_000; // to the server, a wait of this length has no end
const FETCH_MAX_MS = 120_000; // Node's fetch gives up by itself after 300 s without an answer
const EVENTS_SILENCE_MAX_MS = 45_000; // the server says something every 15 s
const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

const clock = () => performance.now();
const marginOf = (ttlMs) => Math.min(5000, ttlMs / 6);
const newId = () => globalThis.crypto?.randomUUID?.() ?? randomText();
const randomText = () => Array.from({ length: 4 }, () => Math.random().toString(16).slice(2, 10)).join("");
const environment = (name) => globalThis.process?.env?.[name];

// --- What can go wrong ---------------------------------------------------------------------------------------------

/** The base of all errors of this client. (A signal of yours rejects with its own reason.) */
export class HoldfastError extends Error {
    constructor(message, details = {}) {
        super(message);
        this.name = new.target.name;
        Object.assign(this, details);
    }
}

/** Somebody else holds the lock: `holder`, until `expiresAtMs`, as far as known. */
export class LockHeld extends HoldfastError {}

/** Somebody else held the lock until the end of the wait. */
export class WaitTimedOut extends LockHeld {}

/** The lease has ended, or may have ended: stop the work that it protects. */
export class LockLost extends HoldfastError {}

/** The resource was used under a larger fencing token before, `highest`: do not write. */
export class StaleFence extends HoldfastError {}

/** The token is valid, but for another scope, `scope`. */
export class ScopeMismatch extends HoldfastError {}

/** The token is wrong, or missing. */
export class Unauthorized extends HoldfastError {}

/** The request needs the admin's token. */
export class Forbidden extends HoldfastError {}

/** The server does not understand the request, or will never do it; `status` is that of its answer. */
export class BadRequest extends HoldfastError {}

/** The server cannot be reached, does not answer in time, or cannot write to its disk. */
export class ServerUnavailable extends HoldfastError {}

/** There is no answer; the request may have had an effect. Used only in this file. */
class NoAnswer extends Error {}

const lost = (lockName, reason) => new LockLost(`the lock on ${lockName} is lost: ${reason}`, { lockName, reason });

// --- Requests and answers ------------------------------------------------------------------------------------------

class Answer {
    constructor(status, body) {
        this.status = status;
        this.body = body;
        this.reason = String(body.reason ?? body.error ?? `status ${status}`); // in the words of either door
        this.isTemporary = [502, 503, 504].includes(status) || this.reason === "BUSY_RETRY";
    }

    /** The error for an answer that is not the refusal of a lock. */
    failure() {
        const message = this.body.message ?? this.reason;
        if (this.status === 401) return new Unauthorized(message);
        if (this.status === 403) return new Forbidden(message);
        return new BadRequest(message, { status: this.status });
    }
}

/** A signal that aborts after a time, or when another one does. `done()` cancels both. */
class Deadline {
    #controller = new AbortController();
    #outer;
    #timer;
    #stop = () => this.#controller.abort(this.#outer.reason);

    constructor(timeoutMs, outer) {
        this.#outer = outer;
        if (outer?.aborted) this.#stop();
        outer?.addEventListener("abort", this.#stop, { once: true });
        this.restart(timeoutMs);
    }

    get signal() {
        return this.#controller.signal;
    }

    restart(timeoutMs) {
        clearTimeout(this.#timer);
        const problem = `no answer in ${Math.round(timeoutMs)} ms`;
        this.#timer = setTimeout(() => this.#controller.abort(new NoAnswer(problem)), timeoutMs);
    }

    done() {
        clearTimeout(this.#timer);
        this.#outer?.removeEventListener("abort", this.#stop);
    }

    /** Aborts the work that uses the signal. */
    abort() {
        this.done();
        this.#controller.abort(new NoAnswer("given up"));
    }
}

/** Resolves after a time; rejects with the signal's reason when that aborts. */
function sleep(durationMs, signal) {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, durationMs);
        signal?.addEventListener("abort", stop, { once: true });
    });
}

/** Decides when a request is repeated: first at once, then after longer and longer pauses, for `retryForMs`. */
class Patience {
    constructor(retryForMs, signal) {
        this.retryForMs = retryForMs;
        this.signal = signal;
        this.reset();
    }

    reset() {
        this.until = undefined;
        this.delayMs = 0;
    }

    async pause(problem) {
        if (!(problem instanceof NoAnswer)) throw problem;
        this.until ??= clock() + this.retryForMs;
        const delayMs = this.delayMs * (0.8 + 0.4 * Math.random());
        if (clock() + delayMs >= this.until) throw new ServerUnavailable(problem.message);
        this.delayMs = Math.min(Math.max(2 * this.delayMs, 50), 1000);
        await sleep(delayMs, this.signal);
    }
}

const SOCKET_PATH_MAX = 107; // bytes; the system allows no more for a Unix socket

/** A fetch() to the server behind a Unix socket, with as much of a Response as this client uses. Every request has a
 *  connection of its own: on one machine that costs little. */
function fetchOver(socketPath) {
    const length = new TextEncoder().encode(socketPath).length;
    if (length === 0) throw new TypeError("'unix:' names no socket");
    if (length > SOCKET_PATH_MAX) {
        throw new TypeError(`the path of 'unix:${socketPath}' has more than ${SOCKET_PATH_MAX} bytes`);
    }
    return async (path, { method = "GET", body, headers, signal }) => {
        const [{ request }, { Readable, addAbortSignal }] = await Promise.all([
            import("node:http"),
            import("node:stream"),
        ]);
        return new Promise((resolve, reject) => {
            const target = { socketPath, path, method, headers: { Host: "localhost", ...headers } };
            const sent = request({ ...target, signal, agent: false }, (received) => {
                if (signal) addAbortSignal(signal, received);
                resolve(new Response(Readable.toWeb(received), { status: received.statusCode }));
            });
            sent.on("error", reject);
            sent.end(body);
        });
    };
}

function query(parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
    return given.length === 0 ? "" : "?" + new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

function scopeText(scope) {
    if (typeof scope === "string") return scope;
    if (scope.kind === "range") return `range:${scope.inode}:${scope.start}-${scope.end ?? ""}`;
    return `${scope.kind}:${scope.name ?? scope.path ?? scope.inode}`;
}

const lockPath = (name, action = "") => `/v1/locks/${encodeURIComponent(name)}${action}`;
const leasePath = (token, action = "") => `/v1/leases/${encodeURIComponent(token)}${action}`;
const fencePath = (resource) => `/v1/fence/${encodeURIComponent(resource)}`;
const expiryOf = (body) => body.lease_expiry_ms ?? Date.parse(body.expires_at);
const isOver = (answer) => ["NOT_OWNER_OR_EXPIRED", "LockExpired", "LockNotFound"].includes(answer.reason);

// --- Leases and locks ----------------------------------------------------------------------------------------------

/** A lock that is held until a deadline. It is not renewed by itself; `Lock` is. */
export class Lease {
    constructor(body, name, ttlMs) {
        this.name = name;
        this.owner = body.owner_id ?? body.holder;
        this.fencingToken = body.fencing_token;
        this.ttlMs = ttlMs;
        this.expiresAtMs = expiryOf(body);
        this.guaranteedUntilMs = -Infinity;
        this.mode = body.mode ?? "exclusive";
        this.metadata = body.metadata ?? "";
        this.leaseId = body.lease_id;
        this.token = body.token;
        this.scope = body.scope;
    }

    /** Whether nobody else can have the lock yet, judged by the clock of this process alone. */
    isGuaranteed() {
        return clock() < this.guaranteedUntilMs;
    }

    /** When the lease ends at the earliest, by the clock of this process. */
    get endMs() {
        return this.guaranteedUntilMs + marginOf(this.ttlMs);
    }

    /** The lease was granted by a request that was sent at this time, so it began no earlier. */
    _confirm(sentAtMs, ttlMs) {
        this.ttlMs = ttlMs;
        const untilMs = sentAtMs + ttlMs - marginOf(ttlMs);
        this.guaranteedUntilMs = this.token ? untilMs : Math.max(this.guaranteedUntilMs, untilMs);
    }

    /** A lease under /v1/leases can be made shorter, also by a request whose answer is lost. */
    _prepareFor(sentAtMs, ttlMs) {
        if (!this.token || ttlMs >= this.ttlMs) return;
        this.guaranteedUntilMs = Math.min(this.guaranteedUntilMs, sentAtMs + ttlMs - marginOf(ttlMs));
    }
}

/** A lock that renews itself while it is held, and tells when it is lost. A lock that is lost stays lost. */
export class Lock {
    #client;
    #onLost;
    #controller = new AbortController();
    #timers = {};
    #isOver = false;
    #loss;
    #problem = "";
    #released;

    constructor(client, lease, onLost) {
        this.#client = client;
        this.#onLost = onLost;
        this.lease = lease;
        this.#later("renew", lease.ttlMs / 3, () => this.#renew());
        this.#watch();
    }

    get name() {
        return this.lease.name;
    }

    /** Larger than that of every grant before: pass it on with every write. */
    get fencingToken() {
        return this.lease.fencingToken;
    }

    /** Aborts, with the LockLost as its reason, when the lock is lost. */
    get signal() {
        return this.#controller.signal;
    }

    /** Whether the lock is certainly ours now. Correct also in a process that was stopped and continues. */
    isHeld() {
        if (this.#isOver) return false;
        if (this.lease.isGuaranteed()) return true;
        this.#lose("no renewal was confirmed in time" + this.#problem);
        return false;
    }

    /** Throws LockLost unless the lock is certainly ours now. */
    check() {
        if (!this.isHeld()) throw this.#loss ?? lost(this.name, "it was released");
    }

    /** Releases the lock. Further calls do nothing. False if the lease had ended before. */
    release() {
        this.#end();
        this.#released ??= this.#client.release(this.lease);
        return this.#released;
    }

    async [ASYNC_DISPOSE]() {
        await this.release().catch((problem) => {
            if (!(problem instanceof HoldfastError)) throw problem; // the lease ends by itself
        });
    }

    #end() {
        this.#isOver = true;
        for (const timer of Object.values(this.#timers)) clearTimeout(timer);
    }

    #later(what, delayMs, work) {
        this.#timers[what] = setTimeout(work, Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
        this.#timers[what].unref?.(); // a lock does not keep the process alive
    }

    #watch() {
        if (!this.isHeld()) return;
        this.#later("watch", Math.ceil(this.lease.guaranteedUntilMs - clock()), () => this.#watch());
    }

    async #renew() {
        let pauseMs = this.lease.ttlMs / 3;
        try {
            const leftMs = Math.max(this.lease.guaranteedUntilMs - clock(), 50);
            await this.#client._renewOnce(this.lease, this.lease.ttlMs, leftMs);
            this.#problem = "";
        } catch (problem) {
            if (problem instanceof LockLost) return this.#lose(problem.reason);
            pauseMs = this.lease.ttlMs / 12;
            this.#problem = ` (${problem.message})`;
        }
        if (!this.#isOver) this.#later("renew", pauseMs, () => this.#renew());
    }

    #lose(reason) {
        if (this.#isOver) return;
        this.#end();
        this.#loss = lost(this.name, reason);
        this.#controller.abort(this.#loss);
        const onLost = this.#onLost;
        if (onLost) queueMicrotask(() => onLost(this.#loss));
    }
}

// --- The client ----------------------------------------------------------------------------------------------------

/** Talks to one Holdfast server. */
export class Client {
    #server; // as it was named, for people
    #root; // stands before every path
    #token;
    #tokenFile;
    #fetch;

    constructor({ server, token, tokenFile, timeoutMs = 10_000, retryForMs = 10_000, owner, fetch, fetchMaxMs } = {}) {
        this.#server = (server ?? environment("HOLDFAST_SERVER") ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
        this.#token = token;
        this.#tokenFile = token === undefined ? (tokenFile ?? environment("HOLDFAST_TOKEN_FILE")) : undefined;
        const isUnix = this.#server.startsWith("unix:");
        this.#root = isUnix ? "" : this.#server;
        if (isUnix) fetch ??= fetchOver(this.#server.slice("unix:".length));
        this.#fetch = fetch ?? ((...request) => globalThis.fetch(...request));
        this.timeoutMs = timeoutMs;
        this.retryForMs = retryForMs;
        this.fetchMaxMs = fetchMaxMs ?? FETCH_MAX_MS;
        this.owner = owner ?? `${globalThis.process?.pid ?? "js"}-${newId().slice(0, 13)}`;
    }

    // Locks that renew themselves.

    /** Runs the work under a lock, and releases the lock. Rejects with LockLost if it was lost meanwhile. */
    async withLock(name, options, work) {
        return this.#guard(await this.lock(name, options), work);
    }

    /** The same for a scope: `"range:7:0-4096"`, `"path:/a/b"`, `"inode:7"`, or its object. */
    async withLease(scope, options, work) {
        return this.#guard(await this.lease(scope, options), work);
    }

    /** A lock that is held. Waits in the server's queue for `waitMs`, or without an end. */
    async lock(name, options = {}) {
        return new Lock(this, await this.acquire(name, { waitMs: Infinity, ...options }), options.onLost);
    }

    /** The lock, held, or null if somebody else holds it. */
    async tryLock(name, options = {}) {
        try {
            return await this.lock(name, { ...options, waitMs: 0 });
        } catch (error) {
            if (error instanceof LockHeld) return null;
            throw error;
        }
    }

    /** A lock on a scope that is held. */
    async lease(scope, options = {}) {
        return new Lock(this, await this.acquireLease(scope, { waitMs: Infinity, ...options }), options.onLost);
    }

    // Leases that are not renewed by themselves.

    /** Acquires a lock, or waits for it in the server's queue. */
    async acquire(name, { ttlMs = 30_000, waitMs = 0, shared = false, limit, metadata, signal } = {}) {
        const fields = { owner_id: this.owner, ttl_ms: Math.round(ttlMs), limit, metadata, mode: modeOf(shared) };
        return this.#acquire(lockPath(name, "/acquire"), name, fields, fields.ttl_ms, waitMs, signal);
    }

    /** Acquires a lock by repeated requests, at the pace that the server recommends, without waiting in the queue. */
    async acquireWithRetry(name, options = {}) {
        const { maxRetries = 50, minRetryMs = 25, maxRetryMs = 1000, jitter = 0.2 } = options;
        const { ttlMs, shared, limit, metadata, signal } = options;
        const untilMs = clock() + (options.maxTotalWaitMs ?? Infinity);
        for (let attempt = 0; ; ++attempt) {
            try {
                return await this.acquire(name, { ttlMs, shared, limit, metadata, signal });
            } catch (error) {
                if (!(error instanceof LockHeld)) throw error;
                const hintMs = Math.min(Math.max(error.retryAfterMs ?? minRetryMs, minRetryMs), maxRetryMs);
                const pauseMs = hintMs * (1 + jitter * (2 * Math.random() - 1));
                if (attempt >= maxRetries || clock() + pauseMs > untilMs) throw error;
                await sleep(pauseMs, signal);
            }
        }
    }

    /** Acquires a lease on a scope. */
    async acquireLease(scope, { ttlMs = 30_000, waitMs = 0, shared = false, metadata, signal } = {}) {
        const fields = { scope, holder: this.owner, duration_ms: Math.round(ttlMs), metadata, mode: modeOf(shared) };
        return this.#acquire("/v1/leases", scopeText(scope), fields, fields.duration_ms, waitMs, signal);
    }

    /** Prolongs a lease, by its own TTL or another one, and returns it. Rejects with LockLost if it has ended. */
    async renew(lease, ttlMs = lease.ttlMs) {
        const patience = new Patience(this.retryForMs);
        for (;;) {
            try {
                await this._renewOnce(lease, ttlMs, this.timeoutMs);
                return lease;
            } catch (problem) {
                await patience.pause(problem);
            }
        }
    }

    /** Releases a lease. False if it had ended before. If an answer was lost and the repetition finds the lease gone,
     *  it counts as released. */
    async release(lease) {
        const patience = new Patience(Math.max(Math.min(this.retryForMs, lease.endMs - clock()), 0));
        const { owner, leaseId, fencingToken } = lease;
        const proof = leaseId && { owner_id: owner, lease_id: leaseId, fencing_token: fencingToken };
        for (let isRepeated = false; ; isRepeated = true) {
            try {
                const timeoutMs = Math.min(this.timeoutMs, Math.max(lease.endMs - clock(), 1000));
                const answer = await (leaseId
                    ? this.#askOnce("POST", lockPath(lease.name, "/release"), proof, { timeoutMs })
                    : this.#askOnce("DELETE", leasePath(lease.token), undefined, { timeoutMs }));
                if (isOver(answer)) return isRepeated;
                if (answer.status !== 200) throw answer.failure();
                return answer.body.released || isRepeated;
            } catch (problem) {
                await patience.pause(problem);
            }
        }
    }

    // Looking at locks, and ending those of others.

    /** A lock as the server shows it. */
    async get(name, { queue = false } = {}) {
        return this.#ask("GET", lockPath(name) + query({ queue: queue || undefined }));
    }

    /** All locks that are held or waited for, of every kind and door, whose names begin with the prefix. */
    list(prefix = "", { pageSize = 100 } = {}) {
        return this.#pages("/v1/locks", "locks", { prefix, limit: pageSize });
    }

    /** All live leases, of every door, the oldest first. */
    leases({ kind, holder, inode, path, pageSize = 100 } = {}) {
        return this.#pages("/v1/leases", "leases", { kind, holder, inode, path, limit: pageSize });
    }

    /** The lease with this token, as the server shows it. Rejects with LockLost if there is none. */
    async getLease(token) {
        return this.#ask("GET", leasePath(token), undefined, { about: token });
    }

    /** Ends every lease on the lock, and says how many there were. An admin's; asked only once. */
    async forceRelease(name) {
        return (await this.#ask("DELETE", lockPath(name), undefined, { isRepeatable: false })).holders;
    }

    // Fences.

    /** To be called before every write to a resource that cannot compare fencing tokens itself. Rejects with
     *  StaleFence. */
    async fence(resource, token) {
        const fencing_token = typeof token === "number" ? token : token.fencingToken;
        return (await this.#ask("POST", fencePath(resource), { fencing_token })).highest;
    }

    /** The largest fencing token that was used for the resource, or null. */
    async getFence(resource) {
        try {
            return (await this.#ask("GET", fencePath(resource))).highest;
        } catch (error) {
            if (error instanceof BadRequest && error.status === 404) return null;
            throw error;
        }
    }

    /** Forgets the resource, so that any number is accepted next. An admin's; asked only once. */
    async dropFence(resource) {
        await this.#ask("DELETE", fencePath(resource), undefined, { isRepeatable: false });
    }

    /** Whether the token is that of a live lease which covers the scope. Rejects with LockLost or ScopeMismatch. */
    async check(token, scope) {
        const text = typeof token === "string" ? token : (token.lease ?? token).token;
        return this.#ask("POST", "/v1/fence/check", { token: text, scope }, { about: text });
    }

    // What happens.

    /** The events of locks whose names begin with the prefix, from now on or after the event of that id; goes on after
     *  the last event when the connection breaks. Ends when the signal aborts. */
    async *events({ prefix, after, signal } = {}) {
        const patience = new Patience(this.retryForMs, signal);
        while (!signal?.aborted) {
            try {
                for await (const event of this.#stream("/v1/events" + query({ prefix }), after, signal, patience)) {
                    after = event.id ?? after;
                    yield event;
                }
            } catch (problem) {
                if (signal?.aborted) return;
                await patience.pause(problem).catch((failure) => {
                    if (!signal?.aborted) throw failure;
                });
            }
        }
    }

    // How it is done.

    async #guard(lock, work) {
        try {
            const result = await work(lock);
            lock.check();
            return result;
        } finally {
            await lock[ASYNC_DISPOSE]();
        }
    }

    async #readToken() {
        if (!this.#tokenFile) return this.#token;
        const { readFile } = await import("node:fs/promises");
        return (await readFile(this.#tokenFile, "ascii")).split("\n", 1)[0].trim();
    }

    /** One response; a secret that was renewed meanwhile is read again. Rejects with NoAnswer. */
    async #request(path, options) {
        this.#token ??= await this.#readToken();
        const shown = this.#token;
        const response = await this.#send(path, options);
        if (response.status !== 401) return response;
        this.#token = await this.#readToken();
        if (this.#token === shown) return response;
        await response.body?.cancel();
        return this.#send(path, options);
    }

    async #send(path, options) {
        const headers = { ...options.headers, ...(this.#token && { Authorization: `Bearer ${this.#token}` }) };
        try {
            return await this.#fetch(this.#root + path, { ...options, headers });
        } catch (error) {
            throw this.#explain(error, options.signal);
        }
    }

    #explain(error, signal) {
        if (signal?.aborted) return signal.reason;
        return new NoAnswer(`${this.#server}: ${error.cause?.message || error.message}`);
    }

    async #json(response, signal) {
        let text;
        try {
            text = await response.text();
        } catch (error) {
            throw this.#explain(error, signal);
        }
        try {
            return JSON.parse(text);
        } catch {
            return { error: text.trim() || "an empty answer" };
        }
    }

    /** Rejects with NoAnswer also for an answer that only says "try again". */
    async #askUnder(signal, method, path, body) {
        const response = await this.#request(path, { method, body: body && JSON.stringify(body), signal });
        const answer = new Answer(response.status, await this.#json(response, signal));
        if (answer.isTemporary) throw new NoAnswer(answer.body.message ?? answer.reason);
        return answer;
    }

    async #askOnce(method, path, body, { timeoutMs = this.timeoutMs } = {}) {
        const limit = new Deadline(timeoutMs);
        try {
            return await this.#askUnder(limit.signal, method, path, body);
        } finally {
            limit.done();
        }
    }

    /** Asks until there is an answer, and returns its body if it is a success. */
    async #ask(method, path, body, { about = "", isRepeatable = true } = {}) {
        const patience = new Patience(isRepeatable ? this.retryForMs : 0);
        let answer;
        while (!answer) {
            try {
                answer = await this.#askOnce(method, path, body);
            } catch (problem) {
                await patience.pause(problem);
            }
        }
        if (answer.status === 200) return answer.body;
        const { message, resource, highest, scope } = answer.body;
        if (isOver(answer)) throw lost(about, message);
        if (answer.reason === "StaleFence") {
            throw new StaleFence(message, { resource, highest, fencingToken: answer.body.fencing_token });
        }
        if (answer.reason === "LockScopeMismatch") throw new ScopeMismatch(message, { scope });
        throw answer.failure();
    }

    async *#pages(resource, field, parameters) {
        let after;
        do {
            const page = await this.#ask("GET", resource + query({ ...parameters, after }));
            yield* page[field];
            after = page.next;
        } while (after !== undefined);
    }

    async #acquire(path, name, fields, ttlMs, waitMs, signal) {
        const body = { ...fields };
        try {
            return await this.#acquirePatiently(path, name, body, ttlMs, waitMs, signal);
        } catch (error) {
            if (signal?.aborted && body.request_id) await this.#abandon(path, name, body, ttlMs);
            throw error;
        }
    }

    async #acquirePatiently(path, name, body, ttlMs, waitMs, signal) {
        signal?.throwIfAborted();
        const untilMs = clock() + waitMs;
        const patience = new Patience(this.retryForMs, signal);
        let sentAtMs;
        for (;;) {
            if (sentAtMs === undefined) {
                body.request_id = newId();
                sentAtMs = clock();
            }
            let answer;
            try {
                answer = await this.#askInTurns(path, body, untilMs, signal);
            } catch (problem) {
                await patience.pause(problem);
                continue;
            }
            patience.reset();
            if (answer.status === 200) {
                const lease = new Lease(answer.body, name, ttlMs);
                lease._confirm(sentAtMs, ttlMs);
                if (await this.#isFresh(lease, sentAtMs)) return lease;
            }
            if (answer.status === 200 || ["REQUEST_ENDED", "RequestEnded"].includes(answer.reason)) {
                sentAtMs = undefined; // our lease has ended already: begin anew
            } else if (!isToBeAskedAgain(answer, untilMs)) {
                throw refusal(answer, name);
            }
        }
    }

    /** The answer to a request that may wait for long. It is made again on another connection now and then, because no
     *  fetch waits for ever: by its id the server gives it the place in the queue that it had. */
    async #askInTurns(path, body, untilMs, signal) {
        const turns = [];
        let timer;
        try {
            for (;;) {
                const leftMs = Math.min(Math.max(untilMs - clock(), 0), ENDLESS_MS);
                body.wait_ms = Math.round(leftMs);
                const turn = new Deadline(Math.min(leftMs, this.fetchMaxMs) + this.timeoutMs, signal);
                turns.push(turn);
                const asked = this.#askUnder(turn.signal, "POST", path, body);
                asked.catch(() => {}); // it may fail when the next one is made already
                const isOld = new Promise((resolve) => (timer = setTimeout(resolve, this.fetchMaxMs)));
                const answer = await Promise.race([asked, isOld]);
                clearTimeout(timer);
                // An earlier turn that arrived later has the place now; the next one gets it from there.
                if (answer && !isSuperseded(answer)) return answer;
            }
        } finally {
            clearTimeout(timer);
            for (const turn of turns) turn.abort();
        }
    }

    /** If the answer took long, we do not know when the lease began. A renewal tells how long it lasts.
     *  False if the lease has ended. */
    async #isFresh(lease, sentAtMs) {
        if (clock() - sentAtMs < lease.ttlMs / 3) return true;
        try {
            await this.renew(lease);
            return true;
        } catch (error) {
            if (error instanceof LockLost) return false;
            throw error;
        }
    }

    /** Ends a request that was cancelled: leaves the queue, or releases the lease. Tries for a moment. */
    async #abandon(path, name, body, ttlMs) {
        for (let attempt = 0; attempt < 3; ++attempt) {
            try {
                const answer = await this.#askOnce("POST", path, { ...body, wait_ms: 0 }, { timeoutMs: 1000 });
                if (answer.status === 200) await this.release(new Lease(answer.body, name, ttlMs));
                return;
            } catch (problem) {
                if (!(problem instanceof NoAnswer)) return;
            }
        }
    }

    /** Asks once; rejects with NoAnswer or LockLost. */
    async _renewOnce(lease, ttlMs, timeoutMs) {
        const sentAtMs = clock();
        lease._prepareFor(sentAtMs, ttlMs);
        const { owner: owner_id, leaseId: lease_id, fencingToken: fencing_token } = lease;
        const limit = { timeoutMs: Math.min(timeoutMs, this.timeoutMs) };
        const answer = await (lease_id
            ? this.#askOnce("POST", lockPath(lease.name, "/renew"),
                  { owner_id, lease_id, fencing_token, extend_by_ms: Math.round(ttlMs) }, limit)
            : this.#askOnce("POST", leasePath(lease.token, "/renew"), { duration_ms: Math.round(ttlMs) }, limit));
        if (isOver(answer)) throw lost(lease.name, "the server says that the lease is over");
        if (answer.status !== 200) throw answer.failure();
        lease.expiresAtMs = expiryOf(answer.body);
        lease._confirm(sentAtMs, ttlMs);
    }

    /** The events of one connection. Rejects with NoAnswer when it breaks or ends. */
    async *#stream(path, after, signal, patience) {
        const headers = { Accept: "text/event-stream", ...(after !== undefined && { "Last-Event-ID": String(after) }) };
        const limit = new Deadline(this.timeoutMs, signal);
        try {
            const response = await this.#request(path, { headers, signal: limit.signal });
            if (response.status !== 200) {
                const answer = new Answer(response.status, await this.#json(response, limit.signal));
                throw answer.isTemporary ? new NoAnswer(answer.reason) : answer.failure();
            }
            patience.reset();
            const reader = response.body.getReader();
            const decoder = new TextDecoder();
            for (let text = ""; ; ) {
                limit.restart(EVENTS_SILENCE_MAX_MS);
                const { done, value } = await reader.read().catch((error) => {
                    throw this.#explain(error, limit.signal);
                });
                if (done) throw new NoAnswer(`${this.#server} ended the stream`);
                const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
                text = blocks.pop();
                yield* blocks.map(readEvent).filter(Boolean);
            }
        } finally {
            limit.abort();
        }
    }
}

const modeOf = (shared) => (shared ? "shared" : undefined);

const isSuperseded = ({ reason }) => reason === "REQUEST_SUPERSEDED" || reason === "RequestSuperseded";

/** Whether to ask again: the server cancelled the request, or keeps our place in the queue. */
function isToBeAskedAgain({ reason }, untilMs) {
    if (["CANCELLED", "Cancelled", "STILL_WAITING", "StillWaiting"].includes(reason)) return true;
    return ["WAIT_TIMED_OUT", "WaitTimedOut"].includes(reason) && clock() < untilMs;
}

function refusal(answer, lockName) {
    const { body, reason } = answer;
    const retryAfterMs = body.recommended_retry_ms;
    if (reason === "HELD" || reason === "LockHeld") {
        const holder = body.current_owner_id ?? body.holder;
        const expiresAtMs = body.current_expiry_ms ?? Date.parse(body.expires_at);
        return new LockHeld(`${lockName} is held by ${holder}`, { lockName, holder, expiresAtMs, retryAfterMs });
    }
    if (reason === "WAIT_TIMED_OUT" || reason === "WaitTimedOut") {
        return new WaitTimedOut(`${lockName} was not to be had in time`, { lockName, retryAfterMs });
    }
    if (reason === "LIMIT_MISMATCH") {
        return new BadRequest(`the semaphore ${lockName} has another limit`, { status: 409 });
    }
    return answer.failure();
}

/** An event of the text between two blank lines, if there is one. */
function readEvent(block) {
    const fields = {};
    for (const line of block.split("\n")) {
        const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
        if (name) fields[name] = value;
    }
    if (fields.data === undefined) return undefined;
    const id = fields.id === undefined ? undefined : Number(fields.id);
    return { id, kind: fields.event ?? "message", data: JSON.parse(fields.data) };
}
