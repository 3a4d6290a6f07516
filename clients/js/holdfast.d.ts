/// <reference lib="esnext.disposable" />

// What holdfast.mjs exports. Times are milliseconds; `expiresAtMs` is since 1970, by the server's clock.

export class HoldfastError extends Error {}
export class LockHeld extends HoldfastError {
    readonly lockName: string;
    readonly holder?: string;
    readonly expiresAtMs?: number;
    readonly retryAfterMs?: number;
}
export class WaitTimedOut extends LockHeld {}
export class LockLost extends HoldfastError {
    readonly lockName: string;
    readonly reason: string;
}
export class StaleFence extends HoldfastError {
    readonly resource: string;
    readonly fencingToken: number;
    readonly highest: number;
}
export class ScopeMismatch extends HoldfastError {
    readonly scope: ScopeObject;
}
export class Unauthorized extends HoldfastError {}
export class Forbidden extends HoldfastError {}
export class BadRequest extends HoldfastError {
    readonly status: number;
}
export class ServerUnavailable extends HoldfastError {}

export type Mode = "exclusive" | "shared";

export type ScopeObject =
    | { kind: "named" | "semaphore"; name: string }
    | { kind: "path"; path: string }
    | { kind: "inode"; inode: number }
    | { kind: "range"; inode: number; start: number; end?: number };

/** An object, or its text: `"range:7:0-4096"`. Numbers of 2^53 and above need the text. */
export type Scope = string | ScopeObject;

export interface AcquireOptions {
    /** How long the lease lasts; 30 s if not given. */
    ttlMs?: number;
    /** How long to wait in the server's queue; Infinity is without an end. */
    waitMs?: number;
    /** Holds together with others that are shared. */
    shared?: boolean;
    /** More than 1: a semaphore of so many permits. Not for scopes. */
    limit?: number;
    /** Shown with the lease, at most 1024 bytes. */
    metadata?: string;
    /** Ends the wait; what may have been granted meanwhile is given back. */
    signal?: AbortSignal;
}

export interface LockOptions extends AcquireOptions {
    /** Called once, when the lock is lost. */
    onLost?: (loss: LockLost) => void;
}

export interface RetryOptions extends Omit<AcquireOptions, "waitMs"> {
    maxRetries?: number;
    minRetryMs?: number;
    maxRetryMs?: number;
    jitter?: number;
    maxTotalWaitMs?: number;
}

export interface ClientOptions {
    /** A URL, or unix:/run/holdfast.sock; $HOLDFAST_SERVER, or http://127.0.0.1:8080. */
    server?: string;
    token?: string;
    /** The secret is its first line; $HOLDFAST_TOKEN_FILE. Read again when the server has a new one. */
    tokenFile?: string;
    /** How long to wait for one answer, beyond the time the server was asked to wait for a lock. */
    timeoutMs?: number;
    /** How long to ask again when there is none. */
    retryForMs?: number;
    /** Who we are; made up if not given. */
    owner?: string;
    /** Instead of the global one, for example one that trusts other certificates. */
    fetch?: typeof globalThis.fetch;
    /** A wait is asked for anew, and keeps its place in the queue, when one fetch has taken so long: 120 s. */
    fetchMaxMs?: number;
}

/** A lock that is ours for a while. Nobody renews it but you. */
export class Lease {
    private constructor();
    readonly name: string;
    readonly owner: string;
    readonly fencingToken: number;
    readonly ttlMs: number;
    readonly expiresAtMs: number;
    /** By `performance.now()`. */
    readonly guaranteedUntilMs: number;
    readonly mode: Mode;
    readonly metadata: string;
    readonly leaseId?: string;
    readonly token?: string;
    readonly scope?: ScopeObject;
    readonly endMs: number;
    isGuaranteed(): boolean;
}

/** A lock that renews itself while it is held, and tells when it is lost. */
export class Lock {
    private constructor();
    readonly lease: Lease;
    readonly name: string;
    readonly fencingToken: number;
    /** Aborts, with the LockLost as its reason, when the lock is lost. */
    readonly signal: AbortSignal;
    isHeld(): boolean;
    /** Throws LockLost unless the lock is certainly ours now. */
    check(): void;
    /** Gives the lock back, once. False if it was over already. */
    release(): Promise<boolean>;
    /** The same for `await using`, where that exists; a server that cannot be told is no error. */
    [Symbol.asyncDispose](): Promise<void>;
}

export interface LockEvent {
    readonly id?: number;
    /** `granted`, `renewed`, `released`, `expired`, `queued` ...; `gap` if some are missing. */
    readonly kind: string;
    readonly data: Record<string, unknown>;
}

type Shown = Record<string, any>;

export class Client {
    constructor(options?: ClientOptions);
    readonly owner: string;
    readonly timeoutMs: number;
    readonly retryForMs: number;
    readonly fetchMaxMs: number;

    withLock<T>(name: string, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T>;
    withLease<T>(scope: Scope, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T>;
    lock(name: string, options?: LockOptions): Promise<Lock>;
    tryLock(name: string, options?: Omit<LockOptions, "waitMs">): Promise<Lock | null>;
    lease(scope: Scope, options?: LockOptions): Promise<Lock>;

    acquire(name: string, options?: AcquireOptions): Promise<Lease>;
    acquireWithRetry(name: string, options?: RetryOptions): Promise<Lease>;
    acquireLease(scope: Scope, options?: AcquireOptions): Promise<Lease>;
    renew(lease: Lease, ttlMs?: number): Promise<Lease>;
    release(lease: Lease): Promise<boolean>;

    get(name: string, options?: { queue?: boolean }): Promise<Shown>;
    list(prefix?: string, options?: { pageSize?: number }): AsyncGenerator<Shown>;
    leases(options?: {
        kind?: string;
        holder?: string;
        inode?: number;
        path?: string;
        pageSize?: number;
    }): AsyncGenerator<Shown>;
    getLease(token: string): Promise<Shown>;
    forceRelease(name: string): Promise<number>;

    fence(resource: string, token: number | Lease | Lock): Promise<number>;
    getFence(resource: string): Promise<number | null>;
    dropFence(resource: string): Promise<void>;
    check(token: string | Lease | Lock, scope: Scope): Promise<Shown>;

    events(options?: { prefix?: string; after?: number; signal?: AbortSignal }): AsyncGenerator<LockEvent>;
}
