"""Which guards of a reusable lock belong to which thread or task."""

from __future__ import annotations

from typing import Dict, Generic, Hashable, List, TypeVar

from .errors import HoldfastError

G = TypeVar("G")


class Entered(Generic[G]):
    """The guards of the blocks that each thread (or task) is in, the innermost last. A key is used by its own thread
    only."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._guards: Dict[Hashable, List[G]] = {}

    def push(self, key: Hashable, guard: G) -> None:
        self._guards.setdefault(key, []).append(guard)

    def pop(self, key: Hashable) -> G:
        guards = self._guards[key]
        guard = guards.pop()
        if not guards:
            del self._guards[key]
        return guard

    def innermost(self, key: Hashable) -> G:
        guards = self._guards.get(key)
        if not guards:
            raise HoldfastError(f"{self._name} is not held by a block around this code")
        return guards[-1]
