"""Requests to the server, and what its answers mean."""

from __future__ import annotations

import json
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from . import errors
from .lease import Json, Lease, to_time
from .scope import SetMember, to_short_text

_NOT_FOUND_CODES = ("LockNotFound", "FenceNotFound", "HistoryOff")
_OVER_CODES = ("LockExpired", "LockNotFound", "RequestEnded")


@dataclass(frozen=True)
class Request:
    method: str
    path: str = field(repr=False)  # it may contain the token of a lease
    timeout: float
    body: Optional[Json] = field(default=None, repr=False)
    headers: Dict[str, str] = field(default_factory=dict)
    is_repeatable: bool = True  # the same request twice has the effect of one

    def encoded_body(self) -> Optional[bytes]:
        return None if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Reply:
    """An answer as it comes from the network."""

    status: int
    text: bytes
    retry_after: Optional[str] = None  # the header


class NoAnswer(Exception):
    """There is no answer, or one that only says "later"."""

    def __init__(self, message: str, *, may_have_effect: bool = True, is_from_idle_connection: bool = False,
                 is_answered: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.may_have_effect = may_have_effect  # the request may have been done nevertheless
        self.is_from_idle_connection = is_from_idle_connection  # which the server may have closed long ago
        self.is_answered = is_answered  # the server is there
        self.retry_after = retry_after


class Answer:
    """What the server at an address said to a request."""

    def __init__(self, server: str, reply: Reply) -> None:
        self.server, self.status = server, reply.status
        self.body: Json = {}
        self._is_json = False
        self._retry_after = reply.retry_after
        try:
            body = json.loads(reply.text)
        except ValueError:
            return
        if isinstance(body, dict):
            self.body, self._is_json = body, True

    @property
    def code(self) -> str:
        """The code of a refusal: `LockHeld`."""
        return str(self.body.get("error") or self.body.get("reason") or "")

    @property
    def message(self) -> str:
        return str(self.body.get("message") or self.code or f"{self.server} answers with status {self.status}")

    def raise_if_temporary(self) -> None:
        """A server that answers with 503 has done nothing; a gateway may have passed the request on."""
        if self.status in (502, 503, 504):
            raise NoAnswer(self.message, may_have_effect=self.status != 503, is_answered=True,
                           retry_after=self._pause())

    def _pause(self) -> float:
        try:
            return min(max(0.0, float(self._retry_after or 0)), 1.0)  # in this order, "nan" is 0
        except ValueError:  # a date
            return 1.0

    def field(self, name: str) -> Any:
        """A field that Holdfast always sends."""
        if name not in self.body:
            raise self.not_holdfast()
        return self.body[name]

    def not_holdfast(self) -> errors.NotHoldfast:
        return errors.NotHoldfast(f"{self.server} is not a Holdfast server: its answer has status {self.status}, and "
                                  "is not one of Holdfast's")

    def read_lease(self, name: str) -> Lease:
        """The lease in an answer with status 200. It is not guaranteed yet."""
        body = self.body
        try:
            ttl_ms = body["ttl_ms"] if "ttl_ms" in body else body["duration_ms"]
            return Lease(name=name, owner=str(body["holder"]), fencing_token=int(body["fencing_token"]),
                         ttl=ttl_ms / 1000, expires_at=to_time(str(body["expires_at"])), token=str(body["token"]),
                         mode=str(body.get("mode", "exclusive")), metadata=str(body.get("metadata", "")),
                         scope=dict(body["scope"]), scopes=_read_scopes(body), value=str(body.get("value", "")),
                         revision=int(body.get("revision", 0)))
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise self.not_holdfast() from problem

    def error(self, about: str) -> errors.HoldfastError:
        """The error for an answer that is not a success. `about` names the lock, never a token."""
        try:
            return self._read_error(about)
        except (AttributeError, TypeError, ValueError):  # a field is not what Holdfast makes of it
            return self.not_holdfast()

    def _read_error(self, about: str) -> errors.HoldfastError:
        if self.status == 401:
            return errors.Unauthorized(self.message)
        if self.status == 403:
            return errors.Forbidden(self.message, self.body.get("right"), self.body.get("on"))
        if not self._is_json or not self.code or (self.status == 404 and self.code not in _NOT_FOUND_CODES):
            return self.not_holdfast()
        if self.code in ("LockHeld", "WaitTimedOut"):
            return self._held(about)
        if self.code == "Deadlock":
            return errors.DeadlockError(about, self.message, [_read_cycle_member(one) for one in self.field("cycle")])
        if self.code in _OVER_CODES:
            return errors.LockLost(about, self.message)
        if self.code == "StaleFence":
            return errors.StaleFence(str(self.field("resource")), int(self.field("fencing_token")),
                                     int(self.field("highest")))
        if self.code == "LockScopeMismatch":
            return errors.ScopeMismatch(self.message, dict(self.field("scope")))
        if self.status >= 500:
            return errors.ServerUnavailable(self.message)
        return errors.BadRequest(self.message, self.status, self.code)

    def _held(self, about: str) -> errors.LockHeld:
        kind = errors.LockHeld if self.code == "LockHeld" else errors.WaitTimedOut
        expires_at, retry_after_ms = self.body.get("expires_at"), self.body.get("retry_after_ms")
        return kind(about, self.body.get("holder"), None if expires_at is None else to_time(str(expires_at)),
                    None if retry_after_ms is None else retry_after_ms / 1000)


def _read_scopes(body: Json) -> Tuple[SetMember, ...]:
    """The scopes of a lease. The server shows a list only if there are several."""
    members = body.get("scopes") or [{"scope": body["scope"], "mode": body.get("mode", "exclusive")}]
    return tuple(SetMember(to_short_text(member["scope"]), str(member["mode"])) for member in members)


def _read_cycle_member(body: Json) -> errors.CycleMember:
    if body.get("hidden"):
        return errors.CycleMember(is_hidden=True)
    holder, waiter, door, held_by = (str(body.get(name, "")) for name in ("holder", "waiter", "door", "held_by"))
    fencing_token = body.get("fencing_token")
    return errors.CycleMember(holder, waiter, door, to_short_text(body.get("waits_for") or ""), held_by,
                              None if fencing_token is None else int(fencing_token))


def lease_path(token: str, action: str = "") -> str:
    return f"/v1/leases/{_quote(token)}{action}"


def fence_path(resource: str) -> str:
    return f"/v1/fence/{_quote(resource)}"


def lock_path(name: str) -> str:
    return f"/v1/locks/{_quote(name)}"


def election_path(name: str) -> str:
    return f"/v1/elections/{_quote(name)}"


def query(**parameters: object) -> str:
    """The parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return "?" + urllib.parse.urlencode(given) if given else ""


def _quote(text: str) -> str:
    return urllib.parse.quote(text, safe="")
