"""Renewing a lease, and giving it back."""

from __future__ import annotations

from .errors import HoldfastError
from .lease import Lease, clock, to_milliseconds
from .steps import Exchange, Patience, Steps
from .wire import NoAnswer, Request, lease_path

_RELEASE_TIMEOUT_MIN = 1.0  # the lease may last longer than we can be sure of


def renew(exchange: Exchange, lease: Lease, ttl: float) -> Steps[Lease]:
    """Raises LockLost if the lease has ended."""
    patience = Patience(exchange.retry_for)
    while True:
        try:
            return (yield from renew_once(exchange, lease, ttl, exchange.timeout))
        except NoAnswer as problem:
            yield from patience.pause(problem)


def renew_once(exchange: Exchange, lease: Lease, ttl: float, timeout: float) -> Steps[Lease]:
    """Raises NoAnswer, or LockLost."""
    sent_at = clock()
    lease._before_renewal(sent_at, ttl)
    answer = yield from exchange.ask_once(Request("POST", lease_path(lease.token, "/renew"),
                                                  min(timeout, exchange.timeout), {"ttl_ms": to_milliseconds(ttl)}))
    if answer.status != 200:
        raise answer.error(lease.name)
    renewed = answer.read_lease(lease.name)
    lease._confirm(sent_at, renewed.ttl, renewed.expires_at)
    return lease


def release(exchange: Exchange, lease: Lease) -> Steps[bool]:
    """Whether the lease was released, and had not ended before. If an answer was lost and the repetition finds no
    lease, it counts as released."""
    return (yield from _release(exchange, lease, min(clock() + exchange.retry_for, lease.lasts_until)))


def release_within(exchange: Exchange, lease: Lease, until: float) -> Steps[None]:
    """The same, as well as it can be done in this time."""
    try:
        yield from _release(exchange, lease, until)
    except HoldfastError:
        pass  # the lease ends after its TTL


def _release(exchange: Exchange, lease: Lease, until: float) -> Steps[bool]:
    patience = Patience(max(until - clock(), 0.0))
    may_be_done = False
    while True:
        timeout = min(exchange.timeout, max(lease.lasts_until - clock(), _RELEASE_TIMEOUT_MIN))
        try:
            answer = yield from exchange.ask_once(Request("DELETE", lease_path(lease.token), timeout))
        except NoAnswer as problem:
            may_be_done = may_be_done or problem.may_have_effect
            yield from patience.pause(problem)
            continue
        if answer.status == 200:
            return True
        if answer.code in ("LockExpired", "LockNotFound"):
            return may_be_done
        raise answer.error(lease.name)
