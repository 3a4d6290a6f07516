"""What can be locked, as one text: `name`, `named:x`, `path:/x`, `inode:7`, `range:7:0-4096`, `semaphore:x`."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Union

Scope = Union[str, Dict[str, Any]]

_KINDS = ("named", "semaphore", "path", "inode", "range")


def to_text(scope: Scope) -> str:
    """The text form of a scope that may be an object: `{"kind": "range", "inode": 7, "start": 0, "end": 4096}`."""
    if isinstance(scope, str):
        return scope
    kind = scope.get("kind", "named")
    if kind == "range":
        return f"range:{scope.get('inode')}:{scope.get('start', 0)}-{scope.get('end', '')}"
    return f"{kind}:{scope.get('name', scope.get('path', scope.get('inode', '')))}"


def split(scope: str) -> Tuple[Optional[str], str]:
    """The kind and the rest. The kind is None if the text has no known kind in front: then it is a name."""
    kind, colon, rest = scope.partition(":")
    return (kind, rest) if colon and kind in _KINDS else (None, scope)


def with_limit(scope: str, limit: Optional[int]) -> str:
    """The scope to ask for, for a lock with so many holders: with more than one, a name is a semaphore."""
    if limit is None:
        return scope
    if limit < 1:
        raise ValueError("a limit below 1 would let nobody in")
    kind, name = split(scope)
    if kind == "semaphore" or limit == 1:
        return scope
    if kind not in (None, "named"):
        raise ValueError(f"only a name can have a limit, and {scope!r} is none")
    return f"semaphore:{name}"
