"""The lines of a recorder: docs/referee.md says what they mean. Times are of CLOCK_MONOTONIC."""

import json
import sys
import time

GENERATION_NS = 4_000_000_000  # as long, all recorders use the same names
NAMES = 3
TTL = 2.0
PROMPT = 1.0  # seconds: a refusal that came so soon is the answer to the first request


class Lines:
    def __init__(self, door, client, start_ns):
        self.door, self.client, self.start_ns = door, client, start_ns
        self.next = self.began = 0

    def name(self, random):
        return f"sdk{(time.monotonic_ns() - self.start_ns) // GENERATION_NS}-{random.randrange(NAMES)}"

    def invoke(self, kind, scope, **more):
        self.next += 1
        self.began = time.monotonic_ns()
        self._write({"event": "invoked", "op": self.next, "client": self.client, "door": self.door, "kind": kind, "scopes": [scope],
                     "owner": self.client, **more})
        return self.next

    def refuse(self, operation, wait, holder):
        """The SDK asks again when there is no answer. If that took long, the first request may have been granted, and its lease may
        have ended since: then the refusal does not say that there was no effect."""
        if time.monotonic_ns() - self.began < (wait + PROMPT) * 1e9:
            self.end(operation, "refused", holder=holder)
        else:
            self.end(operation, "unknown")

    def end(self, operation, outcome, **answer):
        self._write({"event": outcome, "op": operation, **answer})

    def _write(self, line):
        line["at_ns"] = time.monotonic_ns()
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
