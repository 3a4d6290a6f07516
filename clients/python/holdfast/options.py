"""Where the server is, and the secret for it."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import urllib.parse
import uuid
from dataclasses import dataclass
from typing import List, Optional, Sequence, Union

Servers = Union[str, Sequence[str], None]

_DEFAULT_SERVER = "http://127.0.0.1:8080"
_SOCKET_PATH_MAX = 107  # bytes; the system allows no more for a Unix socket


@dataclass(frozen=True)
class Address:
    """One address of the server."""

    text: str  # as the user wrote it, for messages
    host: str = "localhost"
    port: Optional[int] = None
    root: str = ""  # in front of every path
    is_tls: bool = False
    socket_path: str = ""

    @staticmethod
    def parse(text: str) -> Address:
        if text.startswith("unix:"):
            path = text[len("unix:"):]
            if not path:
                raise ValueError("'unix:' names no socket")
            if len(os.fsencode(path)) > _SOCKET_PATH_MAX:
                raise ValueError(f"the path of {text!r} has more than {_SOCKET_PATH_MAX} bytes")
            return Address(text, socket_path=path)
        url = urllib.parse.urlsplit(text if "://" in text else "http://" + text)
        if url.username or url.password:  # the message does not show them
            raise ValueError(f"the address of {url.hostname} has a user or a password in it: use token or token_file")
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise ValueError(f"{text!r} is not a server: write http://HOST:PORT, https://HOST:PORT or unix:PATH")
        is_tls = url.scheme == "https"
        return Address(text, url.hostname, url.port or (443 if is_tls else 80), url.path.rstrip("/"), is_tls)

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (None, 443 if self.is_tls else 80) else f"{host}:{self.port}"


def parse_servers(servers: Servers) -> List[Address]:
    """All are addresses of the same server; the next is tried when one does not answer."""
    if servers is None:
        servers = os.environ.get("HOLDFAST_SERVER") or _DEFAULT_SERVER
    texts = servers.split(",") if isinstance(servers, str) else servers
    addresses = [Address.parse(text.strip()) for text in texts if text.strip()]
    if not addresses:
        raise ValueError("no server is named")
    return addresses


def make_tls(addresses: Sequence[Address], ca_file: Optional[str]) -> Optional[ssl.SSLContext]:
    """For those addresses that need it. The name in a certificate is always checked."""
    if not any(address.is_tls for address in addresses):
        return None
    context = ssl.create_default_context(cafile=ca_file or os.environ.get("HOLDFAST_CA_FILE") or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def make_owner() -> str:
    """A name for this client: host, process, and chance."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


class Secret:
    """The secret that the server wants, if it wants one. It may come from a file, which is read again when the server
    refuses what was in it: secrets are replaced while a program runs."""

    def __init__(self, token: Optional[str], token_file: Optional[str]) -> None:
        if token is None and token_file is None:
            token = os.environ.get("HOLDFAST_TOKEN") or None
            token_file = os.environ.get("HOLDFAST_TOKEN_FILE") or None
        self._mutex = threading.Lock()
        self._file = token_file if token is None else None
        self._token = self._read() if token is None else _checked(token)

    @property
    def token(self) -> Optional[str]:
        return self._token

    def is_replaced(self, refused: Optional[str]) -> bool:
        """Whether there is now another secret than the one that was refused."""
        if self._file is None:
            return False
        with self._mutex:
            if self._token == refused:
                try:
                    self._token = self._read()
                except (OSError, ValueError):
                    return False
            return self._token != refused

    def _read(self) -> Optional[str]:
        if self._file is None:
            return None
        with open(self._file, encoding="ascii") as file:
            return _checked(file.readline().strip())


def _checked(token: str) -> str:
    if not token.isascii() or not token.isprintable():
        raise ValueError("the server's secret must be printable ASCII, as it is sent in a header of HTTP")
    return token
