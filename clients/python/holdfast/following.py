"""Following the events of the server, and the leader of an election."""

from __future__ import annotations

import json
from typing import Callable, Dict, List, Optional

from .errors import NotHoldfast
from .lease import Event, Json, Leader, clock
from .steps import Emit, Exchange, Patience, Read, Steps
from .wire import NoAnswer, Request, election_path, query

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

    yield from _follow(exchange, "/v1/events" + query(prefix=prefix), after, on_begin, on_event)


def observe(exchange: Exchange, election: str) -> Steps[None]:
    """Emits the leader (or None) now and after every change. Each stream begins with the leader of that moment, so
    nothing is missed when a stream breaks, or the server is restarted."""
    known: List[Optional[Leader]] = []  # the last one that was emitted

    def on_begin() -> Steps[None]:
        yield from ()

    def on_event(event: Event) -> Steps[None]:
        if event.kind != "leader":
            return
        leader = _read_leader(event.data)
        if known != [leader]:
            known[:] = [leader]
            yield Emit(leader)

    yield from _follow(exchange, election_path(election) + query(watch="true"), None, on_begin, on_event,
                       begins_anew=True)


def _read_leader(state: Json) -> Optional[Leader]:
    if "leader" not in state:
        return None
    try:
        return Leader(str(state["leader"]), str(state.get("value", "")), int(state["fencing_token"]),
                      int(state.get("revision", 0)))
    except (KeyError, TypeError, ValueError) as problem:
        raise NotHoldfast("the leader of the election is not told as Holdfast does it") from problem


def _follow(exchange: Exchange, path: str, after: Optional[int], on_begin: Callable[[], Steps[None]],
            on_event: Callable[[Event], Steps[None]], *, begins_anew: bool = False) -> Steps[None]:
    """A stream that begins anew is asked for all of it whenever it broke; others, for what followed the last event."""
    patience = Patience(exchange.retry_for)
    while True:
        headers = {"Accept": "text/event-stream"}
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        began_at = clock()
        try:
            yield from exchange.open_stream(Request("GET", path, exchange.timeout, headers=headers))
            parser = EventParser()
            yield from on_begin()
            while True:
                piece: bytes = yield Read()
                for event in parser.parse(piece):
                    if event.id is not None and not begins_anew:
                        after = event.id
                    yield from on_event(event)
        except NoAnswer as problem:
            if clock() - began_at > _LASTING:
                patience.reset()
            yield from patience.pause(problem)
