"""Runner: does the steps of a conversation in the current task."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, AsyncIterator, Coroutine, Optional, Set, TypeVar

from ..steps import Emit, Open, Read, Send, Sleep, Step, Steps
from .transport import Stream, Transport

T = TypeVar("T")


class Runner:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._under_way: Set[asyncio.Future[Any]] = set()

    async def run(self, steps: Steps[T]) -> T:
        """The result of the steps."""
        run = _Run(self._transport)
        try:
            advance: functools.partial[Step] = functools.partial(steps.send, None)
            while True:
                try:
                    step = advance()
                except StopIteration as done:
                    result: T = done.value
                    return result
                advance = await run.do(steps, step)
        finally:
            run.end()

    async def run_to_the_end(self, steps: Steps[T]) -> T:
        """The same. If the current task is cancelled, the steps go on in a task of their own."""
        return await asyncio.shield(self.start(self.run(steps)))

    async def finish(self) -> None:
        """Waits for what is under way."""
        others = self._under_way - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """A task that is kept until its end: the event loop has only weak references."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def iterate(self, steps: Steps[None]) -> AsyncIterator[Any]:
        """The values that the steps emit."""
        run = _Run(self._transport)
        try:
            advance: functools.partial[Step] = functools.partial(steps.send, None)
            while True:
                try:
                    step = advance()
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.value
                advance = await run.do(steps, step)
        finally:
            steps.close()
            run.end()


class _Run:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._stream: Optional[Stream] = None

    async def do(self, steps: Steps[Any], step: Step) -> functools.partial[Step]:
        """Does a step. Returns how to go on: with its result, or its failure."""
        try:
            result = await self._do(step)
        except BaseException as problem:
            return functools.partial(steps.throw, problem)
        return functools.partial(steps.send, result)

    def end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    async def _do(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._transport.send(step.address, step.request, step.token)
        if isinstance(step, Sleep):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Open):
            self.end()
            opened = await self._transport.open(step.address, step.request, step.token)
            if not isinstance(opened, Stream):
                return opened
            self._stream = opened
        elif isinstance(step, Read):
            assert self._stream is not None
            return await self._stream.read()
        return None
