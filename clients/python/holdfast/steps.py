"""The conversation with the server, without doing it.

What the client does is written once, as generators (`Steps`) that yield what is to be done next: send a request, sleep,
read from a stream. The blocking client and the asyncio client run the same generators; each does the steps in its own
way, and sends the result, or throws the failure, into the generator.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Optional, Sequence, TypeVar, Union

from .errors import ServerUnavailable
from .lease import clock
from .options import Address, Secret
from .wire import Answer, NoAnswer, Reply, Request

T = TypeVar("T")

_DELAY_MIN, _DELAY_MAX, _JITTER = 0.05, 1.0, 0.2  # between two attempts


@dataclass(frozen=True)
class Send:
    """Send the request to this address. The result is a Reply; NoAnswer is thrown if there is none."""

    address: Address
    request: Request
    token: Optional[str] = field(repr=False)  # the server's secret


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Open:
    """Open a stream. The result is a Reply if the status is not 200, else None. NoAnswer as for Send."""

    address: Address
    request: Request
    token: Optional[str] = field(repr=False)  # the server's secret


@dataclass(frozen=True)
class Read:
    """Read from the open stream. The result is a piece of it; NoAnswer is thrown when it ends, breaks or is silent."""


@dataclass(frozen=True)
class Emit:
    """Hand this value to the program, which iterates over such values."""

    value: Any


Step = Union[Send, Sleep, Open, Read, Emit]
Steps = Generator[Step, Any, T]


class Patience:
    """Decides when a request is repeated: first at once, then after longer and longer pauses, for `retry_for`."""

    def __init__(self, retry_for: float) -> None:
        self._retry_for = retry_for
        self.reset()

    def reset(self) -> None:
        self._until: Optional[float] = None
        self._delay = 0.0

    def pause(self, problem: NoAnswer) -> Steps[None]:
        """Raises ServerUnavailable when it has lasted too long."""
        now = clock()
        if self._until is None:
            self._until = now + self._retry_for
        delay = max(self._delay * random.uniform(1 - _JITTER, 1 + _JITTER), problem.retry_after)
        if now + delay >= self._until:
            raise ServerUnavailable(str(problem)) from problem
        self._delay = min(max(2 * self._delay, _DELAY_MIN), _DELAY_MAX)
        yield Sleep(delay)


class Exchange:
    """Asks the server, at one of its addresses."""

    def __init__(self, addresses: Sequence[Address], secret: Secret, timeout: float, retry_for: float) -> None:
        self.timeout, self.retry_for = timeout, retry_for
        self._addresses, self._secret = addresses, secret
        self._current = 0

    def ask(self, request: Request) -> Steps[Answer]:
        """Asks until there is an answer. What must not be done twice is repeated only if it certainly was not done."""
        patience = Patience(self.retry_for)
        while True:
            try:
                return (yield from self.ask_once(request))
            except NoAnswer as problem:
                if problem.may_have_effect and not request.is_repeatable:
                    raise ServerUnavailable(f"{problem}; the request may have been done") from problem
                yield from patience.pause(problem)

    def ask_once(self, request: Request) -> Steps[Answer]:
        """Sends the request to one address or, while it certainly had no effect, to one after the other."""

        def send(address: Address) -> Steps[Answer]:
            token = self._secret.token
            answer = Answer(address.text, (yield Send(address, request, token)))
            if answer.status == 401 and self._secret.is_replaced(token):
                answer = Answer(address.text, (yield Send(address, request, self._secret.token)))
            answer.raise_if_temporary()
            return answer

        return (yield from self._at_some_address(send, request.method == "GET"))

    def open_stream(self, request: Request) -> Steps[None]:
        """Opens a stream, from which Read reads then."""

        def open_at(address: Address) -> Steps[None]:
            token = self._secret.token
            refusal: Optional[Reply] = yield Open(address, request, token)
            if refusal is None:
                return
            answer = Answer(address.text, refusal)
            answer.raise_if_temporary()
            if answer.status == 401 and self._secret.is_replaced(token):
                raise NoAnswer("the secret was replaced", is_answered=True)
            raise answer.error("events")

        yield from self._at_some_address(open_at, True)

    def _at_some_address(self, attempt: Callable[[Address], Steps[T]], is_harmless: bool) -> Steps[T]:
        """After a failure, the next request begins with the next address."""
        tried = 0
        while True:
            index = self._current
            try:
                return (yield from attempt(self._addresses[index]))
            except NoAnswer as problem:
                if problem.is_from_idle_connection:
                    raise
                if self._current == index:  # once, however many requests fail at the same time
                    self._current = (index + 1) % len(self._addresses)
                tried += 1
                may_try_next = not problem.is_answered and (is_harmless or not problem.may_have_effect)
                if tried == len(self._addresses) or not may_try_next:
                    raise
