// Leases, and how they are renewed and given back.

import { Patience } from "./patience.mjs";
import { readScopes, scopeText } from "./scope.mjs";
import { clock } from "./time.mjs";
import { NoAnswer } from "./transport.mjs";

const RELEASE_TIMEOUT_MIN_MS = 1000; // the lease may last for longer than the client can be sure of

const marginOf = (ttlMs) => Math.min(5000, ttlMs / 6);
const leasePath = (token, action = "") => `/v1/leases/${encodeURIComponent(token)}${action}`;

/**
 * The right to hold a lock until a deadline. It is not renewed by itself; that of a `Lock` is.
 *
 * The client measures by its own clock how long it can be sure of the lease: from *before* the last confirmed request
 * was sent, and less a margin of min(5 s, TTL / 6).
 */
export class Lease {
    #token;
    #untilMs = -Infinity; // the server ends the lease no earlier, by our clock
    #marginMs = 0;

    /** REQUIRES: the answer is a success. Throws NotHoldfast if it is no lease. */
    constructor(answer, name) {
        const { token, scope, holder, mode, fencing_token, metadata, acquired_at } = answer.body;
        if (typeof token !== "string" || !Number.isSafeInteger(fencing_token)) throw answer.toForeign("no lease");
        this.#token = token;
        this.scopes = readScopes(answer.body);
        this.name = name ?? nameOf(answer.body);
        this.scope = scope;
        this.owner = holder;
        this.mode = mode;
        this.fencingToken = fencing_token;
        this.metadata = metadata ?? "";
        this.acquiredAtMs = Date.parse(acquired_at);
        this._update(answer);
    }

    /** Proves that a client holds the lease. Secret, so neither console.log nor JSON.stringify shows it. */
    get token() {
        return this.#token;
    }

    /** How long nobody else can have the lock, judged by the clock of this machine alone; 0 if that is not known. */
    get guaranteedForMs() {
        return Math.max(this.#untilMs - this.#marginMs - clock(), 0);
    }

    isGuaranteed() {
        return this.guaranteedForMs > 0;
    }

    /** When the server may end the lease, by `clock()`. */
    get _untilMs() {
        return this.#untilMs;
    }

    _update(answer) {
        if (!Number.isFinite(answer.body.ttl_ms)) throw answer.toForeign("no lease");
        this.ttlMs = answer.body.ttl_ms;
        this.expiresAtMs = Date.parse(answer.body.expires_at);
        this._showValue(answer.body);
    }

    /** An answer may be older than one that came before it. */
    _showValue({ value = "", revision = 0 }) {
        if (revision < this.revision) return;
        this.value = value;
        this.revision = revision;
    }

    /** The request that granted or renewed the lease was sent at this time, so that the TTL began no earlier. */
    _confirm(sentAtMs) {
        this.#untilMs = sentAtMs + this.ttlMs;
        this.#marginMs = marginOf(this.ttlMs);
    }

    /** A request for this TTL is being sent. It may make the lease shorter, also if its answer is lost. */
    _expect(sentAtMs, ttlMs) {
        if (sentAtMs + ttlMs >= this.#untilMs) return;
        this.#untilMs = sentAtMs + ttlMs;
        this.#marginMs = marginOf(ttlMs);
    }
}

/** Asks once. Rejects with NoAnswer, or with LockLost if the lease has ended. Returns when the request was sent. */
export async function renewOnce(exchange, lease, { ttlMs = lease.ttlMs, timeoutMs, signal }) {
    const sentAtMs = clock();
    lease._expect(sentAtMs, ttlMs);
    const answer = await exchange.askOnce({
        method: "POST",
        path: leasePath(lease.token, "/renew"),
        body: { ttl_ms: Math.round(ttlMs) },
        timeoutMs: Math.min(timeoutMs ?? Infinity, exchange.timeoutMs),
        signal,
    });
    if (!answer.isSuccess) throw answer.toError(lease.name);
    lease._update(answer);
    lease._confirm(sentAtMs);
    return sentAtMs;
}

export async function renew(exchange, lease, options) {
    const patience = new Patience(exchange.retryForMs, options.signal);
    for (;;) {
        try {
            await renewOnce(exchange, lease, options);
            return lease;
        } catch (problem) {
            await patience.pause(problem);
        }
    }
}

/**
 * False if the lease had ended before. If an answer was lost and the repetition finds no lease, the lease counts as
 * released. There is no use in trying for longer than the lease can last.
 */
export async function release(exchange, lease, { signal } = {}) {
    const leftMs = () => lease._untilMs - clock();
    const patience = new Patience(Math.min(exchange.retryForMs, Math.max(leftMs(), 0)), signal);
    for (let mayBeDone = false; ; ) {
        try {
            const answer = await exchange.askOnce({
                method: "DELETE",
                path: leasePath(lease.token),
                timeoutMs: Math.min(exchange.timeoutMs, Math.max(leftMs(), RELEASE_TIMEOUT_MIN_MS)),
                signal,
            });
            if (answer.isOver) return mayBeDone;
            if (!answer.isSuccess) throw answer.toError(lease.name);
            return true;
        } catch (problem) {
            if (problem instanceof NoAnswer) mayBeDone ||= problem.mayHaveEffect;
            await patience.pause(problem);
        }
    }
}

/** Changes the value of a candidacy. Rejects with LockLost if the lease has ended. */
export async function setValue(exchange, lease, value, { signal } = {}) {
    const path = leasePath(lease.token, "/value");
    lease._showValue(await exchange.askFor({ method: "PUT", path, body: { value }, signal }, lease.name));
}

/** The lease of this token, as the server shows it. It is guaranteed only after a renewal. */
export async function findLease(exchange, token, { signal } = {}) {
    const answer = await exchange.ask({ method: "GET", path: leasePath(token), signal });
    if (!answer.isSuccess) throw answer.toError("this token");
    return new Lease(answer);
}

const nameOf = (body) =>
    body.scopes?.length > 1 ? readScopes(body).map(({ scope }) => scope).join(", ") : scopeText(body.scope);

const readCommon = (body) => ({
    name: nameOf(body),
    scope: body.scope,
    scopes: readScopes(body),
    owner: body.holder,
    mode: body.mode,
    fencingToken: body.fencing_token,
    metadata: body.metadata ?? "",
    acquiredAtMs: Date.parse(body.acquired_at),
    door: body.door,
});

/** A lease of a listing, which has no token. */
export const readListed = (body) => ({
    ...readCommon(body),
    value: body.value ?? "",
    revision: body.revision ?? 0,
    expiresAtMs: Date.parse(body.expires_at),
    ttlMs: body.ttl_ms,
});

/** A lease that has ended. */
export const readEnded = (body) => ({
    ...readCommon(body),
    waitedMs: body.waited_ms,
    endedAtMs: Date.parse(body.ended_at),
    ended: body.ended,
    grantedBy: body.granted_by ?? "",
    endedBy: body.ended_by ?? "",
});
