// What holdfast.mjs exports. Times are milliseconds. `expiresAtMs`, `acquiredAtMs` and `atMs` are since 1970, by the
// server's clock, and for people only.

declare global {
    // For compilers whose libraries do not have it yet.
    interface SymbolConstructor {
        readonly asyncDispose: unique symbol;
    }
}

/** The base of all errors of this client. A signal rejects with its own reason, a senseless argument with TypeError. */
export class HoldfastError extends Error {}
/** Somebody else holds the lock. */
export class LockHeld extends HoldfastError {
    readonly lockName: string;
    readonly holder?: string;
    readonly expiresAtMs?: number;
    readonly retryAfterMs?: number;
}
/** Somebody else held the lock until the end of the wait. */
export class WaitTimedOut extends LockHeld {}
/** Nothing was acquired, because the wait would be a deadlock. Release what you hold, and begin anew. */
export class DeadlockError extends HoldfastError {
    readonly lockName: string;
    /** All who wait for each other. The last one waits for something of the first. */
    readonly cycle: readonly CycleMember[];
}
/** The lease has ended, or may have ended: stop the work that it protects. */
export class LockLost extends HoldfastError {
    readonly lockName: string;
    readonly reason: string;
}
/** The resource was used under a larger fencing token before: do not write. */
export class StaleFence extends HoldfastError {
    readonly resource: string;
    readonly fencingToken: number;
    readonly highest: number;
}
/** The token is that of a live lease, but of one on another scope, or of a shared one. */
export class ScopeMismatch extends HoldfastError {
    readonly scope: ScopeObject;
}
/** The server's secret is missing, or wrong. */
export class Unauthorized extends HoldfastError {}
/** The secret does not give the right to do this. */
export class Forbidden extends HoldfastError {
    /** `read`, `lock` or `admin`. Undefined if the server does not tell: then the request needs the admin's secret. */
    readonly right?: string;
    /** What the right is missing on; `*` is everything. */
    readonly on?: string;
}
/** The server does not understand the request, or will never do it. */
export class BadRequest extends HoldfastError {
    readonly status: number;
    readonly code: string;
}
/** The server cannot be reached, does not answer in time, or cannot write to its disk. */
export class ServerUnavailable extends HoldfastError {}
/** The answer did not come from a Holdfast server. */
export class NotHoldfast extends HoldfastError {}

export type Mode = "exclusive" | "shared";

export type ScopeObject =
    | { kind: "named" | "semaphore"; name: string }
    | { kind: "path"; path: string }
    | { kind: "inode"; inode: number }
    | { kind: "range"; inode: number; start: number; end?: number };

/**
 * `"nightly-backup"`, `"named:x"`, `"path:/x"`, `"inode:7"`, `"range:7:0-4096"`, `"semaphore:x"`, or the object that
 * the server shows. A text that begins with no known kind is a name. Numbers of 2^53 and above need the text.
 */
export type Scope = string | ScopeObject;

/** One of several scopes that are locked together. Without a mode, that of the request. */
export interface SetMember {
    scope: Scope;
    mode?: Mode;
    /** Above 1: the name is a semaphore with so many permits. */
    limit?: number;
}

/** A scope, or a list: one lease on all of them, or on none. */
export type Scopes = Scope | SetMember | readonly (Scope | SetMember)[];

/** `holder` waits for `waitsFor`, which `heldBy`, the next member of the cycle, holds or is ahead for. */
export type CycleMember =
    | {
          readonly isHidden: false;
          readonly holder: string;
          readonly waiter?: string;
          readonly door?: string;
          readonly waitsFor: string;
          readonly heldBy: string;
          readonly fencingToken?: number;
      }
    /** Of locks that we may not read. */
    | { readonly isHidden: true };

/** What becomes of a wait that would be a deadlock: a DeadlockError, or a wait until somebody else gives way. */
export type OnDeadlock = "refuse" | "wait";

export interface SignalOptions {
    /** Ends the call, which rejects with the signal's reason. An iterator ends without an error. */
    signal?: AbortSignal;
}

export interface WaitOptions extends SignalOptions {
    /** How long to wait in the server's queue: without an end if not given, not at all if 0. */
    waitMs?: number;
}

export interface AcquireOptions extends WaitOptions {
    /** How long the lease lasts, unless it is renewed; 30 s if not given. */
    ttlMs?: number;
    /** Holds together with others that are shared. */
    shared?: boolean;
    /** Above 1: the name is a semaphore, which has this many holders at most at the same time. */
    limit?: number;
    /** Shown with the lease; at most 1024 bytes. */
    metadata?: string;
    /** Requests of one owner with the same id have the effect of one: a program that restarts finds its lease. */
    requestId?: string;
    /** Instead of the client's. */
    owner?: string;
    /** `refuse` if not given. */
    onDeadlock?: OnDeadlock;
    /** Who waits, for the server's search for deadlocks. If not given: the `withLock` around the call, or a new one. */
    waiter?: string;
}

export interface RetryOptions
    extends SignalOptions, Pick<AcquireOptions, "ttlMs" | "shared" | "limit" | "metadata" | "owner" | "waiter"> {
    /** How often the request is repeated; 50 if not given. */
    maxRetries?: number;
    /** The bounds of the pauses, which the server recommends; 25 and 1000 if not given. */
    minRetryMs?: number;
    maxRetryMs?: number;
    /** Each pause is longer or shorter by up to this share of it; 0.2 if not given. */
    jitter?: number;
    /** No attempt begins later. */
    maxTotalWaitMs?: number;
}

export interface HeartbeatOptions extends SignalOptions {
    /** Called once, when the lease is lost. */
    onLost?: (loss: LockLost) => void;
}

export interface LockOptions extends AcquireOptions {
    /** Called once, when the lock is lost. */
    onLost?: (loss: LockLost) => void;
}

export interface CampaignOptions extends WaitOptions {
    /** Who stands for election; the owner of the client if not given. */
    candidate?: string;
    /** What others are told of the leader: its address, for example. */
    value?: string;
    /** How long nobody leads when the leader fails; 30 s if not given. */
    ttlMs?: number;
    onDeadlock?: OnDeadlock;
    waiter?: string;
    onLost?: (loss: LockLost) => void;
}

export interface Leader {
    readonly candidate: string;
    readonly value: string;
    /** Larger than that of every earlier leader. */
    readonly fencingToken: number;
    /** Grows with every change of the value while this candidate leads; 0 if there was never one. */
    readonly revision: number;
}

export interface ClientOptions {
    /**
     * The addresses of one server: a list, or a text separated by commas. `http://`, `https://`, `host:port` or
     * `unix:/run/holdfast.sock`. If not given: $HOLDFAST_SERVER, or http://127.0.0.1:8080.
     */
    servers?: string | readonly string[];
    /** The server's secret; $HOLDFAST_TOKEN. */
    token?: string;
    /** A file with the secret in its first line, read again when it is refused; $HOLDFAST_TOKEN_FILE. */
    tokenFile?: string;
    /** The trusted certificates, instead of Node's; $HOLDFAST_CA_FILE. */
    caFile?: string;
    /** How long to wait for one answer, beyond the time that the server may wait for a lock; 10 s. */
    timeoutMs?: number;
    /** How long a request without an answer is repeated; 10 s. */
    retryForMs?: number;
    /** The name of this client; host, process and chance if not given. */
    owner?: string;
}

/** The right to hold a lock until a deadline. It is not renewed by itself; that of a `Lock` is. */
export class Lease {
    private constructor();
    /** The lock, as a text. */
    readonly name: string;
    /** Of a set: the first one. */
    readonly scope: ScopeObject;
    /** All scopes of the lease, as texts, with their modes. */
    readonly scopes: readonly { readonly scope: string; readonly mode: Mode }[];
    readonly owner: string;
    readonly mode: Mode;
    readonly fencingToken: number;
    readonly ttlMs: number;
    readonly metadata: string;
    /** Of a candidacy. */
    readonly value: string;
    /** Grows with every change of the value; 0 if there was never one. */
    readonly revision: number;
    readonly acquiredAtMs: number;
    readonly expiresAtMs: number;
    /** Proves that a client holds the lease. Secret: neither console.log nor JSON.stringify shows it. */
    readonly token: string;
    /** How long nobody else can have the lock, judged by the clock of this machine; 0 if that is not known. */
    readonly guaranteedForMs: number;
    isGuaranteed(): boolean;
}

/** A lease as everybody may see it. */
export type ListedLease = Omit<Lease, "token" | "guaranteedForMs" | "isGuaranteed"> & { readonly door: string };

/** A lease that has ended. */
export type EndedLease = Pick<
    ListedLease,
    "name" | "scope" | "scopes" | "owner" | "mode" | "fencingToken" | "metadata" | "acquiredAtMs" | "door"
> & {
    readonly waitedMs: number;
    readonly endedAtMs: number;
    readonly ended: "released" | "expired" | "forced" | "session" | "restart";
    /** Who has asked for the grant and for the end: an access token, or a door and an address; "" if nobody is known. */
    readonly grantedBy: string;
    readonly endedBy: string;
};

/** A lock, to be acquired and released as often as needed. While it is held, it renews itself. */
export class Lock {
    /** Takes nothing yet. */
    constructor(client: Client, scope: Scopes, options?: LockOptions);
    readonly name: string;
    /** The lease as last renewed; undefined before the first one, like the next two. */
    readonly lease: Lease | undefined;
    /** Larger than that of every grant before: pass it on with every write. */
    readonly fencingToken: number | undefined;
    /** Aborts, with the LockLost as its reason, when the lock is lost. Every acquisition has a signal of its own. */
    readonly signal: AbortSignal | undefined;
    acquire(options?: WaitOptions): Promise<HeldLock>;
    /** Whether the lock is certainly ours now. */
    locked(): boolean;
    /** Throws LockLost unless the lock is certainly ours now. */
    check(): void;
    /** Gives the lock back. False if it was lost, or not held. Further calls do nothing. */
    release(options?: SignalOptions): Promise<boolean>;
    /** The same for `await using`, where the runtime has it. A server that cannot be told is no error then. */
    [Symbol.asyncDispose](): Promise<void>;
}

/** A lock that was acquired, and so has had a lease. */
export type HeldLock = Lock & { readonly lease: Lease; readonly fencingToken: number; readonly signal: AbortSignal };

/** The lead in an election: a lock with a value that others see. */
export class Leadership extends Lock {
    private constructor();
    readonly value: string;
    /** Grows with every change of the value; 0 if there was never one. */
    readonly revision: number;
    /** Changes what others see. Rejects with LockLost if we do not lead any more. */
    setValue(value: string, options?: SignalOptions): Promise<void>;
}

/** A leadership that was acquired, and so has had a lease. */
export type HeldLeadership = Leadership & HeldLock;

export interface LockEvent {
    /** Grows with every event. Absent for a gap. */
    readonly id?: number;
    /** `granted`, `renewed`, `value_set`, `released`, `expired`, `deadlock` ...; `gap` if events are missing. */
    readonly kind: string;
    /** Or the resource of a fence. */
    readonly lockName?: string;
    readonly lockKind?: string;
    readonly owner?: string;
    readonly fencingToken?: number;
    readonly metadata: string;
    readonly atMs?: number;
    /** All that the server tells of the event. */
    readonly data: Record<string, unknown>;
}

export interface LeaseFilters extends SignalOptions {
    kind?: ScopeObject["kind"];
    holder?: string;
    inode?: number;
    path?: string;
    pageSize?: number;
}

export interface HistoryFilters extends SignalOptions {
    scope?: Scope;
    /** Of the names of the locks. */
    prefix?: string;
    owner?: string;
    /** Milliseconds since 1970, or a Date. */
    since?: number | Date;
    until?: number | Date;
    pageSize?: number;
}

export interface WatchOptions extends SignalOptions {
    /** Of the names of the locks. */
    prefix?: string;
    /** The id of the last event that is known already. */
    after?: number;
}

export interface AskOptions extends SignalOptions {
    body?: object;
    /** Whether the request may be sent again without harm; true for a GET. */
    isRepeatable?: boolean;
}

type Work<T> = (lock: HeldLock) => Promise<T> | T;

/** Talks to one Holdfast server, which may have several addresses. Any number of calls may be under way at once. */
export class Client {
    constructor(options?: ClientOptions);
    readonly owner: string;

    /**
     * Runs the work while the lock is held, and returns its result. Rejects with LockLost if the lock was lost, and with
     * ServerUnavailable if the server does not answer to the release.
     */
    withLock<T>(scope: Scopes, work: Work<T>): Promise<T>;
    withLock<T>(scope: Scopes, options: LockOptions, work: Work<T>): Promise<T>;
    /** A lock that is held. */
    lock(scope: Scopes, options?: LockOptions): Promise<HeldLock>;
    /** A lock that is held, or null if somebody else holds it. Does not wait. */
    tryLock(scope: Scopes, options?: Omit<LockOptions, "waitMs">): Promise<HeldLock | null>;

    acquire(scope: Scopes, options?: AcquireOptions): Promise<Lease>;
    /** The lease lasts for `ttlMs`, or its old TTL, from now on. Rejects with LockLost if it has ended. */
    renew(lease: Lease, options?: { ttlMs?: number } & SignalOptions): Promise<Lease>;
    /** False if the lease had ended before. */
    release(lease: Lease, options?: SignalOptions): Promise<boolean>;
    /**
     * Acquires a lease by repeated requests, without a place in the queue. Rejects with the last LockHeld. Nothing renews
     * the lease until `startHeartbeat`.
     */
    acquireWithRetry(scope: Scopes, options?: RetryOptions): Promise<Lease>;
    /** Renews a lease, now and from now on. Rejects with LockLost if it has ended. */
    startHeartbeat(lease: Lease, options?: HeartbeatOptions): Promise<HeldLock>;
    /**
     * Gives back a lease together with its heartbeat, or a lock. For a `finally`: it may be called again, and with nothing.
     * False if there was nothing to give back. A lock, or a lease with a heartbeat, gives the same answer each time.
     */
    releaseOnce(held: Lease | Lock | null | undefined, options?: SignalOptions): Promise<boolean>;
    /** The lease of this token. It is guaranteed only after a renewal. Rejects with LockLost if there is none. */
    getLease(token: string, options?: SignalOptions): Promise<Lease>;
    /** All live leases of the server, the oldest first. */
    leases(filters?: LeaseFilters): AsyncGenerator<ListedLease, void, undefined>;
    /** The leases that have ended, the newest first, as the server remembers them. */
    history(filters?: HistoryFilters): AsyncGenerator<EndedLease, void, undefined>;
    /** Ends every lease on a lock, whoever has it, and tells how many there were. An admin's; sent once. */
    forceRelease(scope: Scope, options?: SignalOptions): Promise<number>;

    /** Before every use of a resource that cannot compare fencing tokens itself. Rejects with StaleFence. */
    passFence(resource: string, held: number | Lease | HeldLock, options?: SignalOptions): Promise<number>;
    /** The largest fencing token that was used for the resource, or null. */
    getFence(resource: string, options?: SignalOptions): Promise<number | null>;
    /** Forgets the resource. An admin's; sent once. */
    dropFence(resource: string, options?: SignalOptions): Promise<void>;
    /** The lease of this token, if it covers the scope. Rejects with LockLost or ScopeMismatch. */
    check(
        held: string | Lease | HeldLock,
        scope: Scope,
        options?: { shared?: boolean } & SignalOptions,
    ): Promise<Lease>;

    /** Waits until the candidate leads. It leads while the lock is held, and resigns by releasing the lock. */
    campaign(election: string, options?: CampaignOptions): Promise<HeldLeadership>;
    /** The leader now, or null, and after every change of the leader or its value. */
    observe(election: string, options?: SignalOptions): AsyncGenerator<Leader | null, void, undefined>;

    watch(options?: WatchOptions): AsyncGenerator<LockEvent, void, undefined>;
    /** Any other request, with the server's own answer, whatever its status. */
    ask(method: string, path: string, options?: AskOptions): Promise<{ status: number; body: Record<string, unknown> }>;
}
