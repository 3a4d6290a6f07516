"""What can go wrong. All errors of this client are `HoldfastError`s."""

from __future__ import annotations

from typing import Any, Dict, Optional


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
    """The request needs the admin's secret."""


class BadRequest(HoldfastError):
    """The server refuses the request, and would refuse it again. `code` is the server's word for the reason."""

    def __init__(self, message: str, status: int = 400, code: str = "BadRequest") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ServerUnavailable(HoldfastError):
    """The server cannot be reached, does not answer in time, or cannot write to its disk."""


class NotHoldfast(HoldfastError):
    """What answers at this address is not Holdfast."""
