// Requests and answers. A request without an answer is repeated, at the next address of the server, and so is one that
// is answered "not now" (503).

import { readFileSync } from "node:fs";

import { notHoldfast, readAnswer } from "./answer.mjs";
import { HoldfastError, ServerUnavailable } from "./errors.mjs";
import { Patience } from "./patience.mjs";
import { Deadline } from "./time.mjs";
import { NoAnswer } from "./transport.mjs";

const ANSWER_LENGTH_MAX = 64 * 1024 * 1024;

const silence = (address) => (timeoutMs) => new NoAnswer(`${address.text}: no answer in ${Math.round(timeoutMs)} ms`);

/** The server's secret: a text, or the first line of a file, which is read again when the server refuses it. */
export class Secret {
    #text;
    #file;

    constructor({ token, tokenFile }) {
        this.#text = token;
        this.#file = token === undefined ? tokenFile : undefined;
        if (this.#file) this.#text = this.#read();
    }

    get text() {
        return this.#text;
    }

    /** Whether there is another secret than the one that was sent. */
    isNewerThan(sent) {
        if (!this.#file) return false;
        try {
            this.#text = this.#read();
        } catch {
            return false; // the file is just being replaced
        }
        return this.#text !== sent;
    }

    #read() {
        return readFileSync(this.#file, "utf8").split("\n", 1)[0].trim();
    }
}

export class Exchange {
    #addresses;
    #current = 0;
    #secret;

    constructor(addresses, secret, { timeoutMs, retryForMs }) {
        this.#addresses = addresses;
        this.#secret = secret;
        this.timeoutMs = timeoutMs;
        this.retryForMs = retryForMs;
    }

    /**
     * Asks until there is an answer. Rejects with ServerUnavailable if there is none for `retryForMs`. A request that
     * is not repeatable is sent again only if it certainly had no effect.
     */
    async ask(ask) {
        const patience = new Patience(this.retryForMs, ask.signal);
        for (;;) {
            try {
                return await this.askOnce(ask);
            } catch (problem) {
                const mayHaveEffect = problem instanceof NoAnswer && problem.mayHaveEffect;
                if (mayHaveEffect && ask.isRepeatable === false) throw new ServerUnavailable(problem.message);
                await patience.pause(problem);
            }
        }
    }

    /** The body of a success; rejects with the error for a refusal. */
    async askFor(ask, lockName) {
        const answer = await this.ask(ask);
        if (!answer.isSuccess) throw answer.toError(lockName);
        return answer.body;
    }

    /**
     * Asks once: one address or, while there is no connection, one after the other. Rejects with NoAnswer; then the
     * next request begins at the next address. `onSent` is called when the request may have an effect from now on.
     */
    async askOnce(ask) {
        for (let tried = 1; ; ++tried) {
            const address = this.#addresses[this.#current];
            try {
                return await this.#askAt(address, ask);
            } catch (problem) {
                if (!(problem instanceof NoAnswer)) throw problem;
                this.#turnFrom(address);
                if (!problem.isUnreachable || tried === this.#addresses.length) throw problem;
            }
        }
    }

    /**
     * The pieces of a response without an end; the first one is empty, and comes when the server has agreed. Rejects
     * with NoAnswer when the response ends, breaks, or is silent for too long.
     */
    async *stream({ path, headers, silenceMs, signal }) {
        const address = this.#addresses[this.#current];
        const limit = new Deadline(this.timeoutMs, silence(address), signal);
        let response;
        try {
            response = await this.#send(address, { method: "GET", path, headers, isRepeatable: false }, limit.signal);
            if (response.statusCode !== 200) throw (await this.#read(address, response, limit.signal)).toError();
            if (!response.headers["content-type"]?.startsWith("text/event-stream")) {
                throw notHoldfast(address, "it has no events");
            }
            response.setEncoding("utf8");
            limit.pause(); // the program takes its time
            yield "";
            limit.restart(silenceMs);
            for await (const piece of response) {
                limit.pause();
                yield piece;
                limit.restart(silenceMs);
            }
            throw new Error("the server ended the stream");
        } catch (error) {
            const problem = isOurs(error) ? error : address.explain(error, limit.signal);
            if (problem instanceof NoAnswer) this.#turnFrom(address);
            throw problem;
        } finally {
            limit.done();
            response?.destroy();
        }
    }

    async #askAt(address, { timeoutMs = this.timeoutMs, signal, ...ask }) {
        const limit = new Deadline(timeoutMs, silence(address), signal);
        try {
            return await this.#read(address, await this.#send(address, ask, limit.signal), limit.signal);
        } finally {
            limit.done();
        }
    }

    /** A response; a secret that was replaced meanwhile is read again. */
    async #send(address, ask, signal) {
        const sent = this.#secret.text;
        const response = await this.#sendWith(sent, address, ask, signal);
        if (response.statusCode !== 401 || !this.#secret.isNewerThan(sent)) return response;
        response.resume();
        return this.#sendWith(this.#secret.text, address, ask, signal);
    }

    #sendWith(secret, address, { method, path, headers, body, isRepeatable = true, onSent }, signal) {
        return address.send({
            method,
            path,
            headers: {
                ...headers,
                ...(secret && { Authorization: `Bearer ${secret}` }),
                ...(body && { "Content-Type": "application/json" }),
            },
            body: body && JSON.stringify(body),
            connectMs: this.timeoutMs,
            isAlone: !isRepeatable, // an idle connection may be closed by the server at this moment
            onSent,
            signal,
        });
    }

    async #read(address, response, signal) {
        let text = "";
        try {
            response.setEncoding("utf8");
            for await (const piece of response) {
                text += piece;
                if (text.length > ANSWER_LENGTH_MAX) throw notHoldfast(address, "the answer has no end");
            }
        } catch (error) {
            throw isOurs(error) ? error : address.explain(error, signal);
        }
        return readAnswer(address, response, text);
    }

    /** Once, however many requests fail at the same time. */
    #turnFrom(address) {
        if (this.#addresses[this.#current] === address) this.#current = (this.#current + 1) % this.#addresses.length;
    }
}

const isOurs = (error) => error instanceof NoAnswer || error instanceof HoldfastError;
