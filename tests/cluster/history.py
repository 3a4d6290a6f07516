"""What clients were told, and the proof that it fits together.

A claim is the time during which a client was sure that it held a lock: from the answer that granted it to the moment when
the client asked for its release, or when its last confirmed term was over, counted from before the request was sent.
All clocks are one: time.monotonic() of this machine.
"""

import contextlib
import dataclasses
import itertools
import math
import threading
import time


@dataclasses.dataclass
class Claim:
    lock: str
    client: str
    door: str
    sent: float  # when the request was sent that got it
    told: float  # when its answer came
    sure_until: float  # by the last confirmed request
    fence: int | None = None
    request_id: str | None = None
    released: float = math.inf  # when its release was asked for
    confirmed: float = -math.inf  # when the answer came that confirmed its last term

    @property
    def end(self):
        return min(self.released, self.sure_until)


class History:
    """Thread safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self.claims = []
        self.losses = []  # (claim, when the client was told that its lease is over)
        self.counts = {}
        self._doubts = []  # (from, to)

    @contextlib.contextmanager
    def doubts(self, seconds):
        """What happens inside makes etcd break its word. For so long the leader may not know that it leads no more, and nothing is
        guaranteed of the terms that it confirms from memory: such a claim may end too early, by no more than this time."""
        with self._lock:
            self._doubts.append((time.monotonic(), time.monotonic() + seconds))
        yield

    def _is_doubtful(self, claim, too_early):
        return any(begin <= claim.confirmed <= end and too_early <= end - begin for begin, end in self._doubts)

    def add(self, claim):
        with self._lock:
            self.claims.append(claim)
            self._count(claim.door, "granted")

    def lost(self, claim, told):
        with self._lock:
            self.losses.append((claim, told))

    def count(self, door, what):
        with self._lock:
            self._count(door, what)

    def _count(self, door, what):
        self.counts[(door, what)] = self.counts.get((door, what), 0) + 1

    def faults(self):
        """Sentences about everything that must not be."""
        return [*self._two_holders(), *self._unordered_fences(), *self._two_effects(), *self._lost_claims()]

    def _by_lock(self):
        claims = sorted(self.claims, key=lambda claim: (claim.lock, claim.told))
        return itertools.groupby(claims, key=lambda claim: claim.lock)

    def _two_holders(self):
        for lock, claims in self._by_lock():
            last = None
            for claim in claims:
                if last and claim.told < last.end:
                    overlap = min(last.end, claim.end) - claim.told
                    if not self._is_doubtful(last, last.end - claim.told):
                        yield f"two holders of {lock} for {overlap:.3f} s: {last} and {claim}"
                if last is None or claim.end > last.end:
                    last = claim

    def _unordered_fences(self):
        for lock, claims in self._by_lock():
            fenced = [claim for claim in claims if claim.fence is not None]
            largest = None  # among those that were told before the next was asked for
            pending = sorted(fenced, key=lambda claim: claim.told)
            told = 0
            for claim in sorted(fenced, key=lambda claim: claim.sent):
                while told < len(pending) and pending[told].told < claim.sent:
                    if largest is None or pending[told].fence > largest.fence:
                        largest = pending[told]
                    told += 1
                if largest and claim.fence <= largest.fence and claim is not largest:
                    yield f"the fencing token of {lock} went back: {largest} then {claim}"

    def _two_effects(self):
        fences = {}
        for claim in self.claims:
            if claim.request_id is None:
                continue
            first = fences.setdefault(claim.request_id, claim)
            if first.fence != claim.fence:
                yield f"one request had two effects: {first} and {claim}"

    def _lost_claims(self):
        for claim, told in self.losses:
            if told < claim.sure_until and not self._is_doubtful(claim, claim.sure_until - told):
                yield f"told {claim.sure_until - told:.3f} s too early that it is over: {claim}"
