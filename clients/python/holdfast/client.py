"""The blocking client."""

from __future__ import annotations

import dataclasses
import ssl
import weakref
from types import TracebackType
from typing import Callable, Iterator, Optional, Type, TypeVar, Union, cast

from . import calls, following, renewal
from .acquisition import Acquisition, LeaseRequest
from .base import BaseClient, token_of
from .errors import Cancelled, LockHeld
from .heartbeat import Heartbeat, OnLost
from .lease import Event, Json, Leader, Lease, Time, clock, to_unix_milliseconds
from .lock import Keeping, Leadership, LeaseGuard, Lock
from .runner import Runner
from .scope import Scope, Scopes
from .stop import Stop
from .transport import Transport
from .waiters import ThreadWaiters

G = TypeVar("G", bound=LeaseGuard)

_LAST_TRY_FOR = 3.0


class Client(BaseClient):
    __doc__ = f"{BaseClient.__doc__}\n    May be used by many threads at once."

    def _connect_by(self, tls: Optional[ssl.SSLContext]) -> None:
        self._transport = Transport(tls)
        self._runner = Runner(self._transport)
        self._waiters = ThreadWaiters()
        self._keeping = Keeping(Heartbeat(self._renew_once), self.release, self._set_value, self._waiters)
        # By the token of the lease, as long as it is renewed.
        self._heartbeats: weakref.WeakValueDictionary[str, LeaseGuard] = weakref.WeakValueDictionary()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections. What is held stays held."""
        self._transport.close()

    # Locks that renew themselves.

    def lock(self, scope: Scopes, ttl: float = 30.0, *, wait: Optional[float] = None, shared: bool = False,
             limit: Optional[int] = None, metadata: str = "", on_lost: Optional[OnLost] = None,
             stop: Optional[Stop] = None, on_deadlock: str = "refuse", waiter: Optional[str] = None) -> Lock:
        """A lock for `with`, or for a function as a decorator. It is not acquired yet. A list of scopes is locked as a
        whole: the request waits for all of them, and holds nothing meanwhile.

        `shared` locks are held together; with a `limit`, so many may hold it at the same time. `metadata` is shown with
        the lease. Setting `stop` ends the wait.
        """
        request = self._request(scope, ttl, shared, limit, metadata, on_deadlock)

        def hold(its_wait: Optional[float], identity: str) -> LeaseGuard:
            asked = dataclasses.replace(request, wait=its_wait, waiter=identity)
            return self._guard(LeaseGuard, self._acquire(asked, stop), on_lost)

        return Lock(request.scope, hold, wait, self._waiters, waiter)

    locked = lock

    def try_lock(self, scope: Scopes, ttl: float = 30.0, *, shared: bool = False, limit: Optional[int] = None,
                 metadata: str = "", on_lost: Optional[OnLost] = None,
                 waiter: Optional[str] = None) -> Optional[LeaseGuard]:
        """The lock, held, or None if somebody else holds it, or a part of it."""
        return self.lock(scope, ttl, shared=shared, limit=limit, metadata=metadata, on_lost=on_lost,
                         waiter=waiter).try_acquire()

    def start_heartbeat(self, lease: Lease, *, on_lost: Optional[OnLost] = None) -> LeaseGuard:
        """Renews a lease, now and from now on. Raises LockLost if it has ended."""
        guard = self._guard(LeaseGuard, self.renew(lease), on_lost)
        guard._hold.guard = guard  # the program may need the lease only
        self._heartbeats[lease.token] = guard
        return guard

    # Leases that you renew.

    def acquire(self, scope: Scopes, ttl: float = 30.0, *, wait: Optional[float] = 0, shared: bool = False,
                limit: Optional[int] = None, metadata: str = "", request_id: Optional[str] = None,
                stop: Optional[Stop] = None, on_deadlock: str = "refuse", waiter: Optional[str] = None) -> Lease:
        """Acquires a lock, or waits for it in the server's queue. Raises LockHeld or, after a wait, WaitTimedOut;
        DeadlockError if the wait would be one.

        With a `request_id` of your own, a program that was restarted (and has the same owner) finds its lease again.
        """
        request = self._request(scope, ttl, shared, limit, metadata, on_deadlock, request_id)
        return self._acquire_loosely(dataclasses.replace(request, wait=wait), waiter, stop)

    def acquire_with_retry(self, scope: Scopes, ttl: float = 30.0, *, shared: bool = False,
                           limit: Optional[int] = None, metadata: str = "", max_retries: int = 50,
                           min_retry: float = 0.025, max_retry: float = 1.0, jitter: float = 0.2,
                           max_total_wait: Optional[float] = None, stop: Optional[Stop] = None,
                           waiter: Optional[str] = None, owner: Optional[str] = None) -> Lease:
        """Acquires a lock by repeated requests, at the pace that the server recommends, without a place in the queue.
        Prefer `acquire(wait=...)`, which is served in order. Raises the last LockHeld. `owner` stands for that of the
        client. Nothing renews the lease until `start_heartbeat`."""
        request = self._request(scope, ttl, shared, limit, metadata, "wait", owner=owner)
        pace = calls.RetryPace(max_retries, min_retry, max_retry, jitter, max_total_wait)
        while True:
            try:
                return self._acquire_loosely(request, waiter, stop)
            except LockHeld as held:
                self._runner.run(pace.pause_after(held), stop)

    def renew(self, lease: Lease, ttl: Optional[float] = None) -> Lease:
        """The lease lasts for `ttl` (or its old TTL) from now on. Raises LockLost if it has ended. Returns the same
        object."""
        return self._runner.run(renewal.renew(self._exchange, lease, lease.ttl if ttl is None else ttl))

    def release(self, lease: Lease) -> bool:
        """Gives the lease back. False if it had ended before."""
        try:
            return self._runner.run(renewal.release(self._exchange, lease))
        except Exception:
            raise
        except BaseException:  # interrupted: it is given back nevertheless
            self._runner.run(renewal.release_within(self._exchange, lease, clock() + _LAST_TRY_FOR))
            raise

    def release_once(self, held: Union[Lease, LeaseGuard, None]) -> bool:
        """Gives back what is held, together with its heartbeat. For a `finally`: it may be called again, and with None.
        False if there was nothing to give back. A guard, or a lease with a heartbeat, gives the same
        answer each time."""
        if held is None:
            return False
        guard = self._heartbeats.get(held.token) if isinstance(held, Lease) else held
        return self.release(cast(Lease, held)) if guard is None else guard.release()

    # Looking at locks, and ending those of others.

    def get(self, scope: Scope, *, queue: bool = False) -> Json:
        """A lock as the server shows it: `held`, `owner_id`, `fencing_token` ...; with `queue`, also the waiters."""
        return self._runner.run(calls.get_lock(self._exchange, scope, queue))

    def list(self, prefix: str = "", *, page_size: int = 100) -> Iterator[Json]:
        """All locks that are held or waited for, and whose names begin with the prefix."""
        return self._runner.iterate(calls.list_pages(self._exchange, "locks", prefix=prefix, limit=page_size))

    def leases(self, *, kind: str = "", holder: str = "", inode: Optional[int] = None, path: str = "",
               page_size: int = 100) -> Iterator[Json]:
        """All live leases, the oldest first, without their tokens."""
        return self._runner.iterate(calls.list_pages(self._exchange, "leases", kind=kind, holder=holder, inode=inode,
                                                     path=path, limit=page_size))

    def history(self, scope: Optional[Scope] = None, *, prefix: str = "", owner: str = "", since: Optional[Time] = None,
                until: Optional[Time] = None, page_size: int = 100) -> Iterator[Json]:
        """The leases that have ended, the newest first, as the server remembers them: of one lock, of those whose names
        begin with the prefix, of one owner, of a time (seconds since 1970, or a datetime)."""
        return self._runner.iterate(calls.history(self._exchange, scope, page_size, prefix=prefix, owner=owner,
                                                  since=to_unix_milliseconds(since),
                                                  until=to_unix_milliseconds(until)))

    def get_lease(self, token: str) -> Lease:
        """The lease with this token. It is guaranteed only after a renewal. Raises LockLost if there is none."""
        return self._runner.run(calls.get_lease(self._exchange, token))

    def force_release(self, scope: Scope) -> int:
        """Ends every lease on a lock, whoever holds it, and returns their number. For admins. Asked only once."""
        return self._runner.run(calls.force_release(self._exchange, scope))

    # Fences.

    def pass_fence(self, resource: str, token: Union[int, Lease, LeaseGuard]) -> int:
        """To be called before every use of a resource that cannot compare fencing tokens itself. Raises StaleFence if a
        larger one was used before; else returns the largest, which is this one."""
        fencing_token = token if isinstance(token, int) else token.fencing_token
        return self._runner.run(calls.pass_fence(self._exchange, resource, fencing_token))

    def get_fence(self, resource: str) -> Optional[int]:
        """The largest fencing token that was used for the resource, if there was one."""
        return self._runner.run(calls.get_fence(self._exchange, resource))

    def drop_fence(self, resource: str) -> None:
        """Forgets the resource: the next fencing token is accepted, whatever it is. For admins. Asked only once."""
        self._runner.run(calls.drop_fence(self._exchange, resource))

    def check(self, token: Union[str, Lease, LeaseGuard], scope: Scope) -> Lease:
        """Whether the holder of a lease's token may now do work that needs a lock on `scope`. Returns the lease: a
        shared one (`mode`) is not enough to write. Raises LockLost or ScopeMismatch."""
        lease = token.lease if isinstance(token, LeaseGuard) else token
        return self._runner.run(calls.check(self._exchange, token_of(lease), scope))

    # Elections: an election is a lock, and the leader is its holder.

    def campaign(self, election: str, value: str = "", ttl: float = 30.0, *, wait: Optional[float] = None,
                 on_lost: Optional[OnLost] = None, stop: Optional[Stop] = None, on_deadlock: str = "refuse",
                 waiter: Optional[str] = None) -> Leadership:
        """Waits until this client leads. It leads while the guard is held, and resigns by releasing it. Others see the
        `value`, for example an address; `set_value` of the guard changes it."""
        request = self._request(f"named:{election}", ttl, False, None, "", on_deadlock, value=value)
        chain = self._waiters.chain(waiter)
        lease = self._acquire(dataclasses.replace(request, wait=wait, waiter=chain.identity), stop)
        leadership = self._guard(Leadership, lease, on_lost)
        leadership._borrow(chain)
        return leadership

    def observe(self, election: str, *, stop: Optional[Stop] = None) -> Iterator[Optional[Leader]]:
        """The leader, or None: now, and after every change of the leader or its value. Without an end, until `stop` is
        set."""
        return self._runner.iterate(following.observe(self._exchange, election), stop)

    # What happens.

    def watch(self, prefix: str = "", *, after: Optional[int] = None, on_open: Optional[Callable[[], None]] = None,
              stop: Optional[Stop] = None) -> Iterator[Event]:
        """The events of locks whose names begin with the prefix: from now on, or after the event with that id.

        Without an end, until `stop` is set: if the connection breaks, it goes on after the last event. An event `gap`
        says that the server does not remember all that happened meanwhile. `on_open` is called whenever a stream of
        events begins.
        """
        return self._runner.iterate(following.watch(self._exchange, prefix, after, on_open), stop)

    # How it is done.

    def _acquire(self, request: LeaseRequest, stop: Optional[Stop]) -> Lease:
        acquisition = Acquisition(self._exchange, request)
        try:
            return self._runner.run(acquisition.run(), stop)
        except BaseException as problem:
            is_stopped = isinstance(problem, Cancelled) or not isinstance(problem, Exception)
            if is_stopped and acquisition.may_hold:
                self._runner.run(acquisition.abandon())
            raise

    def _acquire_loosely(self, request: LeaseRequest, waiter: Optional[str], stop: Optional[Stop]) -> Lease:
        """A lease without a block."""
        chain = self._waiters.chain(waiter)
        lease = self._acquire(dataclasses.replace(request, waiter=chain.identity), stop)
        chain.is_lent = True
        return lease

    def _guard(self, kind: Type[G], lease: Lease, on_lost: Optional[OnLost]) -> G:
        try:
            return kind(self._keeping, lease, on_lost)
        except BaseException:  # the system has no thread
            self.release(lease)
            raise

    def _set_value(self, lease: Lease, value: str) -> None:
        self._runner.run(calls.set_value(self._exchange, lease, value))

    def _renew_once(self, lease: Lease, timeout: float) -> None:
        self._runner.run(renewal.renew_once(self._exchange, lease, lease.ttl, timeout))
