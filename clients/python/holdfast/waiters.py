"""Who waits. The server looks for deadlocks among waiters: each request names one, and so does the lease that it is
granted. Two requests may name the same waiter only if the second waits with all that the first was granted.

Code inside a block (`with lock:`) is such a case: the block cannot end while its code waits. So the requests of a
thread, or task, that is inside a block have the waiter of the block. A guard or lease without a block may be given to
another thread, which releases it while the first one waits. So it has a waiter of its own, unless the program names one
(`waiter=`). In doubt, a deadlock is not noticed; a request that is only slow is not refused.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
import weakref
from typing import List, Optional, Tuple


class Chain:
    """A block and the blocks inside it, as one waiter."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.is_lent = False  # a guard without a block has this identity, too: nobody may wait under it meanwhile
        self.process = os.getpid()

    def is_usable(self) -> bool:
        """False also in a child after fork(): the blocks are its parent's."""
        return not self.is_lent and self.process == os.getpid()


Place = Tuple[List[Chain], Chain]


class Waiters:
    """The chains of one client. `_blocks` is the list of the thread, or task, that asks: the innermost block last."""

    def chain(self, given: Optional[str]) -> Chain:
        """That of the next request. The program may have given an identity."""
        if given is not None:
            return Chain(given)
        blocks = self._blocks()
        return blocks[-1] if blocks and blocks[-1].is_usable() else Chain(uuid.uuid4().hex)

    def enter(self, identity: str) -> Optional[Place]:
        """A block begins whose lease was granted to this waiter. The result is for leave()."""
        if not identity:
            return None
        blocks = self._blocks()
        chain = blocks[-1] if blocks and blocks[-1].identity == identity else Chain(identity)
        blocks.append(chain)
        return blocks, chain

    @staticmethod
    def leave(place: Optional[Place]) -> None:
        """The block ends, perhaps in another thread than it began in."""
        if place is None:
            return
        blocks, chain = place
        for index in range(len(blocks) - 1, -1, -1):
            if blocks[index] is chain:
                del blocks[index]
                return

    def _blocks(self) -> List[Chain]:
        raise NotImplementedError


class ThreadWaiters(Waiters):
    def __init__(self) -> None:
        self._local = threading.local()

    def _blocks(self) -> List[Chain]:
        blocks: Optional[List[Chain]] = getattr(self._local, "blocks", None)
        if blocks is None:
            blocks = self._local.blocks = []
        return blocks


class TaskWaiters(Waiters):
    """A task that begins inside a block does not belong to the block: both may wait at the same time."""

    def __init__(self) -> None:
        self._of_task: weakref.WeakKeyDictionary[asyncio.Task[object], List[Chain]] = weakref.WeakKeyDictionary()

    def _blocks(self) -> List[Chain]:
        task = asyncio.current_task()
        return [] if task is None else self._of_task.setdefault(task, [])
