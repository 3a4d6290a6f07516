// Servers for the tests of the client: the real one, a proxy that loses answers, and one of the test's own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const PATIENCE_MS = 60_000;

export const pause = (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs));

export async function until(isSo, what = "it") {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await isSo())) {
        if (performance.now() > deadline) throw new Error(`${what} never came about`);
        await pause(10);
    }
}

/** `holdfast serve` on a free port; what it holds survives `restart`. */
export class Server {
    constructor(program, flags, scheme) {
        Object.assign(this, { program, flags, scheme });
    }

    static async start(program, flags = [], scheme = "http") {
        const server = new Server(program, flags, scheme);
        server.folder = await mkdtemp(join(tmpdir(), "holdfast-"));
        await server.begin();
        return server;
    }

    async begin() {
        const data = join(this.folder, "data");
        const common = ["serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off", "--data", data];
        this.process = spawn(this.program, [...common, ...this.flags], { stdio: ["ignore", "pipe", "inherit"] });
        const [line] = await once(createInterface(this.process.stdout), "line");
        if (!line.startsWith(`listening ${this.scheme} `)) {
            this.process.kill("SIGKILL");
            throw new Error(`the server said ${line}`);
        }
        this.port = Number(line.split(":").pop());
    }

    get url() {
        return `${this.scheme}://127.0.0.1:${this.port}`;
    }

    signal(name) {
        this.process.kill(name);
    }

    async kill() {
        if (this.process.exitCode !== null || this.process.signalCode !== null) return;
        const ended = once(this.process, "exit");
        this.process.kill("SIGKILL");
        await ended;
    }

    async restart() {
        await this.kill();
        await this.begin();
    }

    /** As `systemctl restart` does it. */
    async restartInGoodOrder() {
        const ended = once(this.process, "exit");
        this.process.kill("SIGTERM");
        await ended;
        await this.begin();
    }

    async end() {
        await this.kill();
        await rm(this.folder, { recursive: true });
    }
}

/**
 * Stands before a server, at an address that stays the same, notes the requests, and loses the answers that it is told
 * to lose. The address is a free port, or the Unix socket `path`.
 */
export class Proxy {
    #toLose = 0;
    #isSilent = false;
    #open = new Set();
    #isCut = false;
    lost = 0;
    bodies = []; // of the requests, as far as they have one

    static async start(server, path) {
        const proxy = new Proxy();
        proxy.listener = net.createServer((client) => proxy.#serve(client, server.port));
        proxy.listener.listen(path ? { path } : { port: 0, host: "127.0.0.1" });
        await once(proxy.listener, "listening");
        proxy.url = path ? `unix:${path}` : `http://127.0.0.1:${proxy.listener.address().port}`;
        return proxy;
    }

    /** The next so many answers of the server arrive here; the client's connection breaks, or nothing is heard. */
    loseAnswers(count, { silently = false } = {}) {
        this.#toLose = count;
        this.#isSilent = silently;
    }

    /** Breaks all connections, and lets none in before `heal`. */
    cut() {
        this.#isCut = true;
        for (const socket of this.#open) socket.destroy();
    }

    heal() {
        this.#isCut = false;
    }

    end() {
        this.listener.close();
        this.cut();
    }

    #serve(client, port) {
        client.on("error", () => {});
        if (this.#isCut) return client.destroy();
        const server = net.connect(port, "127.0.0.1");
        for (const [one, other] of [[client, server], [server, client]]) {
            this.#open.add(one);
            one.on("error", () => {});
            one.on("close", () => {
                this.#open.delete(one);
                other.destroy();
            });
        }
        client.on("data", (data) => {
            const [, body] = String(data).split("\r\n\r\n");
            if (body) this.bodies.push(JSON.parse(body));
            server.write(data);
        });
        server.on("data", (data) => {
            if (this.#toLose === 0) return client.write(data);
            --this.#toLose;
            ++this.lost;
            if (!this.#isSilent) client.destroy();
        });
    }
}

/** A server of the test's own. `answer(request, count)` returns a status, a body, and perhaps headers. */
export class Impostor {
    bodies = [];

    static async start(answer) {
        const impostor = new Impostor();
        let count = 0;
        impostor.listener = http.createServer(async (request, response) => {
            let text = "";
            for await (const piece of request) text += piece;
            impostor.bodies.push(text && JSON.parse(text));
            const [status, body, headers] = await answer(request, ++count);
            response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
        });
        impostor.listener.listen(0, "127.0.0.1");
        await once(impostor.listener, "listening");
        impostor.url = `http://127.0.0.1:${impostor.listener.address().port}`;
        return impostor;
    }

    end() {
        this.listener.closeAllConnections();
        this.listener.close();
    }
}

/** A port where nobody listens. */
export async function deadPort() {
    const listener = net.createServer();
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address();
    listener.close();
    await once(listener, "close");
    return port;
}
