"""HTTP for asyncio: sends one request and reads one answer, or opens a stream."""

from __future__ import annotations

import asyncio
import http.client
import io
import ssl
from email.message import Message
from typing import Any, Callable, Coroutine, Dict, List, Optional, Tuple, TypeVar, Union

from ..errors import NotHoldfast, ServerUnavailable
from ..options import Address
from ..transport import (ANSWER_MAX, CONNECT_TIMEOUT_MAX, IDLE_CONNECTIONS_MAX, PIECE_MAX, STREAM_SILENCE_MAX, endless,
                         keep_alive)
from ..wire import NoAnswer, Reply, Request

T = TypeVar("T")


class Transport:
    """Idle connections are used again, by the event loop to which they belong."""

    def __init__(self, tls: Optional[ssl.SSLContext]) -> None:
        self._tls = tls
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._idle: Dict[Address, List[_Connection]] = {}

    async def send(self, address: Address, request: Request, token: Optional[str]) -> Reply:
        """Raises NoAnswer. A request that must not be sent twice gets a new connection: the server may have closed an
        idle one."""
        idle = self._take(address) if request.is_repeatable else None
        connection = idle or await self._connect(address, request.timeout)
        try:
            reply = await _within(address, request.timeout, connection.ask(address, request, token))
        except NoAnswer as problem:
            connection.close()
            problem.is_from_idle_connection = idle is not None and not isinstance(problem, _TimedOut)
            raise
        except BaseException:
            connection.close()  # the server sees that, and removes the request from its queue
            raise
        self._give_back(address, connection)
        return reply

    async def open(self, address: Address, request: Request, token: Optional[str]) -> Union[Reply, Stream]:
        """A stream, or the answer that refuses it. Raises NoAnswer."""
        connection = await self._connect(address, request.timeout)
        try:
            head = await _within(address, request.timeout, connection.begin(address, request, token))
            if head.status == 200:
                return Stream(address, connection)
            reply = await _within(address, request.timeout, connection.read_reply(address, head))
        except BaseException:
            connection.close()
            raise
        connection.close()
        return reply

    async def close(self) -> None:
        """Closes the idle connections."""
        idle, self._idle = self._idle, {}
        if self._loop is not asyncio.get_running_loop():
            return
        for connections in idle.values():
            for connection in connections:
                await connection.close_gracefully()

    async def _connect(self, address: Address, timeout: float) -> _Connection:
        try:
            return await _within(address, min(timeout, CONNECT_TIMEOUT_MAX), _Connection.open(address, self._tls),
                                 _Connection.close)
        except ssl.SSLCertVerificationError as problem:
            raise ServerUnavailable(f"{address.text}: {problem}") from problem
        except _TimedOut as problem:
            raise NoAnswer(str(problem), may_have_effect=False) from problem
        except OSError as problem:
            raise NoAnswer(f"{address.text}: {problem or type(problem).__name__}", may_have_effect=False) from problem

    def _take(self, address: Address) -> Optional[_Connection]:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the connections of another loop are of no use
            self._loop, self._idle = loop, {}
        connections = self._idle.get(address)
        return connections.pop() if connections else None

    def _give_back(self, address: Address, connection: _Connection) -> None:
        connections = self._idle.setdefault(address, [])
        if connection.is_reusable and self._loop is asyncio.get_running_loop():
            if len(connections) < IDLE_CONNECTIONS_MAX:
                connections.append(connection)
                return
        connection.close()


class Stream:
    """An answer without an end."""

    def __init__(self, address: Address, connection: _Connection) -> None:
        self._address, self._connection = address, connection

    async def read(self) -> bytes:
        """The next piece. Raises NoAnswer when the stream ends, breaks or is silent for too long."""
        piece = await _within(self._address, STREAM_SILENCE_MAX, self._connection.read_piece(self._address))
        if not piece:
            raise NoAnswer(f"{self._address.text} ended the stream")
        return piece

    def close(self) -> None:
        self._connection.close()


class _TimedOut(NoAnswer):
    pass


class _Head:
    """The status and the headers of an answer."""

    def __init__(self, address: Address, text: bytes) -> None:
        first, _, rest = text.partition(b"\r\n")
        words = first.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise NotHoldfast(f"{address.text} is not a Holdfast server: it does not speak HTTP")
        self.status = int(words[1])
        self.headers: Message = http.client.parse_headers(io.BytesIO(rest))
        self.is_chunked = (self.headers.get("Transfer-Encoding") or "").lower() == "chunked"
        self.length: Optional[int] = None if self.is_chunked else _natural(self.headers.get("Content-Length"))
        will_close = words[0] == b"HTTP/1.0" or (self.headers.get("Connection") or "").lower() == "close"
        self.is_connection_reusable = not will_close and (self.is_chunked or self.length is not None)


class _Connection:
    """One connection, and the answer that is being read from it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_reusable = False
        self._reader, self._writer = reader, writer
        self._is_chunked = False
        self._left: Optional[int] = 0  # bytes of the body, or of the chunk; None: until the end

    @staticmethod
    async def open(address: Address, tls: Optional[ssl.SSLContext]) -> _Connection:
        if address.socket_path:
            return _Connection(*await asyncio.open_unix_connection(address.socket_path))
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls if address.is_tls else None)
        keep_alive(writer.get_extra_info("socket"))
        return _Connection(reader, writer)

    async def ask(self, address: Address, request: Request, token: Optional[str]) -> Reply:
        return await self.read_reply(address, await self.begin(address, request, token))

    async def begin(self, address: Address, request: Request, token: Optional[str]) -> _Head:
        """Sends the request, and reads until the body of the answer begins."""
        self.is_reusable = False
        try:
            self._writer.write(_encode(address, request, token))
            await self._writer.drain()
            text = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as problem:
            raise endless(address) from problem
        except asyncio.IncompleteReadError as problem:
            if problem.partial:
                _Head(address, problem.partial)
            raise NoAnswer(f"{address.text} closed the connection") from problem
        except OSError as problem:
            raise NoAnswer(f"{address.text}: {problem or type(problem).__name__}") from problem
        head = _Head(address, text)
        self._is_chunked, self._left = head.is_chunked, 0 if head.is_chunked else head.length
        return head

    async def read_reply(self, address: Address, head: _Head) -> Reply:
        text = bytearray()
        while piece := await self.read_piece(address):
            text += piece
            if len(text) >= ANSWER_MAX:
                raise endless(address)
        self.is_reusable = head.is_connection_reusable
        return Reply(head.status, bytes(text), head.headers.get("Retry-After"))

    async def read_piece(self, address: Address) -> bytes:
        """The next piece of the body; nothing at its end."""
        try:
            if self._is_chunked and self._left == 0:
                self._left = int((await self._read_line()).partition(b";")[0], 16)
                if self._left == 0:
                    while await self._read_line():
                        pass  # trailers
                    self._is_chunked = False
            if self._left == 0:
                return b""
            piece = await self._reader.read(PIECE_MAX if self._left is None else min(self._left, PIECE_MAX))
            if self._left is not None:
                if not piece:
                    raise NoAnswer(f"{address.text} closed the connection")
                self._left -= len(piece)
                if self._is_chunked and self._left == 0:
                    await self._read_line()
            return piece
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError) as problem:
            raise NoAnswer(f"{address.text}: {problem or type(problem).__name__}") from problem

    def close(self) -> None:
        self._writer.transport.abort()

    async def close_gracefully(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    async def _read_line(self) -> bytes:
        return (await self._reader.readuntil(b"\n")).rstrip(b"\r\n")


def _encode(address: Address, request: Request, token: Optional[str]) -> bytes:
    body = request.encoded_body()
    headers: List[Tuple[str, str]] = [("Host", address.host_header), *request.headers.items()]
    if token:
        headers.append(("Authorization", "Bearer " + token))
    if body is not None:
        headers.append(("Content-Length", str(len(body))))
    first = f"{request.method} {address.root}{request.path} HTTP/1.1"
    head = "\r\n".join([first, *(f"{name}: {value}" for name, value in headers), "", ""])
    return head.encode("latin-1") + (body or b"")


def _natural(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.strip().isdigit() else None


async def _within(address: Address, seconds: float, work: Coroutine[Any, Any, T],
                  discard: Optional[Callable[[T], None]] = None) -> T:
    """The result of the work, or _TimedOut. A result that comes too late is discarded. (asyncio.wait_for loses
    cancellations before Python 3.12.)"""

    def clean_up(late: asyncio.Future[T]) -> None:
        if not late.cancelled() and late.exception() is None and discard is not None:
            discard(late.result())

    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise _TimedOut(f"{address.text}: no answer in time")
    except BaseException:
        task.cancel()
        task.add_done_callback(clean_up)
        raise
    return task.result()
