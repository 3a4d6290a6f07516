"""Heartbeat: renews what a client holds, and notices in time when it cannot.

One thread watches over all holds of a client, and up to four renew them: a renewal that hangs delays neither the watch
nor all others. The threads begin with the first hold, and end some seconds after the last.
"""

from __future__ import annotations

import collections
import logging
import os
import threading
from typing import Callable, Deque, Optional, Set

from .errors import LockLost
from .hold import Hold
from .lease import Lease

_WORKERS_MAX = 4
_IDLE_MAX = 5.0

_log = logging.getLogger("holdfast")

OnLost = Callable[[LockLost], None]


class WatchedHold(Hold):
    """When it is lost, `lost` is set, and `on_lost` is called in a thread of its own, the teller."""

    def __init__(self, lease: Lease, on_lost: Optional[OnLost]) -> None:
        super().__init__(lease)
        self.lost = threading.Event()
        self.on_lost = on_lost
        self.teller: Optional[threading.Thread] = None
        self.guard: Optional[object] = None  # one that must live as long as this is watched

    def wait_for_on_lost(self) -> None:
        """Returns when `on_lost` has, if it was called; at once if it is `on_lost` that asks."""
        if self.teller is not None and self.teller is not threading.current_thread():
            self.teller.join()


class Heartbeat:
    """`renew` sends one renewal of a lease, which may take so many seconds. May be used by many threads at once."""

    def __init__(self, renew: Callable[[Lease, float], None]) -> None:
        self._renew = renew
        self._watcher: Optional[threading.Thread] = None
        self._begin()

    def keep(self, hold: WatchedHold) -> None:
        """Renews it until it is over."""
        if self._process != os.getpid():  # after a fork, the threads and holds are the parent's
            self._begin()
        with self._changed:
            self._holds.add(hold)
            if self._watcher is None:
                self._watcher = self._start(self._watch, "watch")
            self._changed.notify_all()

    def is_guaranteed(self, hold: WatchedHold) -> bool:
        """Whether it is held, certainly and now. If it just ceased to be, that is told."""
        with self._changed:
            if not hold.is_over and not hold.is_guaranteed():
                self._lose(hold, None)
            return not hold.is_over

    def let_go(self, hold: WatchedHold) -> None:
        """Ends it."""
        with self._changed:
            if not hold.is_over and not hold.is_guaranteed():
                self._lose(hold, None)
            hold.let_go()
            self._holds.discard(hold)
            self._changed.notify_all()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._holds: Set[WatchedHold] = set()
        self._due: Deque[WatchedHold] = collections.deque()
        self._watcher = None
        self._workers = self._idle_workers = 0

    def _start(self, work: Callable[..., None], name: str, *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, name=f"holdfast {name}", daemon=True)
        thread.start()
        return thread

    def _watch(self) -> None:
        with self._changed:
            while self._holds or self._changed.wait(_IDLE_MAX):
                for hold in list(self._holds):
                    if not hold.is_guaranteed():
                        self._lose(hold, None)
                    elif hold.is_due():
                        self._hand_to_worker(hold)
                if self._holds:
                    self._changed.wait(min(hold.next_look() for hold in self._holds))
            self._watcher = None

    def _hand_to_worker(self, hold: WatchedHold) -> None:
        if self._idle_workers <= len(self._due) and self._workers < _WORKERS_MAX:
            try:
                self._start(self._work, "renew")
                self._workers += 1
            except RuntimeError as problem:  # the system has no thread
                if self._workers == 0:
                    return hold.on_renewal_failed(problem)
        hold.is_renewing = True
        self._due.append(hold)
        self._changed.notify_all()

    def _work(self) -> None:
        with self._changed:
            while self._wait_for_work():
                hold = self._due.popleft()
                if hold.is_over:
                    continue
                timeout = hold.renewal_timeout()
                problem: Optional[Exception] = None
                self._changed.release()
                try:
                    self._renew(hold.lease, timeout)
                except Exception as failure:  # whatever it is, the watcher notices the end of the guarantee
                    problem = failure
                finally:
                    self._changed.acquire()
                self._on_answer(hold, problem)
            self._workers -= 1

    def _wait_for_work(self) -> bool:
        self._idle_workers += 1
        try:
            return self._changed.wait_for(lambda: len(self._due) > 0, _IDLE_MAX)
        finally:
            self._idle_workers -= 1

    def _on_answer(self, hold: WatchedHold, problem: Optional[Exception]) -> None:
        hold.is_renewing = False
        if hold.is_over:
            return
        if isinstance(problem, LockLost):
            self._lose(hold, problem.reason)
        elif problem is not None:
            hold.on_renewal_failed(problem)
        else:
            hold.on_renewed()
        self._changed.notify_all()

    def _lose(self, hold: WatchedHold, reason: Optional[str]) -> None:
        loss = hold.lose(reason)
        self._holds.discard(hold)
        hold.lost.set()
        if hold.on_lost is not None:
            try:
                hold.teller = self._start(hold.on_lost, "lost", loss)
            except RuntimeError as problem:
                _log.error("on_lost of %s could not be called: %s", hold.lease.name, problem)
