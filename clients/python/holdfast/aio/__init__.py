"""Holdfast for asyncio. The names are those of `holdfast`, and so is the behaviour.

    from holdfast import aio

    async with aio.Client() as client:
        async with client.lock("nightly-backup", ttl=30) as guard:
            guard.check()
            await store(part, guard.fencing_token)

To end a wait, cancel its task: then nothing is held, and no place in the queue is left behind.
"""

from .client import Client
from .lock import Leadership, LeaseGuard, Lock

__all__ = ["Client", "Leadership", "LeaseGuard", "Lock"]
