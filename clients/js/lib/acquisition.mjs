// One attempt to get a lease, from the first request to the grant or the refusal.
//
// All its requests have the same id, so that the server does them once. While an answer is missing, nobody knows
// whether we hold the lease. To stop then takes one more request, and a release if the lease was granted.

import { randomUUID } from "node:crypto";

import { held } from "./answer.mjs";
import { HoldfastError, LockLost, WaitTimedOut } from "./errors.mjs";
import { Lease, release, renew } from "./lease.mjs";
import { Patience } from "./patience.mjs";
import { shortText } from "./scope.mjs";
import { clock, Deadline, sleep } from "./time.mjs";
import { NoAnswer } from "./transport.mjs";

const ANSWER_MAX_MS = 600_000; // the server answers after this time at the latest; to wait longer, we ask again
const ENDLESS_MS = 365 * 86_400_000; // to the server, a wait of this length has no end
const ABANDON_MAX_MS = 3000;
const ABANDON_ATTEMPT_MS = 1000;
const ABANDON_PAUSE_MS = 100;

export class Acquisition {
    #exchange;
    #name;
    #fields; // of every request
    #waitMs;
    #signal;
    #hasOwnId; // the program gave none, so the id is ours, and no earlier request had it
    #sentAtMs; // the first request with this id
    #untilMs;
    #patience;
    #mayHold = false; // perhaps we have the lease, or a place in the queue

    /** `fields` are those of the request; it has a `request_id` if the program gave one. */
    constructor(exchange, name, fields, { waitMs, signal }) {
        this.#exchange = exchange;
        this.#name = name;
        this.#fields = fields;
        this.#waitMs = Math.min(waitMs, ENDLESS_MS);
        this.#signal = signal;
        this.#hasOwnId = fields.request_id === undefined;
        this.#patience = new Patience(exchange.retryForMs, signal);
    }

    /** The lease. Rejects with LockHeld or WaitTimedOut, or with the signal's reason; then nothing is held. */
    async run() {
        this.#signal?.throwIfAborted();
        this.#beginAnew();
        this.#untilMs = this.#sentAtMs + this.#waitMs;
        try {
            for (;;) {
                const lease = await this.#attempt();
                this.#signal?.throwIfAborted();
                if (lease) return lease;
            }
        } catch (error) {
            if (this.#signal?.aborted && this.#mayHold) await this.#abandon();
            throw error;
        }
    }

    #beginAnew() {
        if (this.#hasOwnId) this.#fields.request_id = randomUUID();
        this.#sentAtMs = clock();
    }

    get #leftMs() {
        if (this.#waitMs === ENDLESS_MS) return ENDLESS_MS;
        return Math.max(Math.ceil(this.#untilMs - clock()), 0);
    }

    #ask(waitMs, limits) {
        const body = { ...this.#fields, wait_ms: waitMs };
        return this.#exchange.askOnce({ method: "POST", path: "/v1/leases", body, ...limits });
    }

    /** The lease; nothing if the request is to be repeated. */
    async #attempt() {
        const waitMs = this.#leftMs;
        const timeoutMs = this.#exchange.timeoutMs + Math.min(waitMs, ANSWER_MAX_MS);
        const mightHold = this.#mayHold;
        const onSent = () => (this.#mayHold = true);
        let answer;
        try {
            answer = await this.#ask(waitMs, { timeoutMs, signal: this.#signal, onSent });
        } catch (problem) {
            if (problem instanceof NoAnswer && !problem.mayHaveEffect) this.#mayHold = mightHold;
            await this.#patience.pause(problem);
            return undefined;
        }
        if (answer.code !== "Cancelled") this.#patience.reset();
        this.#mayHold = answer.isSuccess || answer.code === "StillWaiting"; // repeated in time, it keeps its place
        if (answer.isSuccess) return this.#accept(answer);
        return this.#refuse(answer, waitMs);
    }

    /**
     * If the answer took long, or the id is not ours, we do not know when the lease began. Then it is renewed, because
     * a renewal tells how long it lasts.
     */
    async #accept(answer) {
        const lease = new Lease(answer, this.#name);
        lease._confirm(this.#sentAtMs);
        if (this.#hasOwnId && clock() - this.#sentAtMs < lease.ttlMs / 3) return lease;
        try {
            return await renew(this.#exchange, lease, { ttlMs: this.#fields.ttl_ms, signal: this.#signal });
        } catch (error) {
            if (!(error instanceof LockLost) || !this.#hasOwnId) throw error;
            this.#beginAnew(); // the lease has ended already
            return undefined;
        }
    }

    /** Throws the error for a refusal, unless the request is to be repeated. */
    async #refuse(answer, waitMs) {
        if (answer.code === "StillWaiting") return;
        if (answer.code === "Cancelled") return this.#patience.pause(new NoAnswer("the server cancelled the wait"));
        if (answer.code === "RequestEnded" && this.#hasOwnId) return this.#beginAnew();
        // A wait that was too long does not say who holds the lock; the same request without a wait does.
        if (answer.code === "WaitTimedOut" && waitMs > 0 && !answer.body.holder) return;
        const isWaitOver = answer.code === "WaitTimedOut" || (answer.code === "LockHeld" && this.#waitMs > 0);
        const name = this.#inTheWay(answer);
        throw isWaitOver ? held(WaitTimedOut, name, answer.body) : answer.toError(name);
    }

    /** What was asked for; of a set, the member that is in the way, if the server names it. */
    #inTheWay({ body }) {
        return this.#fields.scopes && body.scope ? shortText(body.scope) : this.#name;
    }

    /** The same request without a wait either finds the lease that was granted, or leaves the queue. */
    async #abandon() {
        const limit = new Deadline(ABANDON_MAX_MS, () => new NoAnswer("given up"));
        const { signal } = limit;
        while (!signal.aborted) {
            try {
                const answer = await this.#ask(0, { timeoutMs: ABANDON_ATTEMPT_MS, signal });
                if (answer.isSuccess) await release(this.#exchange, new Lease(answer, this.#name), { signal });
                break;
            } catch (problem) {
                if (problem instanceof HoldfastError) break;
                await sleep(ABANDON_PAUSE_MS, signal).catch(() => {});
            }
        }
        limit.done();
    }
}
