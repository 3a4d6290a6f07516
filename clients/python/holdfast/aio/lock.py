"""Locks of the asyncio client: `Lock` says what to lock, and `LeaseGuard` holds it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from types import TracebackType
from typing import Any, Awaitable, Callable, Coroutine, NamedTuple, Optional, Type, TypeVar, Union, cast

from ..entered import Entered
from ..errors import HoldfastError, LockHeld, LockLost
from ..hold import Guard, Hold
from ..lease import Lease
from ..waiters import Place, Waiters
from ..wire import NoAnswer

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])
G = TypeVar("G", bound="LeaseGuard")
OnLost = Callable[[LockLost], Union[None, Awaitable[None]]]

_log = logging.getLogger("holdfast")


class Keeping(NamedTuple):
    """What a guard needs of its client."""

    renew: Callable[[Lease, float], Coroutine[Any, Any, None]]  # sends one renewal, which may take so many seconds
    release: Callable[[Lease], Coroutine[Any, Any, bool]]
    set_value: Callable[[Lease, str], Coroutine[Any, Any, None]]
    start: Callable[[Coroutine[Any, Any, Any]], asyncio.Future[Any]]  # a task that is kept until its end
    waiters: Waiters


class LeaseGuard(Guard):
    """A lock that is held, and whose lease renews itself, by a task of its own.

    While `is_held()`, nobody else holds the lock. When that ends, `lost` (an asyncio.Event) is set, `on_lost` is called
    (or awaited) with the LockLost, once, and `check()` raises. A lock that is lost stays lost.

    As a context manager it is released at the end of the block. Unless the block raises something else, the end of the
    block raises LockLost if the lock was lost before, and ServerUnavailable if the server did not answer: then nobody
    knows whether the lock was held to the end.
    """

    def __init__(self, keeping: Keeping, lease: Lease, on_lost: Optional[OnLost]) -> None:
        self.lost = asyncio.Event()
        self._keeping = keeping
        self._hold = Hold(lease)
        self._on_lost = on_lost
        self._keeper = asyncio.ensure_future(self._keep())
        self._telling: Optional[asyncio.Future[None]] = None  # the task of on_lost
        self._released: Optional[asyncio.Future[bool]] = None
        self._place: Optional[Place] = None  # among the blocks of a task

    def is_held(self) -> bool:
        if not self._hold.is_over and not self._hold.is_guaranteed():
            self._lose(None)
        return not self._hold.is_over

    async def release(self) -> bool:
        """Gives the lock back. False if the lease had ended before. Further calls do nothing. Waits for `on_lost`, too,
        unless `on_lost` itself calls this.

        Raises ServerUnavailable if the server cannot be told; then the lease ends after its TTL. If the task is
        cancelled meanwhile, the lock is given back nevertheless.
        """
        self.is_held()  # notices a loss
        self._hold.let_go()
        self._keeper.cancel()
        try:
            if self._telling is not None and self._telling is not asyncio.current_task():
                await asyncio.wait({self._telling})
        finally:
            if self._released is None:
                self._released = self._keeping.start(self._keeping.release(self._hold.lease))
        is_released = await asyncio.shield(self._released)
        self._give_back_identity()
        return is_released

    async def __aenter__(self: G) -> G:
        self._give_back_identity()
        self._place = self._keeping.waiters.enter(self.lease.waiter)
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        self._keeping.waiters.leave(self._place)
        loss: Optional[LockLost] = None
        try:
            if not await self.release():
                loss = LockLost(self.name, "it had ended when it was released")
        except HoldfastError as problem:
            if error is None and self._hold.loss is None:
                raise
            _log.warning("%s could not be released. It ends in %.1f s at the latest: %s", self.name, self.lease.ttl,
                         problem)
        loss = self._hold.loss or loss
        if loss is not None and error is None:
            raise loss

    async def _keep(self) -> None:
        """Renews the lease when it is due, and notices the end of the guarantee, also while a renewal hangs."""
        renewal: Optional[asyncio.Future[None]] = None
        try:
            while self.is_held():
                if self._hold.is_due():
                    self._hold.is_renewing = True
                    renewal = asyncio.ensure_future(
                        self._keeping.renew(self._hold.lease, self._hold.renewal_timeout()))
                if renewal is None:
                    await asyncio.sleep(self._hold.next_look())
                    continue
                done, _ = await asyncio.wait({renewal}, timeout=self._hold.next_look())
                if done:
                    self._on_answer(NoAnswer("cancelled") if renewal.cancelled() else renewal.exception())
                    renewal = None
        finally:
            if renewal is not None:
                renewal.cancel()

    def _on_answer(self, problem: Optional[BaseException]) -> None:
        self._hold.is_renewing = False
        if self._hold.is_over:
            return
        if isinstance(problem, LockLost):
            self._lose(problem.reason)
        elif isinstance(problem, Exception):
            self._hold.on_renewal_failed(problem)
        else:
            self._hold.on_renewed()

    def _lose(self, reason: Optional[str]) -> None:
        loss = self._hold.lose(reason)
        self.lost.set()
        if self._on_lost is not None:
            self._telling = self._keeping.start(self._tell(self._on_lost, loss))

    async def _tell(self, on_lost: OnLost, loss: LockLost) -> None:
        try:
            answer = on_lost(loss)
            if answer is not None:
                await answer
        except Exception:
            _log.exception("on_lost of %s failed", self.name)


class Leadership(LeaseGuard):
    """The lead in an election, which ends with the guard. Others see the `value`, for example an address."""

    def __init__(self, keeping: Keeping, lease: Lease, on_lost: Optional[OnLost]) -> None:
        super().__init__(keeping, lease, on_lost)
        self._setting = asyncio.Lock()

    async def set_value(self, value: str) -> None:
        """Changes what others see. It can be seen when this returns. Raises LockLost if we do not lead any more.
        Calls of several tasks are done one after the other."""
        async with self._setting:
            self.check()
            await self._keeping.set_value(self.lease, value)


class Lock:
    """What to lock, and how. Made by `Client.lock`. It can be used again and again, also by many tasks at once:

        async with lock as guard: ...   waits, and gives back at the end of the block
        @lock                           the same around every call of a coroutine function
        await lock.acquire()            waits; returns a LeaseGuard
        await lock.try_acquire()        does not wait; returns a LeaseGuard, or None

    Every use asks for a lease of its own. A lock is not reentrant: to enter it twice is a deadlock.
    """

    def __init__(self, name: str, hold: Callable[[Optional[float], str], Awaitable[LeaseGuard]],
                 wait: Optional[float], waiters: Waiters, waiter: Optional[str]) -> None:
        self.name = name
        self._hold, self._wait = hold, wait
        self._waiters, self._waiter = waiters, waiter
        self._entered: Entered[LeaseGuard] = Entered(name)

    async def acquire(self) -> LeaseGuard:
        """Raises LockHeld or, after a wait, WaitTimedOut; DeadlockError if the wait would be one."""
        return await self._hold_loosely(self._wait)

    async def try_acquire(self) -> Optional[LeaseGuard]:
        """None if somebody else holds the lock."""
        try:
            return await self._hold_loosely(0)
        except LockHeld:
            return None

    @property
    def guard(self) -> LeaseGuard:
        """The guard of the innermost block, or decorated function, that this task is in."""
        return self._entered.innermost(asyncio.current_task())

    async def __aenter__(self) -> LeaseGuard:
        guard = await self._hold(self._wait, self._waiters.chain(self._waiter).identity)
        self._entered.push(asyncio.current_task(), guard)
        return await guard.__aenter__()

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self._entered.pop(asyncio.current_task()).__aexit__(kind, error, traceback)

    def __call__(self, function: F) -> F:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__qualname__} is not a coroutine function: lock it with holdfast.Client")

        @functools.wraps(function)
        async def locked(*arguments: Any, **named: Any) -> Any:
            async with self:
                return await function(*arguments, **named)

        return cast(F, locked)

    async def _hold_loosely(self, wait: Optional[float]) -> LeaseGuard:
        """A guard without a block."""
        chain = self._waiters.chain(self._waiter)
        guard = await self._hold(wait, chain.identity)
        guard._borrow(chain)
        return guard
