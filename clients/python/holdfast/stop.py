"""Stop: ends the waits of other threads."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator, List, Optional

from .errors import Cancelled


class Stop:
    """Pass one to calls that wait, and `set()` it from any thread: then they raise `Cancelled` at once, and hold
    nothing. It stays set. (asyncio needs none: there, cancel the task.)"""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._mutex = threading.Lock()
        self._interrupts: List[Callable[[], None]] = []

    def set(self) -> None:
        with self._mutex:
            self._event.set()
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, timeout: Optional[float] = None) -> bool:
        return self._event.wait(timeout)

    def check(self) -> None:
        """Raises Cancelled if it is set."""
        if self.is_set():
            raise Cancelled("stopped")

    @contextlib.contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Calls `interrupt` when this is set meanwhile, also if it is set already."""
        with self._mutex:
            self._interrupts.append(interrupt)
            is_set = self.is_set()
        try:
            if is_set:
                interrupt()
            yield
        finally:
            with self._mutex:
                self._interrupts.remove(interrupt)
