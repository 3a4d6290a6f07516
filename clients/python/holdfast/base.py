"""What the blocking client and the asyncio client have in common."""

from __future__ import annotations

import ssl
from typing import Optional, Union

from . import scope as scopes
from .acquisition import LeaseRequest
from .lease import Lease
from .options import Secret, Servers, make_owner, make_tls, parse_servers
from .scope import Scope
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
    an object. `wait=None` waits without an end, `wait=0` does not wait.
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

    def _request(self, scope: Scope, ttl: float, shared: bool, limit: Optional[int], metadata: str,
                 request_id: Optional[str] = None) -> LeaseRequest:
        return LeaseRequest(scopes.to_text(scope), self.owner, ttl, 0, shared, limit, metadata, request_id)


def token_of(token: Union[str, Lease]) -> str:
    return token.token if isinstance(token, Lease) else token
