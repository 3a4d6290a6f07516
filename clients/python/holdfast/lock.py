"""Locks of the blocking client: `Lock` says what to lock, and `LeaseGuard` holds it."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import threading
from types import TracebackType
from typing import Any, Callable, NamedTuple, Optional, Type, TypeVar, cast

from .entered import Entered
from .errors import HoldfastError, LockHeld, LockLost
from .heartbeat import Heartbeat, OnLost, WatchedHold
from .hold import Guard
from .lease import Lease
from .waiters import Place, Waiters

F = TypeVar("F", bound=Callable[..., Any])
G = TypeVar("G", bound="LeaseGuard")

_log = logging.getLogger("holdfast")


class Keeping(NamedTuple):
    """What a guard needs of its client."""

    heartbeat: Heartbeat
    release: Callable[[Lease], bool]
    set_value: Callable[[Lease, str], None]
    waiters: Waiters


class LeaseGuard(Guard):
    """A lock that is held, and whose lease renews itself.

    While `is_held()`, nobody else holds the lock. When that ends, `lost` (a threading.Event) is set, `on_lost` is
    called with the LockLost, once, in a thread of its own, and `check()` raises. A lock that is lost stays lost.

    As a context manager it is released at the end of the block. Unless the block raises something else, the end of the
    block raises LockLost if the lock was lost before, and ServerUnavailable if the server did not answer: then nobody
    knows whether the lock was held to the end. May be used by many threads at once.
    """

    _hold: WatchedHold

    def __init__(self, keeping: Keeping, lease: Lease, on_lost: Optional[OnLost]) -> None:
        self._keeping = keeping
        self._hold = WatchedHold(lease, on_lost)
        self._mutex = threading.Lock()
        self._was_released: Optional[bool] = None
        self._process = os.getpid()
        self._place: Optional[Place] = None  # among the blocks of a thread
        keeping.heartbeat.keep(self._hold)

    @property
    def lost(self) -> threading.Event:
        return self._hold.lost

    def is_held(self) -> bool:
        return self._keeping.heartbeat.is_guaranteed(self._hold)

    def release(self) -> bool:
        """Gives the lock back. False if the lease had ended before. Further calls do nothing. Waits for `on_lost`, too,
        unless `on_lost` itself calls this.

        Raises ServerUnavailable if the server cannot be told; then the lease ends after its TTL. In a child after
        fork(), this does nothing: the lock is the parent's.
        """
        if self._process != os.getpid():
            return False
        self._keeping.heartbeat.let_go(self._hold)
        self._hold.wait_for_on_lost()  # without the mutex, which on_lost may need
        with self._mutex:
            if self._was_released is None:
                self._was_released = False
                self._was_released = self._keeping.release(self._hold.lease)
                self._give_back_identity()
            return self._was_released

    def __enter__(self: G) -> G:
        self._give_back_identity()
        self._place = self._keeping.waiters.enter(self.lease.waiter)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self._keeping.waiters.leave(self._place)
        loss: Optional[LockLost] = None
        try:
            if not self.release() and self._process == os.getpid():
                loss = LockLost(self.name, "it had ended when it was released")
        except HoldfastError as problem:
            if error is None and self._hold.loss is None:
                raise
            _log.warning("%s could not be released. It ends in %.1f s at the latest: %s", self.name, self.lease.ttl,
                         problem)
        loss = self._hold.loss or loss
        if loss is not None and error is None:
            raise loss


class Leadership(LeaseGuard):
    """The lead in an election, which ends with the guard. Others see the `value`, for example an address."""

    def __init__(self, keeping: Keeping, lease: Lease, on_lost: Optional[OnLost]) -> None:
        super().__init__(keeping, lease, on_lost)
        self._setting = threading.Lock()

    def set_value(self, value: str) -> None:
        """Changes what others see. It can be seen when this returns. Raises LockLost if we do not lead any more.
        Calls of several threads are done one after the other."""
        with self._setting:
            self.check()
            self._keeping.set_value(self.lease, value)


class Lock:
    """What to lock, and how. Made by `Client.lock`. It can be used again and again, also by many threads at once:

        with lock as guard: ...     waits, and gives back at the end of the block
        @lock                       the same around every call of a function
        lock.acquire()              waits; returns a LeaseGuard
        lock.try_acquire()          does not wait; returns a LeaseGuard, or None

    Every use asks for a lease of its own. A lock is not reentrant: to enter it twice is a deadlock.
    """

    def __init__(self, name: str, hold: Callable[[Optional[float], str], LeaseGuard], wait: Optional[float],
                 waiters: Waiters, waiter: Optional[str]) -> None:
        self.name = name
        self._hold, self._wait = hold, wait
        self._waiters, self._waiter = waiters, waiter
        self._entered: Entered[LeaseGuard] = Entered(name)

    def acquire(self) -> LeaseGuard:
        """Raises LockHeld or, after a wait, WaitTimedOut; DeadlockError if the wait would be one."""
        return self._hold_loosely(self._wait)

    def try_acquire(self) -> Optional[LeaseGuard]:
        """None if somebody else holds the lock."""
        try:
            return self._hold_loosely(0)
        except LockHeld:
            return None

    @property
    def guard(self) -> LeaseGuard:
        """The guard of the innermost block, or decorated function, that this thread is in."""
        return self._entered.innermost(threading.get_ident())

    def __enter__(self) -> LeaseGuard:
        guard = self._hold(self._wait, self._waiters.chain(self._waiter).identity)
        self._entered.push(threading.get_ident(), guard)
        return guard.__enter__()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self._entered.pop(threading.get_ident()).__exit__(kind, error, traceback)

    def __call__(self, function: F) -> F:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__qualname__} is a coroutine function: lock it with holdfast.aio")

        @functools.wraps(function)
        def locked(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return cast(F, locked)

    def _hold_loosely(self, wait: Optional[float]) -> LeaseGuard:
        """A guard without a block."""
        chain = self._waiters.chain(self._waiter)
        guard = self._hold(wait, chain.identity)
        guard._borrow(chain)
        return guard
