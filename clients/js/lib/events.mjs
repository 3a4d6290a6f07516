// What happens at a server: its events, and the leader of an election, who is the holder of a lock.

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
        lockName: data.resource ?? data.lock_name,
        lockKind: data.kind,
        owner: data.owner_id,
        fencingToken: data.fencing_token,
        metadata: data.metadata ?? "",
        atMs: data.at_ms,
        data,
    };
}

/**
 * The events of locks whose names begin with the prefix. When the connection breaks, they go on after the last one.
 * Whenever a stream begins, there is an event of the kind `open` first. Ends when the signal aborts.
 */
async function* follow(exchange, { prefix, after, signal }) {
    const path = "/v1/events" + (prefix ? `?prefix=${encodeURIComponent(prefix)}` : "");
    const patience = new Patience(exchange.retryForMs, signal);
    while (!signal?.aborted) {
        const headers = { Accept: "text/event-stream", ...(after !== undefined && { "Last-Event-ID": String(after) }) };
        const reader = new EventReader();
        const beganAtMs = clock();
        let isOpen = false;
        try {
            for await (const piece of exchange.stream({ path, headers, silenceMs: SILENCE_MAX_MS, signal })) {
                if (!isOpen) yield { kind: "open" };
                isOpen = true;
                for (const event of reader.read(piece)) {
                    after = event.id ?? after;
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

export async function* watch(exchange, options) {
    for await (const event of follow(exchange, options)) {
        if (event.kind !== "open") yield event;
    }
}

/** The leader that the server shows, or null. */
async function look(exchange, election, signal) {
    const path = `/v1/locks/${encodeURIComponent(election)}?kind=named`;
    const lock = await exchange.askFor({ method: "GET", path, signal });
    if (!lock.held) return null;
    return { candidate: lock.owner_id, value: lock.metadata ?? "", fencingToken: lock.fencing_token };
}

/** The leader after an event. The event may be older than the leader that is known: fencing tokens show that. */
function leaderAfter(event, leader, highest) {
    if (event.kind === "granted" && event.fencingToken > highest) {
        return { candidate: event.owner, value: event.metadata, fencingToken: event.fencingToken };
    }
    const isEnd = event.kind === "released" || event.kind === "expired";
    return isEnd && event.fencingToken === leader?.fencingToken ? null : leader;
}

/** The leader of an election now, or null, and after every change. Ends when the signal aborts. */
export async function* observe(exchange, election, signal) {
    let leader;
    let highest = 0;
    for await (const event of follow(exchange, { prefix: election, signal })) {
        const before = leader;
        if (event.kind === "open" || event.kind === "gap") {
            leader = await look(exchange, election, signal).catch((failure) => {
                if (!signal?.aborted) throw failure;
                return leader;
            });
        } else if (event.lockName === election && event.lockKind === "named") {
            leader = leaderAfter(event, leader, highest);
        }
        highest = Math.max(highest, leader?.fencingToken ?? 0);
        const isSame = before !== undefined && before?.fencingToken === leader?.fencingToken;
        if (!isSame && leader !== undefined) yield leader;
    }
}
