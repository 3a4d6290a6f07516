// The way to a server: one request, and the response to it, over TCP, TLS or a Unix socket. Connections that are idle
// are used again, and do not keep the process alive.

import http from "node:http";
import https from "node:https";

import { NotHoldfast } from "./errors.mjs";
import { startTimer } from "./time.mjs";

const CONNECT_MAX_MS = 5000;
const IDLE_CONNECTIONS_MAX = 8;
const KEEP_ALIVE_MS = 15_000; // lets the system notice during a long wait that the other side has gone
const SOCKET_PATH_MAX = 107; // bytes; the system allows no more for a Unix socket

/** Why there is no answer. Used only inside of the client: a program sees a ServerUnavailable. */
export class NoAnswer extends Error {
    /** mayHaveEffect: the request may have been done nevertheless. isFinal: asking again would not help. */
    constructor(message, { mayHaveEffect = true, isUnreachable = false, isFinal = false, retryAfterMs = 0 } = {}) {
        super(message);
        Object.assign(this, { mayHaveEffect, isUnreachable, isFinal, retryAfterMs });
    }
}

/** One address of a server: `http://host:port/path`, `https://...`, `host:port` or `unix:/path`. */
export class Address {
    #target; // for node's request()
    #root = "";
    #agent;
    #request = http.request;

    constructor(text, ca) {
        if (text.startsWith("unix:")) {
            this.#target = { socketPath: readSocketPath(text), headers: { Host: "localhost" } };
            this.text = text;
        } else {
            const url = readUrl(text);
            this.#target = { hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: url.port, headers: {} };
            this.#root = url.pathname.replace(/\/+$/, "");
            this.text = url.origin + this.#root;
            if (url.protocol === "https:") {
                this.#request = https.request;
                if (ca) this.#target.ca = ca;
            }
        }
        const { Agent } = this.#request === https.request ? https : http;
        this.#agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS_MAX });
    }

    /**
     * Resolves with the response when its head is there. Rejects with NoAnswer or NotHoldfast, or with the signal's
     * reason. When the signal aborts, also later, the connection is closed. `isAlone`: over a connection of its own.
     * `onSent` is called when there is a connection.
     */
    send({ method, path, headers, body, connectMs, isAlone = false, onSent = () => {}, signal }) {
        return new Promise((resolve, reject) => {
            signal.throwIfAborted();
            const sent = this.#request({
                ...this.#target,
                method,
                path: this.#root + path,
                headers: { ...this.#target.headers, ...headers },
                agent: isAlone ? false : this.#agent,
            });
            const connection = new Connection(sent, connectMs, onSent);
            const stop = () => sent.destroy();
            signal.addEventListener("abort", stop, { once: true });
            sent.on("response", resolve);
            sent.on("error", (error) => reject(this.explain(error, signal, connection)));
            sent.on("close", () => signal.removeEventListener("abort", stop));
            sent.end(body);
        });
    }

    /** What to reject with after an error of the connection. */
    explain(error, signal, { isConnected, isRefused } = { isConnected: true }) {
        if (signal.aborted) return signal.reason;
        if (error.code?.startsWith("HPE_")) return new NotHoldfast(`${this.text} does not speak HTTP: no Holdfast`);
        const message = `${this.text}: ${error.message || error.code}`;
        return new NoAnswer(message, {
            isUnreachable: !isConnected,
            isFinal: isRefused,
            mayHaveEffect: isConnected,
        });
    }
}

/** Knows whether the connection of a request is made, and gives the request up if that takes too long. */
class Connection {
    isConnected = false;
    #socket;

    constructor(sent, connectMs, onConnected) {
        const limitMs = Math.min(connectMs, CONNECT_MAX_MS);
        const timer = startTimer(() => sent.destroy(new Error(`no connection in ${limitMs} ms`)), limitMs);
        const connected = () => {
            clearTimeout(timer);
            this.isConnected = true;
            onConnected();
        };
        sent.once("close", () => clearTimeout(timer));
        sent.once("socket", (socket) => {
            this.#socket = socket;
            if (!socket.connecting) return connected(); // an idle connection
            socket.setKeepAlive(true, KEEP_ALIVE_MS);
            socket.once(socket.encrypted ? "secureConnect" : "connect", connected);
        });
    }

    /** Whether we do not trust the other side's certificate. */
    get isRefused() {
        return Boolean(this.#socket?.authorizationError);
    }
}

function readSocketPath(text) {
    const path = text.slice("unix:".length);
    if (path === "") throw new TypeError(`'${text}' names no socket`);
    if (Buffer.byteLength(path) > SOCKET_PATH_MAX) {
        throw new TypeError(`the path of '${text}' has more than ${SOCKET_PATH_MAX} bytes`);
    }
    return path;
}

function readUrl(text) {
    let url;
    try {
        url = new URL(text.includes("://") ? text : `http://${text}`);
    } catch {
        throw new TypeError(`'${text}' is no address of a server`);
    }
    if (!["http:", "https:"].includes(url.protocol)) {
        throw new TypeError(`'${text}' does not begin with http://, https:// or unix:`);
    }
    if (url.username || url.password || url.search || url.hash) {
        throw new TypeError(`the address of ${url.host} is more than http://HOST:PORT/PATH`);
    }
    return url;
}

/** The addresses that a text separated by commas, or a list, names. */
export function readAddresses(servers, ca) {
    const texts = [servers].flat().flatMap((text) => text.split(",")).map((text) => text.trim()).filter(Boolean);
    if (texts.length === 0) throw new TypeError("no server is named");
    return texts.map((text) => new Address(text, ca));
}
