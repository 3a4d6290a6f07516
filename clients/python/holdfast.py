"""A client of Holdfast, the lock server. One file, nothing but the standard library, Python 3.9 and later.

    import holdfast

    client = holdfast.Client()
    with client.lock("nightly-backup", ttl=30) as lock:
        for part in parts:
            lock.check()                    # raises LockLost as soon as the lock is not certainly ours
            store(part, lock.fencing_token)

A lock is a lease: the server takes it back from a holder that stays away for longer than its TTL. A `Lock` renews its
lease every third of the TTL, and judges by a clock of this machine how long it can be sure of it: from *before* the
last confirmed request was sent, and less a margin of min(5 s, TTL/6). When that is over, or the server says that the
lease is, `lost` is set, `on_lost` is called and `check()` raises, before the server can give the lock to anybody else.

Every request without an answer is repeated, for `retry_for` seconds. An acquire carries an id by which the server
knows it: if only its answer was lost, the repetition finds the same lease, and nothing is left behind that nobody knows
of. What cannot be known to be harmless twice, ending other people's leases, is asked once.

Times are seconds. A `Client` may be used by many threads at once.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import math
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

__version__ = "0.1.0"
__all__ = ["BadRequest", "Client", "Event", "Forbidden", "HoldfastError", "Lease", "Lock", "LockHeld", "LockLost",
           "ScopeMismatch", "ServerUnavailable", "StaleFence", "Unauthorized", "WaitTimedOut"]

Json = Dict[str, Any]
Scope = Union[str, Json]

_log = logging.getLogger("holdfast")

_ANSWER_MAX = 600.0            # the server answers after this time at the latest; to wait longer, ask again
_ENDLESS = 365 * 86400.0       # to the server, a wait of this length has no end
_EVENTS_SILENCE_MAX = 45.0     # the server says something every 15 s
_IDLE_CONNECTIONS_MAX = 8
_SOCKET_PATH_MAX = 107         # bytes; the system allows no more for a Unix socket
_WATCH_INTERVAL_MAX = 1.0


def _clock() -> float:
    """A clock that nobody can set. Where the system has one, it goes on while the machine is asleep."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


# --- What can go wrong -----------------------------------------------------------------------------------------------


class HoldfastError(Exception):
    """The base of all errors of this client."""


class LockHeld(HoldfastError):
    """Somebody else holds the lock.

    `holder` has it until `expires_at` (seconds since 1970, by the server's clock), as far as known; asking again makes
    sense in `retry_after` seconds.
    """

    def __init__(self, name: str, holder: Optional[str] = None, expires_at: Optional[float] = None,
                 retry_after: Optional[float] = None, what: str = "is held") -> None:
        super().__init__(f"{name} {what}" + (f" by {holder}" if holder else ""))
        self.name, self.holder, self.expires_at, self.retry_after = name, holder, expires_at, retry_after


class WaitTimedOut(LockHeld):
    """Somebody else held the lock until the end of the wait."""


class LockLost(HoldfastError):
    """The lease has ended, or may have ended: stop the work that it protects."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the lock on {name} is lost: {reason}")
        self.name, self.reason = name, reason


class StaleFence(HoldfastError):
    """The resource was used under a larger fencing token: somebody else has had the lock since then. Do not write."""

    def __init__(self, resource: str, fencing_token: int, highest: int) -> None:
        super().__init__(f"{resource} has seen {highest}, which is more than {fencing_token}")
        self.resource, self.fencing_token, self.highest = resource, fencing_token, highest


class ScopeMismatch(HoldfastError):
    """The token is valid, but for another scope, `scope`."""

    def __init__(self, message: str, scope: Json) -> None:
        super().__init__(message)
        self.scope = scope


class Unauthorized(HoldfastError):
    """The token is wrong, or missing."""


class Forbidden(HoldfastError):
    """The request needs the admin's token."""


class BadRequest(HoldfastError):
    """The server does not understand the request, or will never do it; `status` is that of its answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ServerUnavailable(HoldfastError):
    """The server cannot be reached, does not answer in time, or cannot write to its disk."""


# --- Requests and answers --------------------------------------------------------------------------------------------


class _NoAnswer(Exception):
    """There is no answer; the request may have had an effect."""


@dataclass(frozen=True)
class _Answer:
    status: int
    body: Json

    @property
    def reason(self) -> str:
        """Why not, in the words of either door."""
        return str(self.body.get("reason") or self.body.get("error") or f"status {self.status}")

    @property
    def retry_after(self) -> Optional[float]:
        hint = self.body.get("recommended_retry_ms")
        return None if hint is None else hint / 1000

    @property
    def is_temporary(self) -> bool:
        return self.status in (502, 503, 504) or self.reason == "BUSY_RETRY"

    def failure(self) -> HoldfastError:
        """The error for an answer that is not the refusal of a lock."""
        message = str(self.body.get("message") or self.reason)
        if self.status == 401:
            return Unauthorized(message)
        if self.status == 403:
            return Forbidden(message)
        return BadRequest(message, self.status)


class _Patience:
    """Decides when a request is repeated: first at once, then after longer and longer pauses, for `retry_for`."""

    def __init__(self, retry_for: float) -> None:
        self._retry_for = retry_for
        self.reset()

    def reset(self) -> None:
        self._until: Optional[float] = None
        self._delay = 0.0

    def pause(self, problem: str) -> None:
        now = _clock()
        if self._until is None:
            self._until = now + self._retry_for
        delay = self._delay * random.uniform(0.8, 1.2)
        if now + delay >= self._until:
            raise ServerUnavailable(problem)
        self._delay = min(max(2 * self._delay, 0.05), 1.0)
        time.sleep(delay)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket; the Host header says `localhost`."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            wire.settimeout(self.timeout)
            wire.connect(self._path)
        except BaseException:
            wire.close()
            raise
        self.sock = wire


class _Transport:
    """Sends one request and reads one answer. Idle connections are used again."""

    def __init__(self, server: str, token: Optional[str], token_file: Optional[str], ca_file: Optional[str]) -> None:
        self.server = server
        self._socket_path = server[len("unix:"):] if server.startswith("unix:") else ""
        self._tls: Optional[ssl.SSLContext] = None
        self._root = ""
        if self._socket_path:
            if len(os.fsencode(self._socket_path)) > _SOCKET_PATH_MAX:
                raise ValueError(f"the path of {server!r} has more than {_SOCKET_PATH_MAX} bytes")
        else:
            url = urllib.parse.urlsplit(server)
            if url.scheme not in ("http", "https") or not url.hostname:
                raise ValueError(f"{server!r} is no http:// or https:// URL, and no unix:PATH")
            self._host, self._port, self._root = url.hostname, url.port, url.path.rstrip("/")
            if url.scheme == "https":
                self._tls = ssl.create_default_context(cafile=ca_file)
        self._token_file = token_file
        self._token = token if token is not None else self._read_token()
        self._mutex = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []

    def exchange(self, method: str, path: str, body: Optional[Json], timeout: float, is_repeatable: bool) -> _Answer:
        """Raises _NoAnswer. A request that is not repeatable gets a new connection: an idle one may be closed."""
        answer = self._exchange(method, path, body, timeout, is_repeatable)
        if answer.status == 401 and self._has_new_token():
            answer = self._exchange(method, path, body, timeout, is_repeatable)
        return answer

    def _exchange(self, method: str, path: str, body: Optional[Json], timeout: float, may_reuse: bool) -> _Answer:
        connection = self._take() if may_reuse else self._connection()
        try:
            response = self._send(connection, method, path, timeout, body)
            text = response.read()
            if response.will_close:
                connection.close()
        except ssl.SSLCertVerificationError as problem:
            connection.close()
            raise ServerUnavailable(f"{self.server}: {problem}") from problem
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise _NoAnswer(f"{self.server}: {problem or type(problem).__name__}") from problem
        except BaseException:
            connection.close()  # the server sees that, and removes us from its queue
            raise
        self._give_back(connection)
        return _Answer(response.status, _read_json(text))

    @contextlib.contextmanager
    def stream(self, path: str, headers: Dict[str, str], timeout: float) -> Iterator[http.client.HTTPResponse]:
        """A stream without an end. Raises _NoAnswer when it breaks or ends."""
        connection = self._connection()
        try:
            response = self._send(connection, "GET", path, timeout, headers=headers)
            if response.status == 401 and self._has_new_token():
                raise _NoAnswer("the token has changed")
            if response.status != 200:
                answer = _Answer(response.status, _read_json(response.read()))
                raise _NoAnswer(answer.reason) if answer.is_temporary else answer.failure()
            if connection.sock:
                connection.sock.settimeout(_EVENTS_SILENCE_MAX)
            yield response
        except (OSError, http.client.HTTPException) as problem:
            raise _NoAnswer(f"{self.server}: {problem or type(problem).__name__}") from problem
        finally:
            connection.close()

    def close(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, method: str, path: str, timeout: float,
              body: Optional[Json] = None, headers: Optional[Dict[str, str]] = None) -> http.client.HTTPResponse:
        connection.timeout = timeout
        is_new = connection.sock is None
        if is_new:
            connection.connect()
        wire: socket.socket = connection.sock
        if is_new and not self._socket_path:
            _keep_alive(wire)
        wire.settimeout(timeout)
        headers = dict(headers or {})
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        connection.request(method, self._root + path, None if body is None else json.dumps(body).encode(), headers)
        return connection.getresponse()

    def _connection(self) -> http.client.HTTPConnection:
        if self._socket_path:
            return _UnixConnection(self._socket_path)
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port)
        return http.client.HTTPSConnection(self._host, self._port, context=self._tls)

    def _take(self) -> http.client.HTTPConnection:
        with self._mutex:
            return self._idle.pop() if self._idle else self._connection()

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._mutex:
            if connection.sock is not None and len(self._idle) < _IDLE_CONNECTIONS_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def _read_token(self) -> Optional[str]:
        if not self._token_file:
            return None
        with open(self._token_file, encoding="ascii") as file:
            return file.readline().strip()

    def _has_new_token(self) -> bool:
        """Whether the file has another token than the one that was sent: tokens are replaced while we run."""
        try:
            token = self._read_token()
        except OSError:
            return False
        is_new = token is not None and token != self._token
        if is_new:
            self._token = token
        return is_new


def _keep_alive(connection: socket.socket) -> None:
    """Lets the system notice that the other side is gone for good while we wait for an answer."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _read_json(text: bytes) -> Json:
    try:
        body = json.loads(text)
    except ValueError:
        body = {"error": text.decode(errors="replace").strip() or "an empty answer"}
    return body if isinstance(body, dict) else {"error": "an answer that is no JSON object"}


def _quote(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _query(**parameters: Any) -> str:
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return "?" + urllib.parse.urlencode(given) if given else ""


def _milliseconds(seconds: float) -> int:
    return max(int(round(seconds * 1000)), 0)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _scope_text(scope: Json) -> str:
    kind = scope.get("kind", "")
    if kind == "range":
        return f"range:{scope.get('inode')}:{scope.get('start')}-{scope.get('end', '')}"
    return f"{kind}:{scope.get('name', scope.get('path', scope.get('inode', '')))}"


# --- Leases and locks ------------------------------------------------------------------------------------------------


@dataclass
class Lease:
    """A lock that is held until a deadline. It is not renewed by itself; `Lock` is.

    `expires_at` is by the server's clock, in seconds since 1970; `guaranteed_until` by ours, and with a margin.
    """

    name: str
    owner: str
    fencing_token: int
    ttl: float
    expires_at: float
    guaranteed_until: float
    mode: str = "exclusive"
    metadata: str = ""
    lease_id: str = ""             # of a lock under /v1/locks
    token: str = ""                # of a lease under /v1/leases
    scope: Optional[Json] = None   # of the same

    def is_guaranteed(self) -> bool:
        """Whether nobody else can have the lock yet, judged by this machine's clock alone."""
        return _clock() < self.guaranteed_until

    @property
    def margin(self) -> float:
        return min(5.0, self.ttl / 6)

    def _confirm(self, sent_at: float, ttl: float) -> None:
        """The lease was granted by a request that was sent at this time, so it began no earlier."""
        self.ttl = ttl
        until = sent_at + ttl - self.margin
        self.guaranteed_until = until if self.token else max(self.guaranteed_until, until)

    def _prepare_for(self, sent_at: float, ttl: float) -> None:
        """A lease under /v1/leases can be made shorter, also by a request whose answer is lost."""
        if self.token and ttl < self.ttl:
            self.guaranteed_until = min(self.guaranteed_until, sent_at + ttl - min(5.0, ttl / 6))


class Lock:
    """A lock that renews itself while it is held, and tells when it is lost. Made by `Client.lock` and `Client.lease`.

    As a context manager it is acquired on entry, if it is not yet, and released on exit. If it was lost meanwhile, the
    end of the block raises LockLost, unless something else is raised already.

    `lost` is a threading.Event: wait for it, or look at it between two steps. `on_lost` is called with the LockLost,
    once, in a thread of its own. A lock that is lost stays lost.
    """

    def __init__(self, client: "Client", name: str, acquire: Callable[[], Lease],
                 on_lost: Optional[Callable[[LockLost], None]] = None) -> None:
        self.name = name
        self.lost = threading.Event()
        self._client, self._acquire, self._on_lost = client, acquire, on_lost
        self._mutex = threading.Lock()
        self._done = threading.Event()  # released or lost: the threads may end
        self._lease: Optional[Lease] = None
        self._loss: Optional[LockLost] = None
        self._problem = ""
        self._was_released: Optional[bool] = None

    def acquire(self) -> "Lock":
        """Acquires the lock and starts to renew it. May be called once."""
        if self._lease is not None:
            raise HoldfastError(f"{self.name} was acquired by this object before; make another one")
        self._lease = self._acquire()
        for work in (self._renew_for_ever, self._watch):
            threading.Thread(target=work, name=f"holdfast {self.name}", daemon=True).start()
        return self

    @property
    def lease(self) -> Lease:
        if self._lease is None:
            raise HoldfastError(f"{self.name} is not acquired yet")
        return self._lease

    @property
    def fencing_token(self) -> int:
        """Larger than that of every grant before: pass it on with every write."""
        return self.lease.fencing_token

    def is_held(self) -> bool:
        """Whether the lock is certainly ours now. Correct also in a process that was stopped and continues."""
        if self._lease is None or self._done.is_set():
            return False
        if not self._lease.is_guaranteed():
            self._lose("no renewal was confirmed in time" + self._problem)
            return False
        return True

    def check(self) -> None:
        """Raises LockLost unless the lock is certainly ours now."""
        if self.is_held():
            return
        raise self._loss or LockLost(self.name, "it was released" if self._lease else "it was never acquired")

    def release(self) -> bool:
        """Releases the lock. Further calls do nothing. False if the lease had ended before.

        Raises ServerUnavailable if the server cannot be told; the lease then ends by itself.
        """
        lease = self.lease
        with self._mutex:
            if self._was_released is not None:
                return self._was_released
            self._was_released = False
            self._done.set()
        self._was_released = self._client.release(lease)
        return self._was_released

    def __enter__(self) -> "Lock":
        return self if self._lease is not None else self.acquire()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        is_lost = self._was_released is None and not self.is_held()
        try:
            self.release()
        except HoldfastError as problem:
            _log.warning("%s could not be released, and ends in %.1f s at the latest: %s", self.name, self.lease.ttl,
                         problem)
        if is_lost and error is None:
            raise self._loss or LockLost(self.name, "it is over")

    def _renew_for_ever(self) -> None:
        lease = self.lease
        pause = lease.ttl / 3
        while not self._done.wait(pause):
            try:
                self._client._renew(lease, lease.ttl, timeout=max(lease.guaranteed_until - _clock(), 0.05))
                pause, self._problem = lease.ttl / 3, ""
            except LockLost as loss:
                return self._lose(loss.reason)
            except (HoldfastError, _NoAnswer) as problem:
                pause, self._problem = lease.ttl / 12, f" ({problem})"

    def _watch(self) -> None:
        """Notices the end of the guarantee, also while a renewal is stuck. Looks at the clock often: that has gone on
        while the machine was asleep, and timers have not."""
        lease = self.lease
        while not self._done.wait(min(max(lease.guaranteed_until - _clock(), 0.0), _WATCH_INTERVAL_MAX)):
            self.is_held()

    def _lose(self, reason: str) -> None:
        with self._mutex:
            if self._done.is_set():
                return
            self._loss = LockLost(self.name, reason)
            self._done.set()
            self.lost.set()
        if self._on_lost is not None:
            threading.Thread(target=self._on_lost, args=(self._loss,), name=f"holdfast lost {self.name}",
                             daemon=True).start()


@dataclass(frozen=True)
class Event:
    """An event: `kind` is `granted`, `released`, `expired` ... or `gap` if events are missing."""

    id: Optional[int]
    kind: str
    data: Json


# --- The client ------------------------------------------------------------------------------------------------------


class Client:
    """Talks to one Holdfast server. May be used by many threads at once; `close()` ends its idle connections.

    server      http:// or https:// URL, or unix:/run/holdfast.sock; $HOLDFAST_SERVER, or http://127.0.0.1:8080
    token       the secret; or token_file, whose first line it is; or $HOLDFAST_TOKEN_FILE. The file is read again
                when the server does not accept it any more.
    ca_file     certificates to trust instead of the system's
    timeout     how long to wait for one answer (beyond the time the server was asked to wait for a lock)
    retry_for   how long to ask again when there is none
    owner       who we are; made up from host, process and chance if not given
    """

    def __init__(self, server: Optional[str] = None, *, token: Optional[str] = None, token_file: Optional[str] = None,
                 ca_file: Optional[str] = None, timeout: float = 10.0, retry_for: float = 10.0,
                 owner: Optional[str] = None) -> None:
        if token is None and token_file is None:
            token_file = os.environ.get("HOLDFAST_TOKEN_FILE")
        server = server or os.environ.get("HOLDFAST_SERVER") or "http://127.0.0.1:8080"
        self.owner = owner or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.timeout, self.retry_for = timeout, retry_for
        self._transport = _Transport(server, token, token_file, ca_file)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # Locks that renew themselves.

    def lock(self, name: str, ttl: float = 30.0, *, wait: Optional[float] = None, shared: bool = False,
             limit: Optional[int] = None, metadata: str = "",
             on_lost: Optional[Callable[[LockLost], None]] = None) -> Lock:
        """A lock to be used with `with`. Waits in the server's queue for `wait` seconds, or without an end."""
        return Lock(self, name, lambda: self.acquire(name, ttl, wait=wait, shared=shared, limit=limit,
                                                     metadata=metadata), on_lost)

    def try_lock(self, name: str, ttl: float = 30.0, *, shared: bool = False, limit: Optional[int] = None,
                 metadata: str = "", on_lost: Optional[Callable[[LockLost], None]] = None) -> Optional[Lock]:
        """The lock, acquired, or None if somebody else holds it."""
        try:
            return self.lock(name, ttl, wait=0, shared=shared, limit=limit, metadata=metadata,
                             on_lost=on_lost).acquire()
        except LockHeld:
            return None

    def lease(self, scope: Scope, ttl: float = 30.0, *, wait: Optional[float] = None, shared: bool = False,
              metadata: str = "", on_lost: Optional[Callable[[LockLost], None]] = None) -> Lock:
        """The same for a file, a part of one, or a path: `"range:7:0-4096"`, `"path:/a/b"`, `"inode:7"`, `"named:x"`,
        or the object, `{"kind": "range", "inode": 7, "start": 0, "end": 4096}`."""
        name = scope if isinstance(scope, str) else _scope_text(scope)
        return Lock(self, name, lambda: self.acquire_lease(scope, ttl, wait=wait, shared=shared, metadata=metadata),
                    on_lost)

    # Leases that are not renewed by themselves.

    def acquire(self, name: str, ttl: float = 30.0, *, wait: Optional[float] = 0, shared: bool = False,
                limit: Optional[int] = None, metadata: str = "") -> Lease:
        """Acquires a lock, or waits for it in the server's queue; `wait=None` without an end.

        `shared` holds together with others that are shared; `limit` makes it a semaphore of so many permits. Raises
        LockHeld, and WaitTimedOut after a wait.
        """
        fields: Json = {"owner_id": self.owner, "ttl_ms": _milliseconds(ttl)}
        if shared:
            fields["mode"] = "shared"
        if limit is not None:
            fields["limit"] = limit
        if metadata:
            fields["metadata"] = metadata
        return self._acquire(f"/v1/locks/{_quote(name)}/acquire", name, fields, fields["ttl_ms"] / 1000, wait)

    def acquire_with_retry(self, name: str, ttl: float = 30.0, *, max_retries: int = 50, min_retry: float = 0.025,
                           max_retry: float = 1.0, jitter: float = 0.2, max_total_wait: Optional[float] = None,
                           **options: Any) -> Lease:
        """Acquires a lock by repeated requests, at the pace that the server recommends, without waiting in the queue.

        Prefer `acquire(wait=...)`, which is served in order. Raises the last LockHeld when it gives up.
        """
        deadline = math.inf if max_total_wait is None else _clock() + max_total_wait
        for attempt in range(max_retries + 1):
            try:
                return self.acquire(name, ttl, **options)
            except LockHeld as held:
                pause = min(max(held.retry_after or min_retry, min_retry), max_retry)
                pause *= 1 + random.uniform(-jitter, jitter)
                if attempt == max_retries or _clock() + pause > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("not reached")

    def acquire_lease(self, scope: Scope, ttl: float = 30.0, *, wait: Optional[float] = 0, shared: bool = False,
                      metadata: str = "") -> Lease:
        """Acquires a lease on a scope, as `lease` describes it."""
        fields: Json = {"scope": scope, "holder": self.owner, "duration_ms": _milliseconds(ttl)}
        if shared:
            fields["mode"] = "shared"
        if metadata:
            fields["metadata"] = metadata
        name = scope if isinstance(scope, str) else _scope_text(scope)
        return self._acquire("/v1/leases", name, fields, fields["duration_ms"] / 1000, wait)

    def renew(self, lease: Lease, ttl: Optional[float] = None) -> Lease:
        """Prolongs a lease, by its own TTL or another one, and returns it. Raises LockLost if it has ended."""
        patience = _Patience(self.retry_for)
        while True:
            try:
                self._renew(lease, lease.ttl if ttl is None else ttl, self.timeout)
                return lease
            except _NoAnswer as problem:
                patience.pause(str(problem))

    def release(self, lease: Lease) -> bool:
        """Releases a lease. False if it had ended before; releasing twice does no harm.

        If an answer was lost and the repetition finds the lease gone, it counts as released.
        """
        now = _clock()
        end = lease.guaranteed_until + lease.margin
        patience = _Patience(max(min(self.retry_for, end - now), 0.0))
        is_repeated = False
        while True:
            try:
                timeout = min(self.timeout, max(end - _clock(), 1.0))
                answer = self._ask_once(*_release_request(lease), timeout=timeout)
            except _NoAnswer as problem:
                is_repeated = True
                patience.pause(str(problem))
                continue
            if answer.status in (404, 410):
                return is_repeated
            if answer.status != 200:
                raise answer.failure()
            return bool(answer.body.get("released")) or is_repeated

    # Looking at locks, and ending those of others.

    def get(self, name: str, *, queue: bool = False) -> Json:
        """A lock as the server shows it: `held`, `owner_id`, `lease_expiry_ms` ...; with `queue`, also the waiters."""
        return self._ask("GET", f"/v1/locks/{_quote(name)}" + _query(queue="true" if queue else None))

    def list(self, prefix: str = "", *, page_size: int = 100) -> Iterator[Json]:
        """All locks that are held or waited for, of every kind and door, whose names begin with the prefix."""
        return self._pages("/v1/locks", "locks", prefix=prefix, limit=page_size)

    def leases(self, *, kind: str = "", holder: str = "", inode: Optional[int] = None, path: str = "",
               page_size: int = 100) -> Iterator[Json]:
        """All live leases, of every door, the oldest first."""
        return self._pages("/v1/leases", "leases", kind=kind, holder=holder, inode=inode, path=path, limit=page_size)

    def get_lease(self, token: str) -> Json:
        """The lease with this token, as the server shows it. Raises LockLost if there is none."""
        return self._ask("GET", f"/v1/leases/{_quote(token)}", about=token)

    def force_release(self, name: str) -> int:
        """Ends every lease on the lock, whoever holds it, and says how many there were. An admin's; asked only once."""
        return int(self._ask("DELETE", f"/v1/locks/{_quote(name)}", is_repeatable=False)["holders"])

    # Fences.

    def fence(self, resource: str, token: Union[int, Lease, Lock]) -> int:
        """To be called before every write to a resource that cannot compare fencing tokens itself.

        Raises StaleFence if a larger one was shown before. Returns the largest shown, which is this one.
        """
        number = token if isinstance(token, int) else token.fencing_token
        return int(self._ask("POST", f"/v1/fence/{_quote(resource)}", {"fencing_token": number})["highest"])

    def get_fence(self, resource: str) -> Optional[int]:
        """The largest fencing token that was used for the resource."""
        try:
            return int(self._ask("GET", f"/v1/fence/{_quote(resource)}")["highest"])
        except BadRequest as error:
            if error.status == 404:
                return None
            raise

    def drop_fence(self, resource: str) -> None:
        """Forgets the resource, so that any number is accepted next. An admin's; asked only once."""
        self._ask("DELETE", f"/v1/fence/{_quote(resource)}", is_repeatable=False)

    def check(self, token: Union[str, Lease, Lock], scope: Scope) -> Json:
        """Whether the token is that of a live lease which covers the scope: for whoever does the protected work.

        Returns the lease as the server shows it; look at its `mode`. Raises LockLost or ScopeMismatch.
        """
        if isinstance(token, Lock):
            token = token.lease
        text = token.token if isinstance(token, Lease) else token
        return self._ask("POST", "/v1/fence/check", {"token": text, "scope": scope}, about=text)

    # What happens.

    def events(self, prefix: str = "", *, after: Optional[int] = None) -> Iterator[Event]:
        """The events of locks whose names begin with the prefix, from now on or after the event of that id.

        Without an end: if the connection breaks, it goes on after the last event seen. An event `gap` says that the
        server could not remember all that happened meanwhile.
        """
        patience = _Patience(self.retry_for)
        while True:
            headers = {"Accept": "text/event-stream"}
            if after is not None:
                headers["Last-Event-ID"] = str(after)
            try:
                with self._transport.stream("/v1/events" + _query(prefix=prefix), headers, self.timeout) as response:
                    patience.reset()
                    for event in _read_events(response):
                        after = after if event.id is None else event.id
                        yield event
                raise _NoAnswer(f"{self._transport.server} ended the stream")
            except _NoAnswer as problem:
                patience.pause(str(problem))

    # How it is done.

    def _ask_once(self, method: str, path: str, body: Optional[Json] = None, *, timeout: Optional[float] = None,
                  is_repeatable: bool = True) -> _Answer:
        """Raises _NoAnswer also for an answer that only says "try again"."""
        answer = self._transport.exchange(method, path, body, self.timeout if timeout is None else timeout,
                                          is_repeatable)
        if answer.is_temporary:
            raise _NoAnswer(str(answer.body.get("message") or answer.reason))
        return answer

    def _ask(self, method: str, path: str, body: Optional[Json] = None, *, about: str = "",
             is_repeatable: bool = True) -> Json:
        """Asks until there is an answer, and returns its body if it is a success."""
        patience = _Patience(self.retry_for if is_repeatable else 0.0)
        while True:
            try:
                answer = self._ask_once(method, path, body, is_repeatable=is_repeatable)
                break
            except _NoAnswer as problem:
                patience.pause(str(problem))
        if answer.status == 200:
            return answer.body
        if answer.reason in ("LockExpired", "LockNotFound"):
            raise LockLost(about, answer.body.get("message", answer.reason))
        if answer.reason == "StaleFence":
            raise StaleFence(answer.body["resource"], answer.body["fencing_token"], answer.body["highest"])
        if answer.reason == "LockScopeMismatch":
            raise ScopeMismatch(answer.body["message"], answer.body["scope"])
        raise answer.failure()

    def _pages(self, resource: str, field: str, **parameters: Any) -> Iterator[Json]:
        after: Optional[str] = None
        while True:
            page = self._ask("GET", resource + _query(after=after, **parameters))
            yield from page[field]
            after = page.get("next")
            if after is None:
                return

    def _acquire(self, path: str, name: str, fields: Json, ttl: float, wait: Optional[float]) -> Lease:
        body = dict(fields)
        try:
            return self._acquire_patiently(path, name, body, ttl, wait)
        except Exception:
            raise
        except BaseException:  # we are being stopped, and may hold the lock by now
            self._abandon(path, name, body, ttl)
            raise

    def _acquire_patiently(self, path: str, name: str, body: Json, ttl: float, wait: Optional[float]) -> Lease:
        deadline = math.inf if wait is None else _clock() + wait
        patience = _Patience(self.retry_for)
        body["request_id"], sent_at = uuid.uuid4().hex, _clock()
        while True:
            left = min(max(deadline - _clock(), 0.0), _ENDLESS)
            body["wait_ms"] = _milliseconds(left)
            try:
                answer = self._ask_once("POST", path, body, timeout=self.timeout + min(left, _ANSWER_MAX))
            except _NoAnswer as problem:
                patience.pause(str(problem))
                continue
            patience.reset()
            if answer.status == 200:
                lease = _read_lease(answer.body, name, ttl)
                lease._confirm(sent_at, ttl)
                if self._is_fresh(lease, sent_at):
                    return lease
            if answer.status == 200 or answer.reason in ("REQUEST_ENDED", "RequestEnded"):
                body["request_id"], sent_at = uuid.uuid4().hex, _clock()  # our lease has ended already: begin anew
            elif not _is_to_be_asked_again(answer, deadline):
                raise self._refusal(answer, name)

    def _is_fresh(self, lease: Lease, sent_at: float) -> bool:
        """If the answer took long, we do not know when the lease began. A renewal tells how long it lasts.
        False if the lease has ended."""
        if _clock() - sent_at < lease.ttl / 3:
            return True
        try:
            self.renew(lease)
            return True
        except LockLost:
            return False

    def _refusal(self, answer: _Answer, name: str) -> HoldfastError:
        body, reason = answer.body, answer.reason
        if reason == "HELD":
            return LockHeld(name, body["current_owner_id"], body["current_expiry_ms"] / 1000, answer.retry_after)
        if reason == "LockHeld":
            return LockHeld(name, body["holder"], _moment(body["expires_at"]))
        if reason in ("WAIT_TIMED_OUT", "WaitTimedOut"):
            return WaitTimedOut(name, retry_after=answer.retry_after, what="was not to be had in time")
        if reason == "LIMIT_MISMATCH":
            return BadRequest(f"the semaphore {name} has another limit", 409)
        return answer.failure()

    def _abandon(self, path: str, name: str, body: Json, ttl: float) -> None:
        """Ends a request that was cancelled: leaves the queue, or releases the lease. Tries for a moment."""
        for _ in range(3):
            with contextlib.suppress(HoldfastError, _NoAnswer):
                answer = self._ask_once("POST", path, {**body, "wait_ms": 0}, timeout=1.0)
                if answer.status == 200:
                    self.release(_read_lease(answer.body, name, ttl))
                return

    def _renew(self, lease: Lease, ttl: float, timeout: float) -> None:
        """Asks once; raises _NoAnswer or LockLost."""
        sent_at = _clock()
        if lease.lease_id:
            body: Json = {"owner_id": lease.owner, "lease_id": lease.lease_id, "fencing_token": lease.fencing_token,
                          "extend_by_ms": _milliseconds(ttl)}
            path = f"/v1/locks/{_quote(lease.name)}/renew"
        else:
            body, path = {"duration_ms": _milliseconds(ttl)}, f"/v1/leases/{_quote(lease.token)}/renew"
        lease._prepare_for(sent_at, ttl)
        answer = self._ask_once("POST", path, body, timeout=min(timeout, self.timeout))
        if answer.status == 200:
            lease.expires_at = _expiry(answer.body)
            lease._confirm(sent_at, ttl)
        elif answer.reason == "NOT_OWNER_OR_EXPIRED" or answer.reason in ("LockExpired", "LockNotFound"):
            raise LockLost(lease.name, "the server says that the lease is over")
        else:
            raise answer.failure()


def _release_request(lease: Lease) -> Tuple[str, str, Optional[Json]]:
    if not lease.lease_id:
        return "DELETE", f"/v1/leases/{_quote(lease.token)}", None
    proof = {"owner_id": lease.owner, "lease_id": lease.lease_id, "fencing_token": lease.fencing_token}
    return "POST", f"/v1/locks/{_quote(lease.name)}/release", proof


def _is_to_be_asked_again(answer: _Answer, deadline: float) -> bool:
    """Whether to ask again: the server cancelled the request, or keeps our place in the queue."""
    if answer.reason in ("REQUEST_SUPERSEDED", "RequestSuperseded", "CANCELLED", "Cancelled", "STILL_WAITING",
                         "StillWaiting"):
        return True
    return answer.reason in ("WAIT_TIMED_OUT", "WaitTimedOut") and _clock() < deadline


def _expiry(body: Json) -> float:
    return float(body["lease_expiry_ms"]) / 1000 if "lease_expiry_ms" in body else _moment(body["expires_at"])


def _read_lease(body: Json, name: str, ttl: float) -> Lease:
    return Lease(name=name, owner=body.get("owner_id") or body["holder"], fencing_token=body["fencing_token"], ttl=ttl,
                 expires_at=_expiry(body), guaranteed_until=-math.inf, mode=body.get("mode", "exclusive"),
                 metadata=body.get("metadata", ""), lease_id=body.get("lease_id", ""), token=body.get("token", ""),
                 scope=body.get("scope"))


def _read_events(response: http.client.HTTPResponse) -> Iterator[Event]:
    """The complete events of a stream."""
    fields: Dict[str, str] = {}
    for line in response:
        text = line.decode().rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            if name:
                fields[name] = value[1:] if value.startswith(" ") else value
        elif "data" in fields:
            identity = fields.get("id")
            yield Event(int(identity) if identity else None, fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}
