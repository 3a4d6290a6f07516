"""HTTP for the blocking client: sends one request and reads one answer, or opens a stream."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import threading
from typing import ContextManager, Dict, List, Optional, Union

from .errors import NotHoldfast, ServerUnavailable
from .options import Address
from .stop import Stop
from .wire import NoAnswer, Reply, Request

CONNECT_TIMEOUT_MAX = 5.0
STREAM_SILENCE_MAX = 45.0  # the server says something every 15 s
IDLE_CONNECTIONS_MAX = 8
PIECE_MAX = 65536
ANSWER_MAX = 64 * 1024 * 1024  # bytes

_PROBLEMS = (OSError, http.client.HTTPException)


class Transport:
    """Idle connections are used again. May be used by many threads at once."""

    def __init__(self, tls: Optional[ssl.SSLContext]) -> None:
        self._tls = tls
        self._mutex = threading.Lock()
        self._idle: Dict[Address, List[http.client.HTTPConnection]] = {}
        self._process = os.getpid()

    def send(self, address: Address, request: Request, token: Optional[str], stop: Optional[Stop]) -> Reply:
        """Raises NoAnswer. A request that must not be sent twice gets a new connection: the server may have closed an
        idle one."""
        idle = self._take(address) if request.is_repeatable else None
        connection = idle or self._connect(address, request.timeout)
        try:
            with _interrupted_by(stop, connection.sock):
                response = _ask(connection, address, request, token)
                reply = _read(response, address)
            if response.will_close:
                connection.close()
        except _PROBLEMS as problem:
            connection.close()
            raise _explain(problem, address, is_idle=idle is not None) from problem
        except BaseException:
            connection.close()  # the server sees that, and removes the request from its queue
            raise
        self._give_back(address, connection)
        return reply

    def open(self, address: Address, request: Request, token: Optional[str],
             stop: Optional[Stop]) -> Union[Reply, Stream]:
        """A stream, or the answer that refuses it. Raises NoAnswer."""
        connection = self._connect(address, request.timeout)
        wire = connection.sock  # the connection forgets it when the answer says that it is the last
        try:
            with _interrupted_by(stop, wire):
                response = _ask(connection, address, request, token)
                if response.status == 200:
                    wire.settimeout(STREAM_SILENCE_MAX)
                    return Stream(address, connection, wire, response, stop)
                reply = _read(response, address)
        except _PROBLEMS as problem:
            connection.close()
            raise _explain(problem, address) from problem
        except BaseException:
            connection.close()
            raise
        connection.close()
        return reply

    def close(self) -> None:
        """Closes the idle connections."""
        with self._mutex:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _connect(self, address: Address, timeout: float) -> http.client.HTTPConnection:
        connection = self._new_connection(address, min(timeout, CONNECT_TIMEOUT_MAX))
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as problem:
            connection.close()
            raise ServerUnavailable(f"{address.text}: {problem}") from problem
        except OSError as problem:
            connection.close()
            raise NoAnswer(f"{address.text}: {problem}", may_have_effect=False) from problem
        except BaseException:
            connection.close()
            raise
        if not address.socket_path:
            keep_alive(connection.sock)
        return connection

    def _new_connection(self, address: Address, timeout: float) -> http.client.HTTPConnection:
        if address.socket_path:
            return _UnixConnection(address.socket_path, timeout)
        if address.is_tls:
            return http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout)

    def _take(self, address: Address) -> Optional[http.client.HTTPConnection]:
        if self._process != os.getpid():  # after a fork, the connections are the parent's
            self._process, self._mutex = os.getpid(), threading.Lock()
            self.close()  # only the copies of this process
        with self._mutex:
            connections = self._idle.get(address)
            return connections.pop() if connections else None

    def _give_back(self, address: Address, connection: http.client.HTTPConnection) -> None:
        with self._mutex:
            connections = self._idle.setdefault(address, [])
            if connection.sock is not None and len(connections) < IDLE_CONNECTIONS_MAX:
                connections.append(connection)
                return
        connection.close()


class Stream:
    """An answer without an end."""

    def __init__(self, address: Address, connection: http.client.HTTPConnection, wire: socket.socket,
                 response: http.client.HTTPResponse, stop: Optional[Stop]) -> None:
        self._address, self._connection, self._wire = address, connection, wire
        self._response, self._stop = response, stop

    def read(self) -> bytes:
        """The next piece. Raises NoAnswer when the stream ends, breaks or is silent for too long."""
        try:
            with _interrupted_by(self._stop, self._wire):
                piece = self._response.read1(PIECE_MAX)
        except _PROBLEMS as problem:
            raise _explain(problem, self._address) from problem
        if not piece:
            raise NoAnswer(f"{self._address.text} ended the stream")
        return piece

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket; the Host header says `localhost`."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path, self._seconds = path, timeout

    def connect(self) -> None:
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            wire.settimeout(self._seconds)
            wire.connect(self._path)
        except BaseException:
            wire.close()
            raise
        self.sock = wire


def _ask(connection: http.client.HTTPConnection, address: Address, request: Request,
         token: Optional[str]) -> http.client.HTTPResponse:
    headers = dict(request.headers)
    if token:
        headers["Authorization"] = "Bearer " + token
    connection.sock.settimeout(request.timeout)
    connection.request(request.method, address.root + request.path, request.encoded_body(), headers)
    return connection.getresponse()


def _read(response: http.client.HTTPResponse, address: Address) -> Reply:
    text = response.read(ANSWER_MAX)
    if len(text) == ANSWER_MAX:
        raise endless(address)
    if response.length:  # bytes that never came
        raise http.client.IncompleteRead(text, response.length)
    return Reply(response.status, text, response.getheader("Retry-After"))


def endless(address: Address) -> NotHoldfast:
    return NotHoldfast(f"{address.text} is not a Holdfast server: its answer has no end")


def _interrupted_by(stop: Optional[Stop], wire: socket.socket) -> ContextManager[None]:
    """Shuts the connection down when the stop is set: then reading from it ends."""
    if stop is None:
        return contextlib.nullcontext()

    def shut_down() -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(wire, socket.SHUT_RDWR)  # not that of TLS, which another thread is using

    return stop.interrupting(shut_down)


def _explain(problem: Exception, address: Address, is_idle: bool = False) -> Exception:
    if isinstance(problem, http.client.BadStatusLine) and not isinstance(problem, ConnectionError):
        return NotHoldfast(f"{address.text} is not a Holdfast server: it does not speak HTTP")
    is_timeout = isinstance(problem, socket.timeout)
    return NoAnswer(f"{address.text}: {problem or type(problem).__name__}",
                    is_from_idle_connection=is_idle and not is_timeout)


def keep_alive(wire: socket.socket) -> None:
    """Lets the system notice that the other side is gone for good while we wait for an answer."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            wire.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
