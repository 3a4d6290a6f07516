// Time: a clock that nobody can set, pauses, and time limits that a signal of the program can cut short.

import { uptime } from "node:os";

const TIMER_MAX_MS = 2 ** 31 - 1; // a longer timer would fire at once

/**
 * A clock, in milliseconds, of two: `awake` is precise, but stands still while the machine sleeps; `boot` goes on, but
 * may lag behind by its coarse steps. What `boot` is ahead of `awake` grows by the time that the machine slept.
 */
export function makeClock(awake, boot) {
    let aheadMs = -Infinity;
    return () => {
        const nowMs = awake();
        aheadMs = Math.max(aheadMs, boot() - nowMs);
        return nowMs + aheadMs;
    };
}

const awakeMs = () => performance.now();

/** Milliseconds since a moment in the past. On Linux, the clock goes on while the machine sleeps. */
export const clock = process.platform === "linux" ? makeClock(awakeMs, () => uptime() * 1000) : awakeMs;

export const startTimer = (work, delayMs) => setTimeout(work, Math.min(Math.max(Math.ceil(delayMs), 0), TIMER_MAX_MS));

/** Resolves after a time; rejects with the signal's reason when the signal aborts. */
export function sleep(durationMs, signal) {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = startTimer(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, durationMs);
        signal?.addEventListener("abort", stop, { once: true });
    });
}

/**
 * A signal that aborts with `makeReason()` after a time, or when another signal aborts, with the reason of that one.
 * REQUIRES: `done()` is called in the end.
 */
export class Deadline {
    #controller = new AbortController();
    #outer;
    #makeReason;
    #timer;
    #stop = () => this.#controller.abort(this.#outer.reason);

    constructor(timeoutMs, makeReason, outer) {
        this.#outer = outer;
        this.#makeReason = makeReason;
        if (outer?.aborted) this.#stop();
        outer?.addEventListener("abort", this.#stop, { once: true });
        this.restart(timeoutMs);
    }

    get signal() {
        return this.#controller.signal;
    }

    pause() {
        clearTimeout(this.#timer);
    }

    restart(timeoutMs) {
        this.pause();
        this.#timer = startTimer(() => this.#controller.abort(this.#makeReason(timeoutMs)), timeoutMs);
    }

    done() {
        this.pause();
        this.#outer?.removeEventListener("abort", this.#stop);
    }
}
