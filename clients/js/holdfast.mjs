// A client of Holdfast, the lock server. No dependencies; for Node 18 and later.
//
//     import { Client } from "holdfast";
//
//     const client = new Client();
//     await client.withLock("nightly-backup", async ({ signal, fencingToken }) => {
//         for (const part of parts) await store(part, { fencingToken, signal });
//     });
//
// A lock is a lease: the server takes it back from a holder that stays away for longer than its TTL. A `Lock` renews
// its lease, and knows by a clock of its own how long nobody else can have it. When that time is over, or the server
// says that the lease has ended, `signal` aborts, `onLost` is called and `check()` throws, before the server can give
// the lock to anybody else.
//
// A request without an answer is repeated. An acquire carries an id by which the server knows it: if only its answer
// was lost, the repetition finds the same lease, and nothing is left behind that nobody knows of. A request that could
// do harm when it is done twice is sent once.

export { Client } from "./lib/client.mjs";
export * from "./lib/errors.mjs";
export { Lease } from "./lib/lease.mjs";
export { Leadership, Lock } from "./lib/lock.mjs";
