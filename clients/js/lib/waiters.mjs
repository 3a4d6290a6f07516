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

/** A block whose work runs. One user at a time has its waiter: a request, or what that was granted. */
class Block {
    #isBusy = false;
    #isOver = false;
    #onFree;

    constructor(identity) {
        this.identity = identity;
    }

    /** Whether the waiter was free. It is taken then. */
    take() {
        if (this.#isBusy || this.#isOver) return false;
        this.#isBusy = true;
        return true;
    }

    free() {
        this.#isBusy = false;
        this.#onFree?.();
    }

    /** What the work has left running does not belong to the block any more. */
    end() {
        this.#isOver = true;
    }

    /** Calls back when nobody has the waiter. */
    whenFree(work) {
        if (this.#isBusy) this.#onFree = work;
        else work();
    }
}

/** Who waits for a lock, and then holds it. */
class Waiter {
    #around; // the block whose waiter this is, if it is that of a block
    #inside; // the block that this waiter has made of its lock

    constructor(identity, around) {
        this.identity = identity;
        this.#around = around;
    }

    /** Runs the work of a block whose lock was granted to this waiter. */
    async run(blocks, work) {
        this.#inside = new Block(this.identity);
        try {
            return await blocks.run(this.#inside, work);
        } finally {
            this.#inside.end();
        }
    }

    /** The lock was given back, or not granted. A lock that the work of the block has left behind is still held. */
    end() {
        const around = this.#around;
        this.#around = undefined;
        if (!around) return;
        if (this.#inside) this.#inside.whenFree(() => around.free());
        else around.free();
    }
}

export class Waiters {
    #blocks = new AsyncLocalStorage(); // the innermost block of the code that runs

    /** The waiter of the next request. REQUIRES: `end()` is called when what it was granted has been given back. */
    begin(given) {
        if (given !== undefined) return new Waiter(given);
        const around = this.#blocks.getStore();
        return around?.take() ? new Waiter(around.identity, around) : new Waiter(randomUUID());
    }

    run(waiter, work) {
        return waiter.run(this.#blocks, work);
    }
}
