"""Values: a lease, an event, a leader; and the clock by which leases are measured."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Optional, Tuple, Union

from .scope import SetMember

Json = Dict[str, Any]
Time = Union[float, datetime]  # seconds since 1970, or a datetime

# Nobody can set these clocks. The first two go on while the machine sleeps; the last one is for other systems.
_CLOCK_ID: Optional[int] = getattr(time, "CLOCK_BOOTTIME", None)
if _CLOCK_ID is None and sys.platform == "darwin":
    _CLOCK_ID = getattr(time, "CLOCK_MONOTONIC", None)


def clock() -> float:
    """Seconds, by a clock that nobody can set."""
    return time.monotonic() if _CLOCK_ID is None else time.clock_gettime(_CLOCK_ID)


def margin_of(ttl: float) -> float:
    """How long before the end of a lease its holder stops: clocks differ, and work needs a moment to end."""
    return min(5.0, ttl / 6)


@dataclass
class Lease:
    """The right to hold a lock until a deadline. Nobody renews it but you; `LeaseGuard` renews itself.

    `expires_at` is in seconds since 1970 by the server's clock, for people only. `guaranteed_until` is by this
    machine's clock (`holdfast.clock`): it is counted from before the request was sent, less the margin.
    """

    name: str  # the scope as a text
    owner: str
    fencing_token: int  # larger than that of every earlier grant
    ttl: float
    expires_at: float
    token: str = field(repr=False)  # secret: it proves that its owner holds the lease
    guaranteed_until: float = float("-inf")
    mode: str = "exclusive"
    metadata: str = ""
    scope: Json = field(default_factory=dict)  # of a set: the first one
    scopes: Tuple[SetMember, ...] = ()  # all of them, with their modes
    value: str = ""  # of a candidacy
    revision: int = 0  # of the value: grows with every change of it; 0 if there was never one
    waiter: str = field(default="", repr=False)  # to whom it was granted, for the server's search for deadlocks

    @property
    def margin(self) -> float:
        return margin_of(self.ttl)

    @property
    def lasts_until(self) -> float:
        """The server ends the lease no earlier, by this machine's clock."""
        return self.guaranteed_until + self.margin

    def is_guaranteed(self) -> bool:
        """Whether nobody else can hold the lock at this moment."""
        return clock() < self.guaranteed_until

    def _before_renewal(self, sent_at: float, ttl: float) -> None:
        """A renewal can make the lease shorter, also if its answer is lost."""
        self.guaranteed_until = min(self.guaranteed_until, sent_at + ttl - margin_of(ttl))

    def _confirm(self, sent_at: float, ttl: float, expires_at: float) -> None:
        """The request that granted the lease for `ttl` was sent at this time: the lease began no earlier."""
        self.ttl, self.expires_at = ttl, expires_at
        self.guaranteed_until = sent_at + ttl - margin_of(ttl)


@dataclass(frozen=True)
class Event:
    """What happened to a lock: `kind` is `granted`, `released`, `expired` ..., or `gap` if events are missing."""

    id: Optional[int]  # grows with every event; None for a gap
    kind: str
    data: Json

    @property
    def name(self) -> str:
        """The name of the lock, or the resource of a fence."""
        return str(self.data.get("lock_name") or self.data.get("resource") or "")


@dataclass(frozen=True)
class Leader:
    """The leader of an election, and what it tells the others: `value`, for example its address."""

    candidate: str
    value: str
    fencing_token: int  # larger than that of every earlier leader
    revision: int = 0  # of the value: grows with every change of it while this candidate leads


def to_time(text: str) -> float:
    """Seconds since 1970, of an RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def to_unix_milliseconds(time_: Optional[Time]) -> Optional[int]:
    """Of seconds since 1970, or of a datetime (without a time zone, it is in that of this machine)."""
    if isinstance(time_, datetime):
        time_ = time_.timestamp()
    return None if time_ is None else round(time_ * 1000)


def to_milliseconds(seconds: float) -> int:
    return max(round(seconds * 1000), 0)
