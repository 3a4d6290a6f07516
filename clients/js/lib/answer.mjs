// What a server says, and the errors that its refusals are for a program.

import {
    BadRequest, DeadlockError, Forbidden, LockHeld, LockLost, NotHoldfast, ScopeMismatch, StaleFence, Unauthorized,
} from "./errors.mjs";
import { shortText } from "./scope.mjs";
import { NoAnswer } from "./transport.mjs";

/** What a server said to a request: a JSON object. */
export class Answer {
    constructor(address, status, body) {
        Object.assign(this, { address, status, body });
    }

    get isSuccess() {
        return this.status === 200;
    }

    /** The code of a refusal: `LockHeld`. */
    get code() {
        return this.isSuccess ? "" : String(this.body.reason ?? this.body.error);
    }

    /** Whether the lease that the request was about has ended. */
    get isOver() {
        return this.code === "LockExpired" || this.code === "LockNotFound";
    }

    /** The error for a refusal. `lockName` is what the request was about. */
    toError(lockName = "") {
        const { body, code, status } = this;
        const message = body.message ?? code;
        if (this.isOver || code === "RequestEnded") return new LockLost(lockName, message);
        if (code === "LockHeld") return held(LockHeld, lockName, body);
        if (code === "Deadlock") return this.#toDeadlock(lockName, message);
        if (code === "LockScopeMismatch") return new ScopeMismatch(message, { scope: body.scope });
        if (code === "StaleFence") {
            const { resource, fencing_token: fencingToken, highest } = body;
            return new StaleFence(`${resource} was used under ${highest} before, which is more than ${fencingToken}`, {
                resource, fencingToken, highest,
            });
        }
        if (status === 401) return new Unauthorized(message);
        if (status === 403) return new Forbidden(message, body);
        if (status === 404 && !["FenceNotFound", "HistoryOff"].includes(code)) return this.toForeign(`404, ${message}`);
        return new BadRequest(message, { status, code });
    }

    #toDeadlock(lockName, message) {
        try {
            return new DeadlockError(lockName, message, this.body.cycle.map(readCycleMember));
        } catch (problem) {
            if (!(problem instanceof TypeError)) throw problem;
            return this.toForeign("a deadlock without its cycle");
        }
    }

    /** The error for an answer that no Holdfast gives. */
    toForeign(what) {
        return notHoldfast(this.address, what);
    }
}

/** One of those who wait for each other. Of a member whose locks we may not read, only that is known. */
function readCycleMember({ hidden = false, holder, waiter, door, waits_for: scope, held_by: heldBy, fencing_token }) {
    if (hidden) return { isHidden: true };
    return { isHidden: false, holder, waiter, door, waitsFor: shortText(scope), heldBy, fencingToken: fencing_token };
}

export function held(Kind, lockName, body) {
    const expiresAtMs = body.expires_at && Date.parse(body.expires_at);
    const details = { lockName, holder: body.holder, expiresAtMs, retryAfterMs: body.retry_after_ms };
    const by = body.holder ? ` by ${body.holder}` : "";
    const text = Kind === LockHeld ? `${lockName} is held${by}` : `${lockName} was held${by} until the end of the wait`;
    return new Kind(text, details);
}

export const notHoldfast = (address, what) =>
    new NotHoldfast(`what answers at ${address.text} is no Holdfast, or one that cannot do this: ${what}`);

/**
 * The answer of a response. Throws NoAnswer if it only says "not now", and NotHoldfast if it is not in the words of
 * Holdfast.
 */
export function readAnswer(address, { statusCode: status, headers }, text) {
    const body = parseObject(text);
    if ([502, 503, 504].includes(status)) {
        const retryAfterMs = 1000 * Number(headers["retry-after"] ?? 0) || 0;
        const message = `${address.text}: ${body?.message ?? body?.error ?? `status ${status}`}`;
        throw new NoAnswer(message, { mayHaveEffect: status !== 503, retryAfterMs });
    }
    const isHoldfasts = body && (status === 200 || typeof (body.error ?? body.reason) === "string");
    if (!isHoldfasts) throw notHoldfast(address, `status ${status} and not its JSON`);
    return new Answer(address, status, body);
}

/** The JSON object of a text; null if it is none. */
export function parseObject(text) {
    try {
        const value = JSON.parse(text);
        return typeof value === "object" && !Array.isArray(value) ? value : null;
    } catch {
        return null;
    }
}
