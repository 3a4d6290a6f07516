"""Acquisition: one lock is asked for until it is granted, refused, or no longer wanted."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from . import scope as scopes
from .errors import HoldfastError, LockHeld, LockLost
from .lease import Json, Lease, clock, to_milliseconds
from .renewal import release_within, renew
from .scope import SetMember
from .steps import Exchange, Patience, Steps
from .wire import Answer, NoAnswer, Request, lock_path, query

_ANSWER_MAX = 600.0  # the server answers after this time at the latest; to wait longer, we ask again
_ENDLESS = 365 * 86400.0  # to the server, a wait of this length has no end
_ABANDON_FOR = 3.0
_BRIEFLY = 1.0
_ON_DEADLOCK = {"refuse": "refuse", "wait": "tell"}  # our words, and the server's


@dataclass(frozen=True)
class LeaseRequest:
    """What is asked for. Without a request_id, the client makes one for every acquisition."""

    scope: str  # of a set: all of its texts, for people
    owner: str
    ttl: float = 30.0
    wait: Optional[float] = 0.0  # None: without an end
    shared: bool = False
    limit: Optional[int] = None
    metadata: str = ""
    request_id: Optional[str] = None
    members: Tuple[SetMember, ...] = ()  # of a set, which has two at least
    value: str = ""  # of a candidacy
    waiter: str = ""  # for the server's search for deadlocks
    on_deadlock: str = "refuse"  # or "wait"

    def __post_init__(self) -> None:
        if to_milliseconds(self.ttl) == 0:
            raise ValueError("a lease must last for a millisecond at least")
        if self.on_deadlock not in _ON_DEADLOCK:
            raise ValueError(f"on_deadlock is 'refuse' or 'wait', and {self.on_deadlock!r} is neither")
        if not self.members:
            scopes.with_limit(self.scope, self.limit)
        elif self.limit is not None:
            raise ValueError("the limit of a set belongs to one of its members: {'scope': 'semaphore:x', 'limit': 3}")

    @staticmethod
    def of(members: Sequence[SetMember], owner: str, ttl: float, *, shared: bool = False, limit: Optional[int] = None,
           metadata: str = "", request_id: Optional[str] = None, value: str = "",
           on_deadlock: str = "refuse") -> LeaseRequest:
        """A request for one scope, or for a set. A set of one is a usual lease."""
        name, several = ", ".join(member.scope for member in members), tuple(members)
        if len(members) == 1:
            only, several = members[0], ()
            shared = shared if only.mode is None else only.mode == "shared"
            limit = limit if only.limit is None else only.limit
        return LeaseRequest(name, owner, ttl, shared=shared, limit=limit, metadata=metadata, request_id=request_id,
                            members=several, value=value, on_deadlock=on_deadlock)

    def to_json(self) -> Json:
        fields: Json = {}
        if self.members:
            fields["scopes"] = [member.to_json() for member in self.members]
        else:
            scope = fields["scope"] = scopes.with_limit(self.scope, self.limit)
            if self.limit is not None and scopes.split(scope)[0] == "semaphore":
                fields["limit"] = self.limit
        fields.update(holder=self.owner, ttl_ms=to_milliseconds(self.ttl), on_deadlock=_ON_DEADLOCK[self.on_deadlock])
        if self.waiter:
            fields["waiter"] = self.waiter
        if self.shared:
            fields["mode"] = "shared"
        if self.metadata:
            fields["metadata"] = self.metadata
        if self.value:
            fields["value"] = self.value
        return fields


class Acquisition:
    def __init__(self, exchange: Exchange, request: LeaseRequest) -> None:
        self.may_hold = False  # the server may have granted a lease that we do not know of, or keep us in its queue
        self._exchange, self._request = exchange, request
        self._patience = Patience(exchange.retry_for)
        self._deadline = math.inf if request.wait is None else clock() + request.wait
        self._begin_anew()

    def run(self) -> Steps[Lease]:
        """Raises LockHeld or WaitTimedOut. If this is stopped while may_hold is true, abandon() must follow."""
        while True:
            self.may_hold = True
            try:
                answer = yield from self._exchange.ask_once(self._ask(self._wait_left()))
            except NoAnswer as problem:
                yield from self._patience.pause(problem)
                continue
            if answer.code != "Cancelled":
                self._patience.reset()
            lease = yield from self._judge(answer)
            if lease is not None:
                self.may_hold = False
                return lease

    def abandon(self) -> Steps[None]:
        """The same request without a wait finds the lease that was granted, or leaves the queue. Gives up after three
        seconds; then a lease that was granted ends after its TTL."""
        until = clock() + _ABANDON_FOR
        patience = Patience(_ABANDON_FOR)
        try:
            while (left := until - clock()) > 0:
                try:
                    answer = yield from self._exchange.ask_once(self._ask(0.0, min(_BRIEFLY, left)))
                except NoAnswer as problem:
                    yield from patience.pause(problem)
                    continue
                if answer.status == 200:
                    yield from release_within(self._exchange, answer.read_lease(self._request.scope), until)
                return
        except HoldfastError:
            pass

    def _begin_anew(self) -> None:
        self._request_id = self._request.request_id or uuid.uuid4().hex
        self._sent_at = clock()

    def _wait_left(self) -> float:
        return min(max(self._deadline - clock(), 0.0), _ENDLESS)

    def _ask(self, wait: float, timeout: Optional[float] = None) -> Request:
        fields = {**self._request.to_json(), "request_id": self._request_id, "wait_ms": math.ceil(wait * 1000)}
        if timeout is None:
            timeout = self._exchange.timeout + min(wait, _ANSWER_MAX)
        return Request("POST", "/v1/leases", timeout, fields)

    def _judge(self, answer: Answer) -> Steps[Optional[Lease]]:
        """The lease; None if the request must be repeated."""
        if answer.status == 200:
            return (yield from self._accept(answer))
        if answer.code == "StillWaiting":
            return None
        if answer.code == "WaitTimedOut" and self._wait_left() > 0:
            return None
        if answer.code == "Cancelled":
            yield from self._patience.pause(NoAnswer(answer.message))
            return None
        if answer.code == "RequestEnded" and self._request.request_id is None:  # our lease has ended already
            self._begin_anew()
            return None
        self.may_hold = False
        error = answer.error(self._in_the_way(answer))
        if isinstance(error, LockHeld) and error.holder is None and not self._request.members:
            error = yield from self._with_holder(error)
        raise error

    def _accept(self, answer: Answer) -> Steps[Optional[Lease]]:
        """If the answer took long, or the id is not ours, we do not know when the lease began. Then it is renewed,
        because a renewal tells how long it lasts."""
        lease = answer.read_lease(self._request.scope)
        lease.waiter = self._request.waiter
        lease._confirm(self._sent_at, lease.ttl, lease.expires_at)
        is_ours = self._request.request_id is None
        if is_ours and clock() - self._sent_at < lease.ttl / 3:
            return lease
        try:
            return (yield from renew(self._exchange, lease, self._request.ttl))
        except LockLost:
            if not is_ours:
                self.may_hold = False
                raise
            self._begin_anew()
            return None

    def _in_the_way(self, answer: Answer) -> str:
        """What was asked for; of a set, the member that is in the way, if the server names it."""
        scope = answer.body.get("scope")
        return scopes.to_short_text(scope) if self._request.members and isinstance(scope, dict) else self._request.scope

    def _with_holder(self, error: LockHeld) -> Steps[LockHeld]:
        """The same error with the name of the holder, if the server tells it in time."""
        kind, name = scopes.split(scopes.with_limit(self._request.scope, self._request.limit))
        if kind == "range":
            kind, name = "inode", name.partition(":")[0]
        try:
            answer = yield from self._exchange.ask_once(
                Request("GET", lock_path(name) + query(kind=kind or "named"), _BRIEFLY))
        except (NoAnswer, HoldfastError):
            return error
        holders = answer.body.get("holders") or [answer.body]
        expiry_ms = holders[0].get("lease_expiry_ms")
        return type(error)(error.name, holders[0].get("owner_id"), None if expiry_ms is None else expiry_ms / 1000,
                           error.retry_after)
