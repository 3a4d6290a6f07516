"""The asyncio client."""

from __future__ import annotations

import dataclasses
import ssl
import weakref
from types import TracebackType
from typing import AsyncIterator, Callable, Optional, Type, Union, cast

from .. import calls, following, renewal
from ..acquisition import Acquisition, LeaseRequest
from ..base import BaseClient, token_of
from ..errors import LockHeld
from ..lease import Event, Json, Leader, Lease, Time, to_unix_milliseconds
from ..scope import Scope, Scopes
from ..waiters import TaskWaiters
from .lock import Keeping, Leadership, LeaseGuard, Lock, OnLost
from .runner import Runner
from .transport import Transport


class Client(BaseClient):
    __doc__ = f"{BaseClient.__doc__}\n    May be used by many tasks at once, of one event loop at a time."

    def _connect_by(self, tls: Optional[ssl.SSLContext]) -> None:
        self._transport = Transport(tls)
        self._runner = Runner(self._transport)
        self._waiters = TaskWaiters()
        self._keeping = Keeping(self._renew_once, self.release, self._set_value, self._runner.start, self._waiters)
        # By the token of the lease, as long as it is renewed.
        self._heartbeats: weakref.WeakValueDictionary[str, LeaseGuard] = weakref.WeakValueDictionary()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self.close()

    async def close(self) -> None:
        """Waits for what is being given back (and for `on_lost`), and closes the idle connections. What is held stays
        held."""
        await self._runner.finish()
        await self._transport.close()

    # Locks that renew themselves.

    def lock(self, scope: Scopes, ttl: float = 30.0, *, wait: Optional[float] = None, shared: bool = False,
             limit: Optional[int] = None, metadata: str = "", on_lost: Optional[OnLost] = None,
             on_deadlock: str = "refuse", waiter: Optional[str] = None) -> Lock:
        """A lock for `async with`, or for a coroutine function as a decorator. It is not acquired yet. A list of scopes
        is locked as a whole: the request waits for all of them, and holds nothing meanwhile.

        `shared` locks are held together; with a `limit`, so many may hold it at the same time. `metadata` is shown with
        the lease.
        """
        request = self._request(scope, ttl, shared, limit, metadata, on_deadlock)

        async def hold(its_wait: Optional[float], identity: str) -> LeaseGuard:
            asked = dataclasses.replace(request, wait=its_wait, waiter=identity)
            return LeaseGuard(self._keeping, await self._acquire(asked), on_lost)

        return Lock(request.scope, hold, wait, self._waiters, waiter)

    locked = lock

    async def try_lock(self, scope: Scopes, ttl: float = 30.0, *, shared: bool = False, limit: Optional[int] = None,
                       metadata: str = "", on_lost: Optional[OnLost] = None,
                       waiter: Optional[str] = None) -> Optional[LeaseGuard]:
        """The lock, held, or None if somebody else holds it, or a part of it."""
        return await self.lock(scope, ttl, shared=shared, limit=limit, metadata=metadata, on_lost=on_lost,
                               waiter=waiter).try_acquire()

    async def start_heartbeat(self, lease: Lease, *, on_lost: Optional[OnLost] = None) -> LeaseGuard:
        """Renews a lease, now and from now on. Raises LockLost if it has ended."""
        guard = LeaseGuard(self._keeping, await self.renew(lease), on_lost)
        self._heartbeats[lease.token] = guard
        return guard

    # Leases that you renew.

    async def acquire(self, scope: Scopes, ttl: float = 30.0, *, wait: Optional[float] = 0, shared: bool = False,
                      limit: Optional[int] = None, metadata: str = "", request_id: Optional[str] = None,
                      on_deadlock: str = "refuse", waiter: Optional[str] = None) -> Lease:
        """Acquires a lock, or waits for it in the server's queue. Raises LockHeld or, after a wait, WaitTimedOut;
        DeadlockError if the wait would be one.

        With a `request_id` of your own, a program that was restarted (and has the same owner) finds its lease again.
        """
        request = self._request(scope, ttl, shared, limit, metadata, on_deadlock, request_id)
        return await self._acquire_loosely(dataclasses.replace(request, wait=wait), waiter)

    async def acquire_with_retry(self, scope: Scopes, ttl: float = 30.0, *, shared: bool = False,
                                 limit: Optional[int] = None, metadata: str = "", max_retries: int = 50,
                                 min_retry: float = 0.025, max_retry: float = 1.0, jitter: float = 0.2,
                                 max_total_wait: Optional[float] = None, waiter: Optional[str] = None,
                                 owner: Optional[str] = None) -> Lease:
        """Acquires a lock by repeated requests, at the pace that the server recommends, without a place in the queue.
        Prefer `acquire(wait=...)`, which is served in order. Raises the last LockHeld. `owner` stands for that of the
        client. Nothing renews the lease until `start_heartbeat`."""
        request = self._request(scope, ttl, shared, limit, metadata, "wait", owner=owner)
        pace = calls.RetryPace(max_retries, min_retry, max_retry, jitter, max_total_wait)
        while True:
            try:
                return await self._acquire_loosely(request, waiter)
            except LockHeld as held:
                await self._runner.run(pace.pause_after(held))

    async def renew(self, lease: Lease, ttl: Optional[float] = None) -> Lease:
        """The lease lasts for `ttl` (or its old TTL) from now on. Raises LockLost if it has ended. Returns the same
        object."""
        return await self._runner.run(renewal.renew(self._exchange, lease, lease.ttl if ttl is None else ttl))

    async def release(self, lease: Lease) -> bool:
        """Gives the lease back, also if this task is cancelled meanwhile. False if it had ended before."""
        return await self._runner.run_to_the_end(renewal.release(self._exchange, lease))

    async def release_once(self, held: Union[Lease, LeaseGuard, None]) -> bool:
        """Gives back what is held, together with its heartbeat. For a `finally`: it may be called again, and with None.
        False if there was nothing to give back. A guard, or a lease with a heartbeat, gives the same
        answer each time."""
        if held is None:
            return False
        guard = self._heartbeats.get(held.token) if isinstance(held, Lease) else held
        return await (self.release(cast(Lease, held)) if guard is None else guard.release())

    # Looking at locks, and ending those of others.

    async def get(self, scope: Scope, *, queue: bool = False) -> Json:
        """A lock as the server shows it: `held`, `owner_id`, `fencing_token` ...; with `queue`, also the waiters."""
        return await self._runner.run(calls.get_lock(self._exchange, scope, queue))

    def list(self, prefix: str = "", *, page_size: int = 100) -> AsyncIterator[Json]:
        """All locks that are held or waited for, and whose names begin with the prefix."""
        return self._runner.iterate(calls.list_pages(self._exchange, "locks", prefix=prefix, limit=page_size))

    def leases(self, *, kind: str = "", holder: str = "", inode: Optional[int] = None, path: str = "",
               page_size: int = 100) -> AsyncIterator[Json]:
        """All live leases, the oldest first, without their tokens."""
        return self._runner.iterate(calls.list_pages(self._exchange, "leases", kind=kind, holder=holder, inode=inode,
                                                     path=path, limit=page_size))

    def history(self, scope: Optional[Scope] = None, *, prefix: str = "", owner: str = "", since: Optional[Time] = None,
                until: Optional[Time] = None, page_size: int = 100) -> AsyncIterator[Json]:
        """The leases that have ended, the newest first, as the server remembers them: of one lock, of those whose names
        begin with the prefix, of one owner, of a time (seconds since 1970, or a datetime)."""
        return self._runner.iterate(calls.history(self._exchange, scope, page_size, prefix=prefix, owner=owner,
                                                  since=to_unix_milliseconds(since),
                                                  until=to_unix_milliseconds(until)))

    async def get_lease(self, token: str) -> Lease:
        """The lease with this token. It is guaranteed only after a renewal. Raises LockLost if there is none."""
        return await self._runner.run(calls.get_lease(self._exchange, token))

    async def force_release(self, scope: Scope) -> int:
        """Ends every lease on a lock, whoever holds it, and returns their number. For admins. Asked only once."""
        return await self._runner.run(calls.force_release(self._exchange, scope))

    # Fences.

    async def pass_fence(self, resource: str, token: Union[int, Lease, LeaseGuard]) -> int:
        """To be called before every use of a resource that cannot compare fencing tokens itself. Raises StaleFence if a
        larger one was used before; else returns the largest, which is this one."""
        fencing_token = token if isinstance(token, int) else token.fencing_token
        return await self._runner.run(calls.pass_fence(self._exchange, resource, fencing_token))

    async def get_fence(self, resource: str) -> Optional[int]:
        """The largest fencing token that was used for the resource, if there was one."""
        return await self._runner.run(calls.get_fence(self._exchange, resource))

    async def drop_fence(self, resource: str) -> None:
        """Forgets the resource: the next fencing token is accepted, whatever it is. For admins. Asked only once."""
        await self._runner.run(calls.drop_fence(self._exchange, resource))

    async def check(self, token: Union[str, Lease, LeaseGuard], scope: Scope) -> Lease:
        """Whether the holder of a lease's token may now do work that needs a lock on `scope`. Returns the lease: a
        shared one (`mode`) is not enough to write. Raises LockLost or ScopeMismatch."""
        lease = token.lease if isinstance(token, LeaseGuard) else token
        return await self._runner.run(calls.check(self._exchange, token_of(lease), scope))

    # Elections: an election is a lock, and the leader is its holder.

    async def campaign(self, election: str, value: str = "", ttl: float = 30.0, *, wait: Optional[float] = None,
                       on_lost: Optional[OnLost] = None, on_deadlock: str = "refuse",
                       waiter: Optional[str] = None) -> Leadership:
        """Waits until this client leads. It leads while the guard is held, and resigns by releasing it. Others see the
        `value`, for example an address; `set_value` of the guard changes it."""
        request = self._request(f"named:{election}", ttl, False, None, "", on_deadlock, value=value)
        chain = self._waiters.chain(waiter)
        lease = await self._acquire(dataclasses.replace(request, wait=wait, waiter=chain.identity))
        leadership = Leadership(self._keeping, lease, on_lost)
        leadership._borrow(chain)
        return leadership

    def observe(self, election: str) -> AsyncIterator[Optional[Leader]]:
        """The leader, or None: now, and after every change of the leader or its value. Without an end."""
        return self._runner.iterate(following.observe(self._exchange, election))

    # What happens.

    def watch(self, prefix: str = "", *, after: Optional[int] = None,
              on_open: Optional[Callable[[], None]] = None) -> AsyncIterator[Event]:
        """The events of locks whose names begin with the prefix: from now on, or after the event with that id.

        Without an end: if the connection breaks, it goes on after the last event. An event `gap`
        says that the server does not remember all that happened meanwhile. `on_open` is called whenever a stream of
        events begins.
        """
        return self._runner.iterate(following.watch(self._exchange, prefix, after, on_open))

    # How it is done.

    async def _acquire(self, request: LeaseRequest) -> Lease:
        acquisition = Acquisition(self._exchange, request)
        try:
            return await self._runner.run(acquisition.run())
        except Exception:
            raise
        except BaseException:  # such as asyncio.CancelledError
            if acquisition.may_hold:
                await self._runner.run_to_the_end(acquisition.abandon())
            raise

    async def _acquire_loosely(self, request: LeaseRequest, waiter: Optional[str]) -> Lease:
        """A lease without a block."""
        chain = self._waiters.chain(waiter)
        lease = await self._acquire(dataclasses.replace(request, waiter=chain.identity))
        chain.is_lent = True
        return lease

    async def _set_value(self, lease: Lease, value: str) -> None:
        await self._runner.run(calls.set_value(self._exchange, lease, value))

    async def _renew_once(self, lease: Lease, timeout: float) -> None:
        await self._runner.run(renewal.renew_once(self._exchange, lease, lease.ttl, timeout))
