// How long, and how often, a request without an answer is repeated.

import { ServerUnavailable } from "./errors.mjs";
import { clock, sleep } from "./time.mjs";
import { NoAnswer } from "./transport.mjs";

const RETRY_AFTER_MAX_MS = 1000;
const DELAY_MIN_MS = 50;
const DELAY_MAX_MS = 1000;

/** Decides when a request is repeated: first at once, then after longer and longer pauses, for `retryForMs`. */
export class Patience {
    #retryForMs;
    #signal;
    #untilMs;
    #delayMs = 0;

    constructor(retryForMs, signal) {
        this.#retryForMs = retryForMs;
        this.#signal = signal;
    }

    /** After an answer: time and pauses begin anew. */
    reset() {
        this.extend();
        this.#delayMs = 0;
    }

    /** After an answer that may be of no use: the time begins anew, the pauses stay long. */
    extend() {
        this.#untilMs = undefined;
    }

    /** Sleeps until the next attempt. Throws the problem, in the words of the program, if there must be none. */
    async pause(problem) {
        if (!(problem instanceof NoAnswer)) throw problem;
        const nowMs = clock();
        this.#untilMs ??= nowMs + this.#retryForMs;
        const hintMs = Math.min(problem.retryAfterMs, RETRY_AFTER_MAX_MS);
        const delayMs = Math.max(this.#delayMs * (0.8 + 0.4 * Math.random()), hintMs);
        if (problem.isFinal || nowMs + delayMs >= this.#untilMs) throw new ServerUnavailable(problem.message);
        this.#delayMs = Math.min(Math.max(2 * this.#delayMs, DELAY_MIN_MS), DELAY_MAX_MS);
        await sleep(delayMs, this.#signal);
    }
}
