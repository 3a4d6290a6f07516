// What happens at a server: its events, and who leads in an election.

import { parseObject } from "./answer.mjs";
import { NotHoldfast } from "./errors.mjs";
import { Patience } from "./patience.mjs";
import { clock } from "./time.mjs";

const SILENCE_MAX_MS = 45_000; // the server says something every 15 s
const LASTING_MS = 5000; // after a stream of this length, patience begins anew

/** Reads server-sent events from text that comes in pieces. */
export class EventReader {
    #text = "";

    /** The events that the piece completes. */
    read(piece) {
        const blocks = (this.#text + piece).split(/\r?\n\r?\n/);
        this.#text = blocks.pop();
        return blocks.map(readBlock).filter(Boolean);
    }
}

/** The event of the text between two blank lines, if there is one. */
function readBlock(block) {
    const fields = { data: [] };
    for (const line of block.split(/\r?\n/)) {
        const [, name, value] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
        if (name === "data") fields.data.push(value ?? "");
        else if (name) fields[name] = value ?? "";
    }
    if (fields.data.length === 0) return undefined;
    const data = parseObject(fields.data.join("\n"));
    if (!data) throw new NotHoldfast("the events do not come from a Holdfast server: they are no JSON");
    return {
        id: fields.id === undefined ? undefined : Number(fields.id),
        kind: fields.event ?? "message",
        lockName: data.resource ?? data.what ?? data.lock_name,
        lockKind: data.kind,
        owner: data.owner_id,
        fencingToken: data.fencing_token,
        metadata: data.metadata ?? "",
        atMs: data.at_ms,
        data,
    };
}

/**
 * The events of a path. When the connection breaks, they go on after the last one, unless each stream begins anew.
 * Ends when the signal aborts.
 */
async function* follow(exchange, { path, after, beginsAnew = false, signal }) {
    const patience = new Patience(exchange.retryForMs, signal);
    while (!signal?.aborted) {
        const headers = { Accept: "text/event-stream", ...(after !== undefined && { "Last-Event-ID": String(after) }) };
        const reader = new EventReader();
        const beganAtMs = clock();
        let isOpen = false;
        try {
            for await (const piece of exchange.stream({ path, headers, silenceMs: SILENCE_MAX_MS, signal })) {
                isOpen = true;
                for (const event of reader.read(piece)) {
                    if (!beginsAnew) after = event.id ?? after;
                    yield event;
                }
            }
        } catch (problem) {
            if (isOpen) patience.extend();
            if (clock() - beganAtMs > LASTING_MS) patience.reset();
            await patience.pause(problem).catch((failure) => {
                if (!signal?.aborted) throw failure;
            });
        }
    }
}

/** The events of locks whose names begin with the prefix. */
export async function* watch(exchange, { prefix, after, signal }) {
    const path = "/v1/events" + (prefix ? `?prefix=${encodeURIComponent(prefix)}` : "");
    yield* follow(exchange, { path, after, signal });
}

/** The leader that the server tells of, or null. */
function readLeader({ leader: candidate, value = "", fencing_token: fencingToken, revision = 0 }) {
    if (candidate === undefined) return null;
    if (typeof candidate !== "string" || !Number.isSafeInteger(fencingToken)) {
        throw new NotHoldfast("the leader of the election is not told as Holdfast does it");
    }
    return { candidate, value, fencingToken, revision };
}

/**
 * The leader of an election now, or null, and after every change. Each stream begins with the leader of that moment, so
 * nothing is missed when a stream breaks, or the server is restarted. Ends when the signal aborts.
 */
export async function* observe(exchange, election, signal) {
    const path = `/v1/elections/${encodeURIComponent(election)}?watch=true`;
    let told;
    for await (const event of follow(exchange, { path, beginsAnew: true, signal })) {
        if (event.kind !== "leader") continue;
        const leader = readLeader(event.data);
        const text = JSON.stringify(leader);
        if (text === told) continue;
        told = text;
        yield leader;
    }
}
