"""What the blocking client and the asyncio client have in common."""

from __future__ import annotations

import ssl
from typing import Optional, Union

from .acquisition import LeaseRequest
from .lease import Lease
from .options import Secret, Servers, make_owner, make_tls, parse_servers
from .scope import Scopes, to_members
from .steps import Exchange


class BaseClient:
    """Talks to a Holdfast server.

    servers     the addresses of the server, as a list or separated by commas: http:// or https:// URLs, HOST:PORT, or
                unix:/run/holdfast.sock. Default: $HOLDFAST_SERVER, or http://127.0.0.1:8080. The next address is tried
                when one does not answer.
    token       the server's secret; or token_file, a file with it in the first line, which is read again when the
                server refuses it. Default: $HOLDFAST_TOKEN, or the file $HOLDFAST_TOKEN_FILE
    ca_file     the trusted certificates for https. Default: $HOLDFAST_CA_FILE, or the system's
    timeout     how long to wait for one answer, beyond the time that the server may wait for a lock
    retry_for   how long a request without an answer is repeated
    owner       the name that others see as the holder. Default: host, process and chance

    All times are in seconds. `scope` is `name`, `path:/a/b`, `inode:7`, `range:7:0-4096`, `semaphore:x`, or the same as
    an object. A list of scopes is a set: one lease on all of them, or on none. An element may also be a `SetMember`, or
    `{"scope": "path:/x", "mode": "shared"}`. `wait=None` waits without an end, `wait=0` does not wait.

    A wait that would be a deadlock is refused, with a DeadlockError. `on_deadlock="wait"` waits nevertheless, until
    somebody else gives way. `waiter` names who waits, if code that is in no common block must count as one: see
    `holdfast.waiters`.
    """

    def __init__(self, servers: Servers = None, *, token: Optional[str] = None, token_file: Optional[str] = None,
                 ca_file: Optional[str] = None, timeout: float = 10.0, retry_for: float = 10.0,
                 owner: Optional[str] = None) -> None:
        addresses = parse_servers(servers)
        self.owner = owner or make_owner()
        self._exchange = Exchange(addresses, Secret(token, token_file), timeout, retry_for)
        self._connect_by(make_tls(addresses, ca_file))

    def _connect_by(self, tls: Optional[ssl.SSLContext]) -> None:
        """Makes the part of the client that does the steps."""
        raise NotImplementedError

    def _request(self, scope: Scopes, ttl: float, shared: bool, limit: Optional[int], metadata: str, on_deadlock: str,
                 request_id: Optional[str] = None, value: str = "", owner: Optional[str] = None) -> LeaseRequest:
        """Does not wait, and has no waiter yet. Raises what is wrong at once."""
        return LeaseRequest.of(to_members(scope), owner or self.owner, ttl, shared=shared, limit=limit, metadata=metadata,
                               request_id=request_id, value=value, on_deadlock=on_deadlock)


def token_of(token: Union[str, Lease]) -> str:
    return token.token if isinstance(token, Lease) else token
