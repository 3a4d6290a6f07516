// The parts of the client that need no server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReader } from "../lib/events.mjs";
import { scopeText, wantedText } from "../lib/scope.mjs";
import { clock, makeClock } from "../lib/time.mjs";

test("the clock goes on while the machine sleeps, and never back", () => {
    let [awakeMs, bootMs] = [1000, 5000];
    const now = makeClock(() => awakeMs, () => Math.floor(bootMs / 10) * 10);
    const begin = now();
    const pass = (timeMs, sleptMs = 0) => {
        const before = now();
        awakeMs += timeMs;
        bootMs += timeMs + sleptMs;
        return now() - before;
    };
    for (let step = 0; step < 100; ++step) {
        const passedMs = pass(3);
        assert.ok(passedMs >= 3 && passedMs <= 13);
    }
    assert.ok(now() - begin >= 300 && now() - begin <= 310);
    const passedMs = pass(3, 60_000);
    assert.ok(passedMs >= 60_003 - 10 && passedMs <= 60_003 + 10);
    assert.ok(clock() <= clock());
});

test("a scope has one text", () => {
    assert.equal(scopeText({ kind: "range", inode: 7, start: 0, end: 4096 }), "range:7:0-4096");
    assert.equal(scopeText({ kind: "range", inode: 7, start: 4096 }), "range:7:4096-");
    assert.equal(scopeText({ kind: "inode", inode: 0 }), "inode:0");
    assert.equal(scopeText({ kind: "path", path: "/a" }), "path:/a");
    assert.equal(scopeText({ kind: "named", name: "path:/a" }), "named:path:/a");
    assert.equal(wantedText("x", 3), "semaphore:x");
    assert.equal(wantedText("named:x", 3), "semaphore:x");
    assert.equal(wantedText("semaphore:x", 1), "semaphore:x");
    assert.equal(wantedText("x", 1), "x");
    assert.equal(wantedText("unknown:x", 2), "semaphore:unknown:x");
    assert.throws(() => wantedText("inode:7", 2), TypeError);
});

test("events are read however their text is cut", () => {
    const text =
        ': hello\n\nid: 7\nevent: granted\ndata: {"lock_name":"ä","owner_id":"w1","fencing_token":34}\n\n' +
        'event: gap\r\ndata: {}\r\n\r\nid: 8\nevent: fence_refused\ndata: {"resource":"r",\ndata: "at_ms":5}\n\n';
    for (let cut = 0; cut <= text.length; ++cut) {
        const reader = new EventReader();
        const events = [...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))];
        assert.deepEqual(events.map(({ id, kind, lockName }) => [id, kind, lockName]), [
            [7, "granted", "ä"],
            [undefined, "gap", undefined],
            [8, "fence_refused", "r"],
        ]);
        assert.equal(events[0].fencingToken, 34);
        assert.equal(events[2].atMs, 5);
    }
});

test("events that are no JSON are not Holdfast's", () => {
    for (const data of ["<html>", "7", "[]"]) {
        assert.throws(() => new EventReader().read(`data: ${data}\n\n`), { name: "NotHoldfast" }, data);
    }
});
