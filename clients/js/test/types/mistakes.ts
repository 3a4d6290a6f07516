// Mistakes that the types find: every line that ends in "mistake" must be an error, and no other line.

import { Client, Lease, Lock } from "holdfast";
import { Exchange } from "holdfast"; // mistake
import { clock } from "holdfast/lib/time.mjs"; // mistake

const client = new Client();
new Client({ server: "x" }); // mistake
new Client({ timeoutMs: "10" }); // mistake
new Lease(); // mistake
new Lock("x"); // mistake
client.owner = "another"; // mistake

export async function makeMistakes(): Promise<void> {
    await client.withLock("x"); // mistake
    await client.withLock("x", {}); // mistake
    await client.withLock("x", { ttl: 30 }, () => {}); // mistake
    await client.withLock(7, () => {}); // mistake
    await client.lock({ kind: "planet", name: "x" }); // mistake
    await client.lock("x", { signal: new AbortController() }); // mistake
    await client.acquire("x", { onLost: () => {} }); // mistake
    await client.tryLock("x", { waitMs: 5 }); // mistake
    await client.lock(["a", { scope: "b", mode: "mine" }]); // mistake
    await client.lock(["a", { scope: "b", ttlMs: 5 }]); // mistake
    await client.lock("x", { onDeadlock: "hope" }); // mistake
    await (await client.lock("x")).setValue("v"); // mistake
    await (await client.campaign("x")).setValue(7); // mistake
    for await (const entry of client.history({ since: "yesterday" })) console.log(entry); // mistake
    (await client.tryLock("x")).check(); // mistake
    const lock = new Lock(client, "x");
    lock.signal.throwIfAborted(); // mistake
    await client.passFence("bucket", lock); // mistake
    await client.passFence("bucket", "34"); // mistake
    const highest: number = await client.getFence("bucket"); // mistake
    await client.renew("token"); // mistake
    for (const lease of client.leases()) console.log(lease); // mistake
    for await (const lease of client.leases()) console.log(lease.token); // mistake
    for await (const leader of client.observe("town")) console.log(leader.candidate); // mistake
    client.get("x"); // mistake
    console.log(clock, Exchange, highest);
}
