// What can go wrong. A signal of the program rejects with its own reason, and an argument that makes no sense with a
// TypeError; everything else is one of these.

/** The base of all errors of this client. */
export class HoldfastError extends Error {
    constructor(message, details = {}) {
        super(message);
        this.name = new.target.name;
        Object.assign(this, details);
    }
}

/** Somebody else holds the lock: `holder`, until `expiresAtMs`. Asking again makes sense after `retryAfterMs`. */
export class LockHeld extends HoldfastError {}

/** Somebody else held the lock until the end of the wait. */
export class WaitTimedOut extends LockHeld {}

/**
 * To wait for the lock would be a deadlock: its holder waits, perhaps by way of others, for something that we hold.
 * Nothing was acquired. Release what you hold, and begin anew. `cycle` has all who wait for each other.
 */
export class DeadlockError extends HoldfastError {
    constructor(lockName, reason, cycle) {
        super(`to wait for ${lockName} would be a deadlock: ${reason}`, { lockName, cycle });
    }
}

/** The lease has ended, or may have ended: stop the work that it protects. `reason` says why. */
export class LockLost extends HoldfastError {
    constructor(lockName, reason) {
        super(`the lock on ${lockName} is lost: ${reason}`, { lockName, reason });
    }
}

/** The resource was used under a larger fencing token before, `highest`: do not write. */
export class StaleFence extends HoldfastError {}

/** The token is that of a live lease, but of one on another scope, `scope`, or of a shared one. */
export class ScopeMismatch extends HoldfastError {}

/** The server's secret is missing, or wrong. */
export class Unauthorized extends HoldfastError {}

/**
 * The secret is good, but does not give the right to do this: `right` is missing on `on` (`*`: on everything). Both are
 * undefined if the server does not tell: then the request needs the admin's secret.
 */
export class Forbidden extends HoldfastError {
    constructor(message, { right, on } = {}) {
        const isTold = right === undefined || (message.includes(right) && (on === "*" || message.includes(on)));
        const what = on === "*" ? "everything" : on;
        super(isTold ? message : `${message}: the right ${right} on ${what} is missing`, { right, on });
    }
}

/** The server does not understand the request, or will never do it. `status` and `code` are those of its answer. */
export class BadRequest extends HoldfastError {}

/** The server cannot be reached, does not answer in time, or cannot write to its disk. */
export class ServerUnavailable extends HoldfastError {}

/** The answer did not come from a Holdfast server. The message names the address. */
export class NotHoldfast extends HoldfastError {}
