"""What can go wrong. All errors of this client are `HoldfastError`s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence


class HoldfastError(Exception):
    """The base of all errors of this client."""


class LockHeld(HoldfastError):
    """Somebody else holds the lock.

    `holder` has it until `expires_at` (seconds since 1970, by the server's clock). Asking again makes sense after
    `retry_after` seconds. What is not known is None.
    """

    def __init__(self, name: str, holder: Optional[str] = None, expires_at: Optional[float] = None,
                 retry_after: Optional[float] = None) -> None:
        super().__init__(self._sentence(name, holder))
        self.name, self.holder, self.expires_at, self.retry_after = name, holder, expires_at, retry_after

    def _sentence(self, name: str, holder: Optional[str]) -> str:
        return f"{name} is held by {holder}" if holder else f"{name} is held"


class WaitTimedOut(LockHeld):
    """Somebody else held the lock until the end of the wait."""

    def _sentence(self, name: str, holder: Optional[str]) -> str:
        return f"{name} was not granted in time" + (f": it is held by {holder}" if holder else "")


@dataclass(frozen=True)
class CycleMember:
    """One of those who wait for each other: `holder` waits for the lock `waits_for`, which `held_by`, the next member of
    the cycle, holds (under `fencing_token`) or is ahead for. A member whose locks we may not read is hidden: then the
    rest is empty."""

    holder: str = ""
    waiter: str = ""
    door: str = ""
    waits_for: str = ""
    held_by: str = ""
    fencing_token: Optional[int] = None
    is_hidden: bool = False


class DeadlockError(HoldfastError):
    """To wait for the lock would be a deadlock: its holder waits, perhaps by way of others, for something that we hold.
    Nothing was acquired. Release what you hold, and begin anew. `cycle` has all who wait for each other; the last one
    waits for something of the first."""

    def __init__(self, name: str, message: str, cycle: Sequence[CycleMember] = ()) -> None:
        super().__init__(f"to wait for {name} would be a deadlock: {message}")
        self.name, self.cycle = name, tuple(cycle)


class LockLost(HoldfastError):
    """The lease has ended, or may have ended. Stop the work that it protects."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the lock on {name} is lost: {reason}")
        self.name, self.reason = name, reason


class Cancelled(HoldfastError):
    """The `Stop` of this call was set. Nothing is held."""


class StaleFence(HoldfastError):
    """The resource was used with a larger fencing token: somebody else has had the lock since then. Do not write."""

    def __init__(self, resource: str, fencing_token: int, highest: int) -> None:
        super().__init__(f"{resource} was used with the fencing token {highest}, which is larger than {fencing_token}")
        self.resource, self.fencing_token, self.highest = resource, fencing_token, highest


class ScopeMismatch(HoldfastError):
    """The token is that of a lease on something else: on `scope`."""

    def __init__(self, message: str, scope: Dict[str, Any]) -> None:
        super().__init__(message)
        self.scope = scope


class Unauthorized(HoldfastError):
    """The server's secret is missing or wrong."""


class Forbidden(HoldfastError):
    """The secret is good, but does not give the right to do this. `right` is the one that is missing (`read`, `lock` or
    `admin`), and `on` says on what (`*`: on everything). Both are None if the server does not tell: then the request
    needs the admin's secret."""

    def __init__(self, message: str, right: Optional[str] = None, on: Optional[str] = None) -> None:
        what = "everything" if on == "*" else on
        is_told = right is None or (right in message and (on == "*" or str(on) in message))
        super().__init__(message if is_told else f"{message}: the right {right} on {what} is missing")
        self.right, self.on = right, on


class BadRequest(HoldfastError):
    """The server refuses the request, and would refuse it again. `code` is the server's word for the reason."""

    def __init__(self, message: str, status: int = 400, code: str = "BadRequest") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ServerUnavailable(HoldfastError):
    """The server cannot be reached, does not answer in time, or cannot write to its disk."""


class NotHoldfast(HoldfastError):
    """What answers at this address is not Holdfast."""
