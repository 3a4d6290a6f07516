"""Following the events of the server, and the leader of an election."""

from __future__ import annotations

import json
from typing import Callable, Dict, List, Optional

from .errors import NotHoldfast
from .lease import Event, Leader, clock
from .steps import Emit, Exchange, Patience, Read, Steps
from .wire import NoAnswer, Request, lock_path, query

_LASTING = 5.0  # after a stream that lasted for longer than this, patience begins anew


class EventParser:
    """Reads server-sent events from the pieces of a stream."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: Dict[str, str] = {}

    def parse(self, piece: bytes) -> List[Event]:
        """The events that are complete with this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        events = (self._add(line.decode(errors="replace").rstrip("\r")) for line in lines)
        return [event for event in events if event is not None]

    def _add(self, line: str) -> Optional[Event]:
        if line:
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data" and "data" in self._fields:
                value = f"{self._fields['data']}\n{value}"
            self._fields[name] = value  # a comment has the name ""
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        identity = fields.get("id", "")
        try:
            data = json.loads(fields["data"])
        except ValueError as problem:
            raise NotHoldfast("the events do not come from a Holdfast server: they are no JSON") from problem
        return Event(int(identity) if identity.isdigit() else None, fields.get("event", "message"),
                     data if isinstance(data, dict) else {})


def watch(exchange: Exchange, prefix: str, after: Optional[int], on_open: Optional[Callable[[], None]]) -> Steps[None]:
    """Emits the events, without an end. If the stream breaks, it goes on after the last event."""

    def on_begin() -> Steps[None]:
        if on_open is not None:
            on_open()
        yield from ()

    def on_event(event: Event) -> Steps[None]:
        yield Emit(event)

    yield from _follow(exchange, prefix, after, on_begin, on_event)


def observe(exchange: Exchange, election: str) -> Steps[None]:
    """Emits the leader (or None) now and after every change."""
    view = _LeaderView()

    def look() -> Steps[None]:
        answer = yield from exchange.ask(Request("GET", lock_path(election) + query(kind="named"), exchange.timeout))
        if answer.status != 200:
            raise answer.error(election)
        if not answer.field("held"):
            yield from view.set(None)
        else:
            yield from view.set(Leader(answer.field("owner_id"), answer.body.get("metadata", ""),
                                       answer.field("fencing_token")))

    def on_event(event: Event) -> Steps[None]:
        if event.kind == "gap":
            yield from look()
        elif event.name == election and event.data.get("kind") == "named":
            yield from view.apply(event)

    yield from _follow(exchange, election, None, look, on_event)


def _follow(exchange: Exchange, prefix: str, after: Optional[int], on_begin: Callable[[], Steps[None]],
            on_event: Callable[[Event], Steps[None]]) -> Steps[None]:
    patience = Patience(exchange.retry_for)
    while True:
        headers = {"Accept": "text/event-stream"}
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        began_at = clock()
        try:
            yield from exchange.open_stream(Request("GET", "/v1/events" + query(prefix=prefix), exchange.timeout,
                                                    headers=headers))
            parser = EventParser()
            yield from on_begin()
            while True:
                piece: bytes = yield Read()
                for event in parser.parse(piece):
                    if event.id is not None:
                        after = event.id
                    yield from on_event(event)
        except NoAnswer as problem:
            if clock() - began_at > _LASTING:
                patience.reset()
            yield from patience.pause(problem)


class _LeaderView:
    """Knows the leader, from the server's view of the lock and from its events. An event may be older than the view;
    fencing tokens show which is newer."""

    def __init__(self) -> None:
        self._is_known = False
        self._leader: Optional[Leader] = None
        self._highest = 0

    def set(self, leader: Optional[Leader]) -> Steps[None]:
        if leader is not None:
            self._highest = max(self._highest, leader.fencing_token)
        if self._is_known and leader == self._leader:
            return
        self._is_known, self._leader = True, leader
        yield Emit(leader)

    def apply(self, event: Event) -> Steps[None]:
        fencing_token = event.data.get("fencing_token", 0)
        if event.kind == "granted" and fencing_token > self._highest:
            yield from self.set(Leader(event.data.get("owner_id", ""), event.data.get("metadata", ""), fencing_token))
        elif event.kind in ("released", "expired") and self._leader is not None:
            if self._leader.fencing_token == fencing_token:
                yield from self.set(None)
