"""Hold: how long a lock is certainly held, and when its lease is to be renewed; and what a guard tells of it. Neither
knows threads or tasks."""

from __future__ import annotations

from typing import Optional

from .errors import LockLost
from .lease import Lease, clock
from .waiters import Chain

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


class Guard:
    """What the guards of both clients tell of the lock that they hold. A guard says itself whether it is held."""

    _hold: Hold
    _lender: Optional[Chain] = None  # whose identity the lease has, although it is not held by a block

    def __repr__(self) -> str:
        state = "held" if self.is_held() else "over"
        return f"<{type(self).__name__} {self.name!r}, fencing token {self.fencing_token}, {state}>"

    @property
    def name(self) -> str:
        return self._hold.lease.name

    @property
    def lease(self) -> Lease:
        """The lease as last renewed."""
        return self._hold.lease

    @property
    def fencing_token(self) -> int:
        """Larger than that of every earlier grant. Send it with every write."""
        return self._hold.lease.fencing_token

    def is_held(self) -> bool:
        """Whether the lock is certainly held now. Correct also in a process that was stopped and goes on."""
        raise NotImplementedError

    def time_left(self) -> float:
        """For how long the lock is certain without another renewal; never below zero."""
        return max(self._hold.lease.guaranteed_until - clock(), 0.0) if self.is_held() else 0.0

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly held now."""
        if not self.is_held():
            self._hold.check()

    def _borrow(self, chain: Chain) -> None:
        """The guard was granted to the waiter of a block, and is not a block itself."""
        chain.is_lent = True
        self._lender = chain

    def _give_back_identity(self) -> None:
        """The guard is over, or has become a block."""
        if self._lender is not None:
            self._lender.is_lent = False
            self._lender = None
