"""Everything that is one question and one answer, or a page of answers after the other."""

from __future__ import annotations

import math
import random
from typing import Any, List, Optional, Tuple

from . import scope as scopes
from .errors import LockHeld
from .lease import Json, Lease, clock
from .scope import Scope
from .steps import Emit, Exchange, Sleep, Steps
from .wire import Answer, Request, fence_path, lease_path, lock_path, query


def ask(exchange: Exchange, method: str, path: str, body: Optional[Json] = None, *, about: str = "",
        is_repeatable: bool = True) -> Steps[Answer]:
    """The answer, if it is a success."""
    answer = yield from exchange.ask(Request(method, path, exchange.timeout, body, is_repeatable=is_repeatable))
    if answer.status != 200:
        raise answer.error(about)
    return answer


def get_lock(exchange: Exchange, scope: Scope, queue: bool) -> Steps[Json]:
    path, kind = _lock_of(scope)
    answer = yield from ask(exchange, "GET", path + query(kind=kind, queue="true" if queue else None))
    answer.field("held")
    return answer.body


def force_release(exchange: Exchange, scope: Scope) -> Steps[int]:
    path, kind = _lock_of(scope)
    answer = yield from ask(exchange, "DELETE", path + query(kind=kind), is_repeatable=False)
    return int(answer.field("holders"))


def get_lease(exchange: Exchange, token: str) -> Steps[Lease]:
    answer = yield from ask(exchange, "GET", lease_path(token), about="this lease")
    return answer.read_lease(scopes.to_text(answer.field("scope")))


def set_value(exchange: Exchange, lease: Lease, value: str) -> Steps[None]:
    """Raises LockLost if the lease has ended."""
    answer = yield from ask(exchange, "PUT", lease_path(lease.token, "/value"), {"value": value}, about=lease.name)
    shown = answer.read_lease(lease.name)
    lease.value, lease.revision = shown.value, shown.revision


def check(exchange: Exchange, token: str, scope: Scope) -> Steps[Lease]:
    body = {"token": token, "scope": scope}
    answer = yield from ask(exchange, "POST", "/v1/fence/check", body, about=scopes.to_text(scope))
    return answer.read_lease(scopes.to_text(answer.field("scope")))


def pass_fence(exchange: Exchange, resource: str, fencing_token: int) -> Steps[int]:
    answer = yield from ask(exchange, "POST", fence_path(resource), {"fencing_token": fencing_token})
    return int(answer.field("highest"))


def get_fence(exchange: Exchange, resource: str) -> Steps[Optional[int]]:
    answer = yield from exchange.ask(Request("GET", fence_path(resource), exchange.timeout))
    if answer.code == "FenceNotFound":
        return None
    if answer.status != 200:
        raise answer.error(resource)
    return int(answer.field("highest"))


def drop_fence(exchange: Exchange, resource: str) -> Steps[None]:
    yield from ask(exchange, "DELETE", fence_path(resource), is_repeatable=False)


def list_pages(exchange: Exchange, collection: str, **parameters: object) -> Steps[None]:
    """Emits the entries of all pages of `locks`, `leases` or `history`."""
    after: Optional[object] = None
    while True:
        page = yield from ask(exchange, "GET", f"/v1/{collection}" + query(after=after, **parameters))
        entries: List[Any] = page.field(collection)
        for entry in entries:
            yield Emit(entry)
        following = page.body.get("next")
        if following is None:
            return
        if following == after:  # the listing would never end
            raise page.not_holdfast()
        after = following


def history(exchange: Exchange, scope: Optional[Scope], limit: int, **parameters: object) -> Steps[None]:
    """Emits the entries of all pages of the history."""
    text = None if scope is None else scopes.to_text(scope)
    yield from list_pages(exchange, "history", scope=text, limit=limit, **parameters)


class RetryPace:
    """The pauses between repeated requests for a lock: as the server recommends, within bounds."""

    def __init__(self, max_retries: int, min_retry: float, max_retry: float, jitter: float,
                 max_total_wait: Optional[float]) -> None:
        self._retries_left = max_retries
        self._min, self._max, self._jitter = min_retry, max_retry, jitter
        self._until = math.inf if max_total_wait is None else clock() + max_total_wait

    def pause_after(self, held: LockHeld) -> Steps[None]:
        """Raises the refusal if there is no time for another attempt."""
        hint = self._min if held.retry_after is None else held.retry_after
        pause = min(max(hint, self._min), self._max) * (1 + random.uniform(-self._jitter, self._jitter))
        if self._retries_left <= 0 or clock() + pause > self._until:
            raise held
        self._retries_left -= 1
        yield Sleep(pause)


def _lock_of(scope: Scope) -> Tuple[str, Optional[str]]:
    """The path of a lock, and its kind. A plain name is the lock or semaphore of this name."""
    kind, name = scopes.split(scopes.to_text(scope))
    return lock_path(name), kind
