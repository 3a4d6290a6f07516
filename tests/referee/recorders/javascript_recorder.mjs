// A client of the SDK for JavaScript. Arguments: server, file of the token, name, seed (not used: JavaScript has no random numbers with
// a seed), the beginning of the run in nanoseconds, the folder of the SDK.
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [server, tokenFile, name, , start, sdk] = process.argv.slice(2);
const { Client, LockHeld } = await import(`${sdk}/holdfast.mjs`);

let next = 0;
let owner = name;

const write = (line) => writeSync(1, `${JSON.stringify({ ...line, at_ns: 0 }).replace('"at_ns":0', `"at_ns":${process.hrtime.bigint()}`)}\n`);
const below = (limit) => Math.floor(Math.random() * limit);

function invoke(kind, scope, more) {
    next += 1;
    write({ event: "invoked", op: next, client: owner, door: "javascript", kind, scopes: [scope], owner, ...more });
    return next;
}

const end = (op, outcome, answer) => write({ event: outcome, op, ...answer });

async function cycle(client) {
    const scope = `sdk${(process.hrtime.bigint() - BigInt(start)) / 4_000_000_000n}-${below(3)}`;
    const shared = below(4) === 0;
    const waitMs = [0, 500, 2000][below(3)];
    const began = performance.now();
    let op = invoke("acquire", scope, { ttl_ms: 2000, wait_ms: Math.max(waitMs, 1), shared });
    let lock;
    try {
        lock = await client.lock(scope, { ttlMs: 2000, waitMs, shared });
    } catch (error) {
        // The SDK asks again when there is no answer. If that took long, the first request may have been granted, and its lease may
        // have ended since: then the refusal does not say that there was no effect.
        const isPrompt = performance.now() - began < waitMs + 1000;
        if (error instanceof LockHeld && isPrompt) end(op, "refused", { holder: error.holder ?? "" });
        else end(op, "unknown", { text: String(error) });
        return;
    }
    const { token } = lock.lease;
    const number = Number(lock.fencingToken);
    end(op, "ok", { granted_token: token, number });
    for (let step = below(8); step > 0; step -= 1) {
        await sleep(below(600));
        op = invoke("look", scope);
        if (lock.locked()) end(op, "ok", { holder: owner, number });
        else end(op, "failed");
    }
    op = invoke("release", scope, { token });
    const isLost = !lock.locked();
    try {
        await lock.release();
        end(op, isLost ? "unknown" : "ok");
    } catch (error) {
        end(op, "unknown", { text: String(error) });
    }
}

for (let life = 1; ; life += 1) {
    owner = `${name}-${life}`;
    const client = new Client({ servers: server, tokenFile, owner, timeoutMs: 2000, retryForMs: 3000 });
    await cycle(client);
    await sleep(10 + below(90));
}
