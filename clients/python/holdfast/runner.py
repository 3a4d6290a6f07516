"""Runner: does the steps of a conversation in the calling thread."""

from __future__ import annotations

import time
from typing import Any, Iterator, Optional, TypeVar

from .errors import Cancelled
from .steps import Emit, Open, Read, Send, Sleep, Step, Steps
from .stop import Stop
from .transport import Stream, Transport

T = TypeVar("T")


class Runner:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def run(self, steps: Steps[T], stop: Optional[Stop] = None) -> T:
        """The result of the steps."""
        run = _Run(self._transport, stop)
        try:
            step = next(steps)
            while True:
                step = run.advance(steps, step)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            run.end()

    def iterate(self, steps: Steps[None], stop: Optional[Stop] = None) -> Iterator[Any]:
        """The values that the steps emit, until `stop` is set."""
        run = _Run(self._transport, stop)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Emit):
                    yield step.value
                step = run.advance(steps, step)
        except (StopIteration, Cancelled):
            return
        finally:
            steps.close()
            run.end()


class _Run:
    def __init__(self, transport: Transport, stop: Optional[Stop]) -> None:
        self._transport, self._stop = transport, stop
        self._stream: Optional[Stream] = None

    def advance(self, steps: Steps[Any], step: Step) -> Step:
        """Does a step, and returns the next."""
        try:
            result = self._do(step)
        except BaseException as problem:
            return steps.throw(problem)
        return steps.send(result)

    def end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _do(self, step: Step) -> Any:
        stop = self._stop
        if stop is not None:
            stop.check()
        try:
            return self._do_uninterrupted(step)
        except Exception:
            if stop is not None:
                stop.check()  # it is the reason
            raise

    def _do_uninterrupted(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._transport.send(step.address, step.request, step.token, self._stop)
        if isinstance(step, Sleep):
            if self._stop is None:
                time.sleep(step.seconds)
            elif self._stop.wait(step.seconds):
                self._stop.check()
        elif isinstance(step, Open):
            self.end()
            opened = self._transport.open(step.address, step.request, step.token, self._stop)
            if not isinstance(opened, Stream):
                return opened
            self._stream = opened
        elif isinstance(step, Read):
            assert self._stream is not None
            return self._stream.read()
        return None
