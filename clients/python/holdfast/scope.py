"""What can be locked, as one text: `name`, `named:x`, `path:/x`, `inode:7`, `range:7:0-4096`, `semaphore:x`; and sets
of them, which are locked together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

Scope = Union[str, Dict[str, Any]]

_KINDS = ("named", "semaphore", "path", "inode", "range")
_MODES = ("exclusive", "shared")


@dataclass(frozen=True)
class SetMember:
    """One of the scopes of a lease. In a request, `mode` is `exclusive`, `shared` or, if it is None, the mode of the
    request; `limit` is that of a semaphore."""

    scope: str
    mode: Optional[str] = None
    limit: Optional[int] = None

    def __post_init__(self) -> None:
        if self.mode not in (None, *_MODES):
            raise ValueError(f"a mode is 'exclusive' or 'shared', and {self.mode!r} is neither")
        with_limit(self.scope, self.limit)

    def to_json(self) -> Union[str, Dict[str, Any]]:
        """As an element of a request."""
        scope = with_limit(self.scope, self.limit)
        fields: Dict[str, Any] = {"scope": scope}
        if self.mode is not None:
            fields["mode"] = self.mode
        if self.limit is not None and split(scope)[0] == "semaphore":
            fields["limit"] = self.limit
        return fields if len(fields) > 1 else scope


Scopes = Union[Scope, SetMember, Sequence[Union[Scope, SetMember]]]  # one scope, or several that are locked together


def to_text(scope: Scope) -> str:
    """The text form of a scope that may be an object: `{"kind": "range", "inode": 7, "start": 0, "end": 4096}`."""
    if isinstance(scope, str):
        return scope
    kind = scope.get("kind", "named")
    if kind == "range":
        return f"range:{scope.get('inode')}:{scope.get('start', 0)}-{scope.get('end', '')}"
    return f"{kind}:{scope.get('name', scope.get('path', scope.get('inode', '')))}"


def to_short_text(scope: Scope) -> str:
    """The same; a name has no kind in front of it, unless it needs one."""
    kind, name = split(to_text(scope))
    return name if kind == "named" and split(name)[0] is None else to_text(scope)


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


def to_members(scopes: Scopes) -> List[SetMember]:
    """The members that a call names: a scope, or a list whose elements are texts, scope objects, SetMembers, or
    dictionaries with `scope` and perhaps `mode` and `limit`."""
    if isinstance(scopes, (str, dict, SetMember)):
        return [_to_member(scopes)]
    members = [_to_member(scope) for scope in scopes]
    if not members:
        raise ValueError("there is nothing to lock in an empty list")
    return members


def _to_member(scope: Union[Scope, SetMember]) -> SetMember:
    if isinstance(scope, SetMember):
        return scope
    if isinstance(scope, str) or "scope" not in scope:
        return SetMember(to_text(scope))
    unknown = set(scope) - {"scope", "mode", "limit"}
    if unknown:
        raise ValueError(f"an element of a set has a scope, a mode and a limit, and no {', '.join(sorted(unknown))}")
    return SetMember(to_text(scope["scope"]), scope.get("mode"), scope.get("limit"))
