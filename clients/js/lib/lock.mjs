// Locks that renew themselves while they are held, and tell the program when they are lost.

import { HoldfastError, LockLost } from "./errors.mjs";
import { checked, checkedValue, LOCK, SIGNAL_ONLY, WAITING } from "./options.mjs";
import { wanted } from "./scope.mjs";
import { clock, startTimer } from "./time.mjs";

const TICK_MAX_MS = 1000; // the clock goes on while the machine is asleep, and timers do not
const RENEWAL_TIMEOUT_MIN_MS = 50;

/**
 * One lease that is being renewed: every third of the TTL, and four times as often after a failure. It is held, then
 * lost or let go, and stays so.
 */
class Hold {
    #client;
    #onLost;
    #controller = new AbortController();
    #renewal = new AbortController(); // ends the renewal that waits for an answer
    #renewAtMs;
    #timer;
    #isOver = false;
    #problem = "";
    #isEnded = false; // the server says that the lease has ended
    #released;
    loss;

    constructor(client, lease, onLost) {
        this.#client = client;
        this.#onLost = onLost;
        this.lease = lease;
        this.#renewAtMs = lease._untilMs - lease.ttlMs + lease.ttlMs / 3;
        this.#tick();
    }

    get signal() {
        return this.#controller.signal;
    }

    get isLetGo() {
        return this.#released !== undefined;
    }

    /** Looks at the clock, so that the answer is right also in a process that was stopped and continues. */
    isHeld() {
        if (this.#isOver) return false;
        if (this.lease.isGuaranteed()) return true;
        this.#lose("no renewal was confirmed in time" + this.#problem);
        return false;
    }

    /** Releases the lease, once; again only if that failed. False if it was lost. */
    letGo(options) {
        this.isHeld(); // notices a loss
        this.#end();
        this.#released ??= this.#release(options).catch((problem) => {
            this.#released = undefined;
            throw problem;
        });
        return this.#released;
    }

    async #release(options) {
        if (!this.loss) return this.#client.release(this.lease, options);
        if (this.#isEnded) return false;
        try {
            await this.#client.release(this.lease, options); // perhaps the server still has it
        } catch (problem) {
            if (!(problem instanceof HoldfastError)) throw problem;
        }
        return false;
    }

    #end() {
        this.#isOver = true;
        clearTimeout(this.#timer);
        this.#renewal.abort();
    }

    #tick() {
        clearTimeout(this.#timer);
        if (!this.isHeld()) return;
        if (clock() >= this.#renewAtMs) this.#renew();
        const delayMs = Math.min(this.#renewAtMs - clock(), this.lease.guaranteedForMs, TICK_MAX_MS);
        this.#timer = startTimer(() => this.#tick(), Math.max(delayMs, 1));
        this.#timer.unref(); // a lock does not keep the process alive
    }

    /** A renewal may take half of the time that is left, so that there is time for another one. */
    async #renew() {
        this.#renewAtMs = Infinity; // one at a time
        const { lease } = this;
        const timeoutMs = Math.max(lease.guaranteedForMs / 2, RENEWAL_TIMEOUT_MIN_MS);
        try {
            const sentAtMs = await this.#client._renewOnce(lease, { timeoutMs, signal: this.#renewal.signal });
            this.#problem = "";
            this.#renewAtMs = sentAtMs + lease.ttlMs / 3;
        } catch (problem) {
            if (problem instanceof LockLost) {
                this.#isEnded = true;
                return this.#lose(problem.reason);
            }
            this.#problem = ` (${problem.message})`;
            this.#renewAtMs = clock() + lease.ttlMs / 12;
        }
        if (!this.#isOver) this.#tick();
    }

    #lose(reason) {
        if (this.#isOver) return;
        this.#end();
        this.loss = new LockLost(this.lease.name, reason);
        this.#controller.abort(this.loss);
        if (this.#onLost) queueMicrotask(() => this.#onLost(this.loss));
    }
}

/**
 * A lock of the server, to be acquired and released as often as needed. While it is held, it renews itself. A lock that
 * is lost stays lost until it is acquired anew.
 */
export class Lock {
    #client;
    #scope;
    #options;
    #hold;
    #isAcquiring = false;
    #waiter;

    /** Takes nothing yet. Throws a TypeError if the options make no sense. */
    constructor(client, scope, options = {}) {
        this.#options = checked(options, LOCK);
        this.name = wanted(scope, this.#options).name;
        this.#client = client;
        this.#scope = scope;
    }

    /** A lock that is held by a lease from elsewhere, and renews it from now on. */
    static _over(client, lease, onLost) {
        const { owner, ttlMs, metadata } = lease;
        const lock = new Lock(client, lease.scopes, { owner, ttlMs, metadata, onLost });
        lock.#hold = new Hold(client, lease, onLost);
        return lock;
    }

    /** Waits in the server's queue for `waitMs`, or without an end. Resolves with this lock. */
    async acquire(options = {}) {
        const { onLost, waiter, ...request } = { ...this.#options, ...checked(options, WAITING) };
        if (this.#isAcquiring || this.locked()) {
            throw new HoldfastError(`this object already has ${this.name}, or waits for it: use one for each holder`);
        }
        this.#isAcquiring = true;
        try {
            if (this.#hold && !this.#hold.isLetGo) await this.release();
            this.#waiter = this.#client._waiters.begin(waiter);
            const lease = await this.#client._acquire(this.#scope, { ...request, ...this._candidacy }, this.#waiter);
            this.#hold = new Hold(this.#client, lease, onLost);
        } finally {
            this.#isAcquiring = false;
        }
        return this;
    }

    /** Whether the lock is certainly ours now. */
    locked() {
        return this.#hold?.isHeld() ?? false;
    }

    /** Throws LockLost unless the lock is certainly ours now. */
    check() {
        if (this.locked()) return;
        throw this.#hold?.loss ?? new LockLost(this.name, this.#hold ? "it was released" : "it was not acquired");
    }

    /** Releases the lock. False if it was lost, or not held. Further calls do nothing. */
    async release(options = {}) {
        const isReleased = (await this.#hold?.letGo(options)) ?? false;
        this.#waiter?.end();
        return isReleased;
    }

    /** What a request has besides the options. */
    get _candidacy() {
        return {};
    }

    /** Runs the work while the lock is held, as one block. */
    _run(work) {
        return this.#client._waiters.run(this.#waiter, work);
    }

    /** The lease as last renewed; undefined before the first one. */
    get lease() {
        return this.#hold?.lease;
    }

    /** Larger than that of every grant before: pass it on with every write. */
    get fencingToken() {
        return this.#hold?.lease.fencingToken;
    }

    /** Aborts, with the LockLost as its reason, when the lock is lost. Every acquisition has a signal of its own. */
    get signal() {
        return this.#hold?.signal;
    }

    /** At the end of a block the lock is given back. If the server cannot be told, the lease ends by itself. */
    async _dispose() {
        try {
            await this.release();
        } catch (problem) {
            if (!(problem instanceof HoldfastError)) throw problem;
        }
    }
}

/** The lead in an election: a lock with a value that others see, for example an address. */
export class Leadership extends Lock {
    #client;
    #value;
    #setting = Promise.resolve(); // the last change

    constructor(client, election, value, options) {
        super(client, `named:${election}`, options);
        this.#client = client;
        this.#value = value;
    }

    /** What others see. */
    get value() {
        return this.lease?.value ?? this.#value;
    }

    /** Grows with every change of the value; 0 if there was never one. */
    get revision() {
        return this.lease?.revision ?? 0;
    }

    /**
     * Changes what others see; they see it when this resolves. Rejects with LockLost if we do not lead any more.
     * Changes are made one after the other.
     */
    async setValue(value, options = {}) {
        checkedValue(value);
        const limits = checked(options, SIGNAL_ONLY);
        const change = this.#setting.then(() => {
            this.check();
            return this.#client._setValue(this.lease, value, limits);
        });
        this.#setting = change.catch(() => {});
        return change;
    }

    get _candidacy() {
        return { value: this.#value };
    }
}

if (Symbol.asyncDispose) Lock.prototype[Symbol.asyncDispose] = Lock.prototype._dispose;
