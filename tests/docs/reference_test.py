#!/usr/bin/env python3
"""docs/reference agrees with the program.

    reference_test.py HOLDFAST [unittest's arguments]
"""

import collections
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import typed

sys.path.insert(0, str(typed.REPOSITORY / "tools"))
import reference  # noqa: E402

PROGRAM = ""
PATIENCE_S = 60


def page(name):
    return (reference.REFERENCE / name).read_text(encoding="utf-8")


class Tables(unittest.TestCase):
    def test_are_those_that_the_program_makes(self):
        checked = subprocess.run([sys.executable, typed.REPOSITORY / "tools/reference.py", PROGRAM, "--check"],
                                 capture_output=True, text=True, timeout=2 * PATIENCE_S)
        self.assertEqual((checked.stdout + checked.stderr, checked.returncode), ("", 0),
                         "`tools/reference.py build/release/holdfast` writes them anew")

    def test_have_every_option_of_serve_once(self):
        shown = [name for names in re.findall(r"made from options of serve: (.*) -->", page("options.md"))
                 for name in names.split()]
        self.assertEqual([name for name, count in collections.Counter(shown).items() if count > 1], [])
        self.assertEqual(set(shown), reference.serve_options(PROGRAM))

    def test_have_every_tag_of_the_openapi_document(self):
        self.assertEqual(set(re.findall(r"made from routes: (\w+) -->", page("http.md"))), set(reference.routes()))


class EventKinds(unittest.TestCase):
    """Each kind of event, wherever kinds are listed."""

    def read(self, path, pattern):
        [listed] = re.findall(pattern, (typed.REPOSITORY / path).read_text(encoding="utf-8"), re.DOTALL)
        return sorted(re.findall(r"\w+", listed.replace("//", " ")))

    def test_are_all_in_the_public_header_and_on_the_page(self):
        engine = re.findall(r'case EventKind::\w+: return "(\w+)"',
                            (typed.REPOSITORY / "src/core/values/changes.cc").read_text(encoding="utf-8"))
        self.assertIn("granted", engine)
        kinds = sorted([*engine, "fence_refused", "audit"])
        self.assertEqual(self.read("include/holdfast/lock_event.h", r"// (granted, .*?)\. And gap:"), kinds)
        document = json.loads((typed.REPOSITORY / "src/app/http/openapi.json").read_text(encoding="utf-8"))
        self.assertEqual(sorted(document["components"]["schemas"]["EventKind"]["enum"]), sorted([*kinds, "gap"]))
        text = (typed.REPOSITORY / "docs/protocols/lockserver.md").read_text(encoding="utf-8")
        told = text.partition("\nKinds are ")[2].partition("\n\n")[0]
        self.assertEqual(sorted(set(re.findall(r"`(\w+)`", told)) & set(kinds)), kinds)


class Server:
    """`holdfast serve` on a free port, with tokens if they are wanted."""

    def __init__(self, *flags):
        self._process = reference.Process(PROGRAM, "serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--memory",
                                          "--log-level", "off", *flags)
        self._process.__enter__()
        self.address = self._process.address("http")

    def end(self):
        self._process.__exit__()

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        connection.request(method, target, body if body is None or isinstance(body, bytes) else json.dumps(body))
        answer = connection.getresponse()
        connection.close()
        return answer.status


class ExitStatuses(unittest.TestCase):
    """Each status of the page, caused."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.server = self.serve()

    def serve(self, *flags):
        server = Server(*flags)
        self.addCleanup(server.end)
        return server

    def start(self, *words, server=None):
        own = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder.name, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                env={**own, "HOLDFAST_SERVER": (server or self.server).address})

    def status(self, *words, server=None):
        process = self.start(*words, server=server)
        process.communicate(timeout=PATIENCE_S)
        return process.returncode

    def started(self, *words):
        """A `run` whose command has said that it runs."""
        process = self.start(*words)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def keeper_of(self, process):
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return int(children[0])

    def lost(self):
        process = self.started("run", "x", "--ttl", "2s", "sh", "-c", "echo ready; sleep 60")
        self.assertEqual(self.status("force-unlock", "x", "--yes"), 0)
        return process.wait(PATIENCE_S)

    def guard_killed(self):
        process = self.started("run", "x", "sh", "-c", "echo ready; sleep 60")
        os.kill(self.keeper_of(process), signal.SIGKILL)
        return process.wait(PATIENCE_S)

    def not_granted(self):
        holder = self.started("run", "y", "sh", "-c", "echo ready; sleep 60")
        status = self.status("run", "y", "--try", "true")
        holder.kill()
        return status

    def not_permitted(self):
        token = pathlib.Path(self.folder.name, "token")
        token.write_text("secret\n", encoding="utf-8")
        token.chmod(0o600)
        return self.status("ls", server=self.serve("--auth-token-file", str(token)))

    def ended_by_signal(self):
        return self.status("run", "z", "sh", "-c", "kill -TERM $$")

    def unreachable(self):
        return self.status("ls", "--server", "127.0.0.1:1")

    def test_are_those_of_the_page(self):
        script = pathlib.Path(self.folder.name, "no-program")
        script.write_text("text", encoding="utf-8")
        caused = {
            "0": self.status("run", "a", "true"),
            "1": self.status("unlock", "nonsense"),
            "64": self.status("run"),
            "69": self.unreachable(),
            "70": self.guard_killed(),
            "74": self.status("backup", "/no/such/folder/file", server=self.serve_on_disk()),
            "75": self.not_granted(),
            "76": self.lost(),
            "77": self.not_permitted(),
            "126": self.status("run", "a", "./no-program"),
            "127": self.status("run", "a", "./no-such-program"),
            "128 + n": self.ended_by_signal(),
        }
        self.assertEqual(list(caused), re.findall(r"^\| ([0-9][0-9 +n]*) \|", page("exit-codes.md"), re.M))
        self.assertEqual({shown: str(status) for shown, status in caused.items()},
                         {shown: str(128 + signal.SIGTERM) if shown == "128 + n" else shown for shown in caused})

    def serve_on_disk(self):
        process = reference.Process(PROGRAM, "serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off",
                                    "--data", self.folder.name + "/data")
        process.__enter__()
        self.addCleanup(process.__exit__)
        return collections.namedtuple("Address", "address")(process.address("http"))

    def test_a_command_keeps_its_own(self):
        self.assertEqual(self.status("run", "a", "sh", "-c", "exit 7"), 7)

    def test_dflockd_exits_with_1_when_it_is_called_wrongly(self):
        self.assertEqual(self.status("dflockd", "--no-such-flag"), 1)


# Where a limit of the page is in the sources, for what takes too long to try: (row, file, text there).
IN_SOURCES = [
    ("a state of Terraform | 1 GiB", "src/files/versions/version_store.h", r"document_bytes_max = std::uint64_t\{1\} << 30"),
    ("locks: names, semaphores, paths, inodes | 10 000 000", "src/core/values/request.h", "locks_max = 10'000'000"),
    ("leases and waiters together | 4 000 000; `--leases-max`", "src/core/values/request.h", "leases_max = 4'000'000"),
    ("leases without an end | 100 000", "src/core/values/request.h", "endless_leases_max = 100'000"),
    ("waiters in all | 1 000 000", "src/core/values/request.h", " waiters_max = 1'000'000"),
    ("waiters for one lock | 100 000", "src/core/values/request.h", "waiters_per_lock_max = 100'000"),
    ("permits of a semaphore | 1 000 000", "src/core/values/request.h", "permits_max = 1'000'000"),
    ("sessions | 1 000 000", "src/core/values/request.h", " sessions_max = 1'000'000"),
    ("sessions of the file door | 1000; 250 for each token and each key of `--files-owner`",
     "src/files/login/session_book.h", r"sessions_max_default = 1000;(.|\n)*session_shares = 4;"),
    ("fences | 100 000; `--fences-max`", "src/service/books/fence.h", "resources_max = 100'000"),
    ("open connections, for each listener | 15 000; `--connections-max`", "src/app/serve_options.h", "connections_max = 15'000"),
    ("bytes of bodies that are arriving over HTTP | 64 MiB for each listener, or twice `--body-max`; then 503",
     "src/app/loop_parts.cc", r"arriving_bytes_max = std::size_t\{64\} << 20U(.|\n)*2 \* options.http_body_bytes_max"),
    ("ended leases whose `request_id` is remembered | 100 000, for 10 min", "src/service/books/request_memory.h",
     r"ended_kept = std::chrono::minutes\{10\}(.|\n)*ended_max = 100'000"),
    ("events that a reader can still ask for | 10 000", "src/service/events/event_feed.h", "events_max = 10'000"),
    ("holders, and waiters, in one answer | 1000", "src/doors/lockserver/lock_json.h",
     r"shown_waiters_max = 1'000(.|\n)*shown_holders_max = 1'000"),
    ("records that a request, an expiry, a listing or a call of an administrator looks at in one turn | 4096",
     "src/core/values/turn_limits.h", "visits_max = 4096;"),
    ("bytes that it copies in one turn, without its own body, files and states | 1 MiB",
     "src/core/values/turn_limits.h", r"copied_max = std::size_t\{1\} << 20U;"),
    ("a line of dflockd | 256 bytes", "src/doors/dflockd/dflockd_request.h", "line_bytes_max = 256;"),
    ("keys of one command or script of Redis | 64", "src/doors/redis/redis_door.h", "keys_max = 64;"),
    ("keys of one `MULTI` of Redis | 1024", "src/doors/redis/redis_requests.cc", "queued_keys_max = 1024;"),
    ("commands and scripts that one `MULTI` of Redis keeps | 512 KiB, 64 commands", "src/doors/redis/redis_requests.cc",
     r"queued_max = keys_max;(.|\n)*queued_bytes_max = std::size_t\{512\} \* 1024;"),
    ("a script of Redis | 16 KiB, 4096 words and signs", "src/doors/redis/script/lexer.h",
     r"script_bytes_max = std::size_t\{16\} \* 1024;(.|\n)*script_tokens_max = 4096;"),
    ("a run of one script or `EXEC` of Redis | 20 000 steps, 1 MiB made, copied or compared", "src/doors/redis/step_budget.h",
     r"step_steps_max = 20'000;(.|\n)*step_bytes_max = std::size_t\{1\} << 20;"),
    ("keys that one script or `EXEC` of Redis looks at or changes | 4096", "src/doors/redis/step_budget.h", "step_keys_max = 4096;"),
    ("changes of one script or `EXEC` of Redis | 2048, 256 KiB of names and values", "src/doors/redis/step_budget.h",
     r"step_changes_max = 2048;(.|\n)*step_changes_bytes_max = std::size_t\{256\} \* 1024;"),
    ("values that one script or `EXEC` of Redis returns | 4096", "src/doors/redis/step_budget.h", "step_items_max = 4096;"),
    ("scripts of Redis that are remembered | 1000, 16 MiB", "src/doors/redis/script/script_cache.h",
     r"scripts_max = 1'000;(.|\n)*scripts_bytes_max = std::size_t\{16\} << 20;"),
    ("a path of the file door | 4096 characters, 255 bytes for each part", "src/files/path/file_path.h",
     r"path_characters_max = 4096(.|\n)*segment_bytes_max = 255"),
]


class Limits(unittest.TestCase):
    """Each row of the page: tried at the limit and beyond, or found in the sources."""

    def rows(self):
        tables = re.findall(r"^\| what \| at most \|\n\|[-:|]+\|\n((?:\|.*\n)+)", page("limits.md"), re.M)
        return re.findall(r"^\| (.*) \|$", "".join(tables), re.M)

    def tried(self, server):
        """(row, a request at the limit, the same beyond it): the first is not answered 400 or 413, the second is."""
        day_ms, year_ms = 24 * 3600 * 1000, 366 * 24 * 3600 * 1000

        def lease(**fields):
            return lambda: server.ask("POST", "/v1/leases", {"scope": "x", "holder": "h", **fields})

        def lease_of(count):
            scopes = [f"scope-{number}" for number in range(count)]
            return lambda: server.ask("POST", "/v1/leases", {"scopes": scopes, "holder": "h"})

        def lease_of_long(count):
            scopes = [f"{number:x<4096}" for number in range(count)]
            return lambda: server.ask("POST", "/v1/leases", {"scopes": scopes, "holder": "h"})

        def lock(**fields):
            return lambda: server.ask("POST", "/v1/locks/y/acquire", {"owner_id": "h", "ttl_ms": 1000, **fields})

        def plain(ttl_ms):
            return lambda: server.ask("POST", f"/lock?client=a&job=z&ttl={ttl_ms}ms")

        def body(size):
            return lambda: server.ask("POST", "/v1/leases", b'{"scope":"b","holder":"h"}'.ljust(size))

        return [
            ("the name of a lock, a path, the name of a fence | 4096 bytes",
             lease(scope="n" * 4096), lease(scope="n" * 4097)),
            ("the name of a holder or client | 1024 bytes", lease(holder="h" * 1024), lease(holder="h" * 1025)),
            ("the metadata of a lease | 1024 bytes", lease(metadata="m" * 1024), lease(metadata="m" * 1025)),
            ("the value of a lease | 4096 bytes", lease(value="v" * 4096), lease(value="v" * 4097)),
            ("a `waiter` | 256 bytes", lease(waiter="w" * 256), lease(waiter="w" * 257)),
            ("scopes of one lease | 64", lease_of(64), lease_of(65)),
            ("the names of all scopes of one lease together | 64 KiB", lease_of_long(16), lease_of_long(17)),
            ("a `request_id` | 256 bytes", lease(request_id="r" * 256), lease(request_id="r" * 257)),
            ("a body over HTTP | 1 MiB; `--body-max`", body(1 << 20), body((1 << 20) + 1)),
            ("TTL at `/v1/leases` | 24 h; `--lease-max`", lease(ttl_ms=day_ms), lease(ttl_ms=day_ms + 1)),
            ("TTL at `/v1/locks` | 10 min", lock(ttl_ms=600000), lock(ttl_ms=600001)),
            ("TTL at `/lock` and at the doors of dflockd and Redis | 366 days", plain(year_ms), plain(year_ms + 1)),
            ("one wait at `/v1/leases` and `/v1/locks` without a `request_id` | 10 min",
             lease(scope="free", wait_ms=600000), lease(wait_ms=600001)),
        ]

    def test_are_those_of_the_page(self):
        server = Server()
        self.addCleanup(server.end)
        tried = self.tried(server)
        self.assertEqual(sorted(self.rows()), sorted([row for row, *_ in tried] + [row for row, *_ in IN_SOURCES]))
        for row, within, beyond in tried:
            self.assertIn(within(), (200, 409), row)
            self.assertIn(beyond(), (400, 413), row)
        for row, place, text in IN_SOURCES:
            path = typed.REPOSITORY / place
            sources = [path] if path.is_file() else list(path.rglob("*.h")) + list(path.rglob("*.cc"))
            self.assertTrue(any(re.search(text, source.read_text(encoding="utf-8")) for source in sources), row)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
