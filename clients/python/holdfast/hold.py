"""Hold: how long a lock is certainly held, and when its lease is to be renewed. It knows no threads and no tasks."""

from __future__ import annotations

from typing import Optional

from .errors import LockLost
from .lease import Lease, clock

LOOK_INTERVAL_MAX = 1.0  # the clock goes on while the machine sleeps, and timers do not: so we look often


class Hold:
    """A hold is held until it is let go or lost. Both are final, and only one of them happens."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.loss: Optional[LockLost] = None
        self.is_over = False
        self.is_renewing = False
        self._renew_at = lease.lasts_until - lease.ttl * 2 / 3
        self._problem = ""

    def is_guaranteed(self) -> bool:
        """Whether nobody else can hold the lock now. Also true to the facts in a process that was stopped and goes on:
        it looks at the clock."""
        return not self.is_over and self.lease.is_guaranteed()

    def is_due(self) -> bool:
        """Whether a renewal should be sent now."""
        return not self.is_over and not self.is_renewing and clock() >= self._renew_at

    def next_look(self) -> float:
        """In how many seconds one of the above may change."""
        next_at = self.lease.guaranteed_until
        if not self.is_renewing:
            next_at = min(next_at, self._renew_at)
        return min(max(next_at - clock(), 0.0), LOOK_INTERVAL_MAX)

    def renewal_timeout(self) -> float:
        return max(self.lease.guaranteed_until - clock(), 0.05)

    def on_renewed(self) -> None:
        self._problem = ""
        self._renew_at = self.lease.lasts_until - self.lease.ttl * 2 / 3

    def on_renewal_failed(self, problem: Exception) -> None:
        self._problem = f" ({problem})"
        self._renew_at = clock() + self.lease.ttl / 12

    def let_go(self) -> None:
        self.is_over = True

    def lose(self, reason: Optional[str] = None) -> LockLost:
        """Without a reason: no renewal was confirmed in time. REQUIRES: it is not over."""
        self.loss = LockLost(self.lease.name, reason or "no renewal was confirmed in time" + self._problem)
        self.is_over = True
        return self.loss

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly held now."""
        if not self.is_guaranteed():
            raise self.loss or LockLost(self.lease.name, "it was released" if self.is_over else
                                        "no renewal was confirmed in time" + self._problem)
