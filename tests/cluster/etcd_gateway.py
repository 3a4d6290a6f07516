"""What an operator, or another program, does to the etcd of a cluster: through the JSON that every member speaks."""

import base64
import json
import urllib.error
import urllib.request

FILLER = "/another-program/"
FILLER_BYTES = 1_000_000


class NoSpace(Exception):
    """etcd's database is full."""


def encode(text):
    return base64.b64encode(text.encode()).decode()


def after_prefix(prefix):
    """The first key that does not begin with it."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class EtcdGateway:
    """`ports`: of the members, for clients. Any member is asked that answers."""

    def __init__(self, ports):
        self.ports = ports

    def ask(self, path, body, port=None, seconds=10):
        trouble = None
        for one in [port] if port else self.ports:
            request = urllib.request.Request(f"http://127.0.0.1:{one}/v3/{path}", data=json.dumps(body).encode())
            try:
                with urllib.request.urlopen(request, timeout=seconds) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                text = error.read().decode()
                if "database space exceeded" in text:
                    raise NoSpace(text) from error
                trouble = OSError(text)
            except OSError as error:
                trouble = error
        raise trouble

    def find(self, key):
        """The key as etcd has it: `value`, `lease` and more; or nothing."""
        found = self.ask("kv/range", {"key": encode(key)}).get("kvs", [])
        if not found:
            return None
        return {**found[0], "value": base64.b64decode(found[0].get("value", "")).decode()}

    def revoke(self, lease):
        self.ask("lease/revoke", {"ID": lease})

    def fill(self):
        """Writes until there is no more space: etcd's alarm is on."""
        try:
            self.put_many(FILLER, 10_000)
        except NoSpace:
            return
        raise OSError("etcd takes everything: it has no quota")

    def put_many(self, prefix, count):
        """Large values below a prefix."""
        value = base64.b64encode(b"x" * FILLER_BYTES).decode()
        for number in range(count):
            self.ask("kv/put", {"key": encode(f"{prefix}{number:05}"), "value": value})

    def free(self, prefix=FILLER):
        """What an operator does then: removes, compacts, defragments every member, and takes the alarm back."""
        answer = self.ask("kv/deleterange", {"key": encode(prefix), "range_end": encode(after_prefix(prefix))})
        self.ask("kv/compaction", {"revision": answer["header"]["revision"], "physical": True})
        for port in self.ports:
            self.ask("maintenance/defragment", {}, port, seconds=30)
        for alarm in self.ask("maintenance/alarm", {"action": "GET"}).get("alarms", []):
            self.ask("maintenance/alarm", {"action": "DEACTIVATE", **alarm})
