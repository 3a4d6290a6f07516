"""A client of Holdfast, the lock server. Nothing but the standard library, Python 3.9 and later.

    import holdfast

    client = holdfast.Client()
    with client.lock("nightly-backup", ttl=30) as guard:
        for part in parts:
            guard.check()                    # raises LockLost as soon as the lock is not certainly ours
            store(part, guard.fencing_token)

A lock is a lease: the server takes it back from a holder that stays away for longer than its TTL. A `LeaseGuard`
renews its lease every third of the TTL, and measures by a clock of this machine how long the lock is certain: from
*before* the last confirmed request was sent, less a margin of min(5 s, TTL/6). When that time is over, or the server
says that the lease has ended, the program is told, before the server can grant the lock to anybody else.

A request without an answer is repeated, for `retry_for` seconds. An acquire carries an id: if only its answer was lost,
the repetition finds the same lease, so that no lease is left behind. A request that could do harm twice, such as ending
the leases of others, is sent once.

`holdfast.aio` is the same for asyncio.
"""

from .client import Client
from .errors import (BadRequest, Cancelled, CycleMember, DeadlockError, Forbidden, HoldfastError, LockHeld, LockLost,
                     NotHoldfast, ScopeMismatch, ServerUnavailable, StaleFence, Unauthorized, WaitTimedOut)
from .lease import Event, Leader, Lease, clock
from .lock import Leadership, LeaseGuard, Lock
from .scope import SetMember
from .stop import Stop

__version__ = "0.2.0"
__all__ = ["BadRequest", "Cancelled", "Client", "CycleMember", "DeadlockError", "Event", "Forbidden", "HoldfastError",
           "Leader", "Leadership", "Lease", "LeaseGuard", "Lock", "LockHeld", "LockLost", "NotHoldfast", "ScopeMismatch",
           "ServerUnavailable", "SetMember", "StaleFence", "Stop", "Unauthorized", "WaitTimedOut", "clock"]
