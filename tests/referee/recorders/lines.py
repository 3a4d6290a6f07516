"""The lines of a recorder: docs/referee.md says what they mean. Times are of CLOCK_MONOTONIC."""

import json
import sys
import time

GENERATION_NS = 4_000_000_000  # as long, all recorders use the same names
NAMES = 3
TTL = 2.0


class Lines:
    def __init__(self, door, client, start_ns):
        self.door, self.client, self.start_ns, self.next = door, client, start_ns, 0

    def name(self, random):
        return f"sdk{(time.monotonic_ns() - self.start_ns) // GENERATION_NS}-{random.randrange(NAMES)}"

    def invoke(self, kind, scope, **more):
        self.next += 1
        self._write({"event": "invoked", "op": self.next, "client": self.client, "door": self.door, "kind": kind, "scopes": [scope],
                     "owner": self.client, **more})
        return self.next

    def end(self, operation, outcome, **answer):
        self._write({"event": outcome, "op": operation, **answer})

    def _write(self, line):
        line["at_ns"] = time.monotonic_ns()
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
