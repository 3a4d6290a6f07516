// Who waits. The server looks for deadlocks among waiters: each request names one, and so does the lease that it is
// granted. Two requests may name the same waiter only if the second waits with all that the first was granted.
//
// JavaScript has no threads by which to tell waiters apart, and one client serves any number of calls at once: with one
// waiter for each client, calls that merely wait for each other would be refused. But the function of `withLock` cannot
// end while it waits for what it asks for. So requests inside of it, found by AsyncLocalStorage, have the waiter of
// this block. If the function makes two requests at the same time, only the first of them has it. A lock without a
// block may be released by anybody; it has a waiter of its own, unless the program names one (`waiter`). Where the
// context is lost, as in callbacks of some libraries, a request is outside of the block. In doubt, a deadlock is not
// noticed; a request that is only slow is not refused.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

export class Waiters {
    #blocks = new AsyncLocalStorage(); // the innermost block of the code that runs

    /** The waiter of the next request. REQUIRES: `end()` is called when what it was granted has been given back. */
    begin(given) {
        const block = this.#blocks.getStore();
        if (given !== undefined) return { identity: given, end: () => {} };
        if (!block || block.isOver || block.isBusy) return { identity: randomUUID(), end: () => {} };
        block.isBusy = true;
        return { identity: block.identity, end: () => (block.isBusy = false) };
    }

    /** Runs the work of a block whose lock was granted to this waiter. */
    async run(identity, work) {
        const block = { identity, isBusy: false, isOver: false };
        try {
            return await this.#blocks.run(block, work);
        } finally {
            block.isOver = true; // what the work has left running does not belong to it any more
        }
    }
}
