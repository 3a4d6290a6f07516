"""Pages of docs/, typed into a shell as they stand.

A block of `sh` is typed: every command in it must succeed. A block of `text` that follows is what the commands print on
their standard output. A block that begins with `holdfast serve` is typed in a terminal of its own, where it runs until the
page ends. All other blocks are only shown; a test may have a closer look at them.

Everything happens in a temporary folder. Each page has an address of its own instead of 127.0.0.1, so that its ports can be
those that it shows, whatever else runs on this machine.
"""

import collections
import contextlib
import os
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 120

Block = collections.namedtuple("Block", "language text heading")

# What is different in every run: fencing numbers, tokens, points in time, times that are left, sizes of databases.
_VARYING = [
    (re.compile(r"\b1[789]\d{14}\b"), "NUMBER"),
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b"), "SECRET"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"\b1[789]\d{11}\b"), "MILLISECONDS"),
    (re.compile(r" +\d+\.\d+s"), " SECONDS"),
]

# Starts an etcd of one member, for tests that need a cluster and no page of their own. Its clients use port 9001.
ETCD = """
etcd --data-dir etcd --listen-client-urls http://127.0.0.1:9001 --advertise-client-urls http://127.0.0.1:9001 \\
    --listen-peer-urls http://127.0.0.1:9002 --initial-advertise-peer-urls http://127.0.0.1:9002 \\
    --initial-cluster default=http://127.0.0.1:9002 > etcd.log 2>&1 &
"""


def blocks_of(path):
    """The fenced blocks of a page of the repository."""
    found, heading, language, lines = [], "", None, []
    for line in (REPOSITORY / path).read_text(encoding="utf-8").splitlines():
        if language is not None:
            if line == "```":
                found.append(Block(language, "\n".join(lines) + "\n", heading))
                language, lines = None, []
            else:
                lines.append(line)
        elif line.startswith("```"):
            language = line[3:].strip()
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def wait_until(is_so, what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"after {PATIENCE_S} s still not: {what}")
        time.sleep(0.05)


class Room:
    """A temporary folder with a `bin` of its own in the PATH, in which `holdfast` is the program under test."""

    def __init__(self, holdfast, user=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-"))
        self.user = user  # arguments of subprocess.Popen that make it another user
        self.variables = {}
        self.address = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}.{random.randint(1, 254)}"
        (self.folder / "bin").mkdir()
        if user:
            shutil.copy(holdfast, self.folder / "bin/holdfast")  # the other user may not see where it was built
        else:
            (self.folder / "bin/holdfast").symlink_to(holdfast)
        self.desk = self.folder / "desk"
        self.desk.mkdir()
        self.desk.chmod(0o777)
        self.folder.chmod(0o755)

    def here(self, text):
        """Text of a page, with the address of this room."""
        return text.replace("127.0.0.1", self.address)

    def plain(self, text):
        """Text of a page or of a terminal, without what is different in every run."""
        text = text.replace(self.address, "127.0.0.1").replace(str(self.desk), "~")
        for pattern, name in _VARYING:
            text = pattern.sub(name, text)
        return text

    def environment(self):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PG"))}
        return {**own, "PATH": f"{self.folder}/bin:{os.environ['PATH']}:/usr/sbin", "HOME": str(self.desk),
                "HOLDFAST_SERVER": f"http://{self.address}:8080", "HOLDFAST_HTTP": f"{self.address}:8080",
                "HOLDFAST_DFLOCKD": "none", "LC_ALL": "C.UTF-8", "no_proxy": self.address, **self.variables}

    def serving_environment(self, text):
        """For a server: it serves files only if its command line says so."""
        files = {"HOLDFAST_FILES": f"{self.address}:8081"} if "--files-root" in text else {}
        return {**self.environment(), **files}

    def clean_up(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Terminal:
    """A shell that reads one block after the other."""

    def __init__(self, room):
        self._room = room
        self._said = (room.folder / "said").open("w+b")
        self._cried = (room.folder / "cried").open("w+b")
        self._done, done = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=self._said, stderr=self._cried,
            cwd=room.desk, env=room.environment(), text=True, start_new_session=True, pass_fds=[done], **(room.user or {}))
        os.close(done)
        self._say(f"exec 9>&{done} {done}>&-; set -e\n")

    def _say(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def type(self, text):
        """Runs the commands, and returns what they print."""
        path = self._room.folder / "typed"
        path.write_text(self._room.here(text), encoding="utf-8")
        begin = self._said.seek(0, os.SEEK_END)
        self._say(f"source {path} </dev/null; echo done >&9\n")
        if not self._is_done():
            raise AssertionError(f"this failed, or took too long:\n{text}\n{self._printed(begin)}\n{self.cried()}")
        return self._printed(begin)

    def _is_done(self):
        """Waits for the shell. False: it has ended, because a command failed, or it takes too long."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if select.select([self._done], [], [], 0.1)[0]:
                return os.read(self._done, 100) != b""
            if self.process.poll() is not None:
                return False
        return False

    def _printed(self, begin):
        self._said.seek(begin)
        return self._said.read().decode()

    def cried(self):
        self._cried.seek(0)
        return self._cried.read().decode()

    def close(self):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        for one in (self._said, self._cried):
            one.close()
        os.close(self._done)


class Server:
    """`holdfast serve ...`, as a page shows it, in a terminal of its own."""

    def __init__(self, room, text):
        text = room.here(text)
        self._log = room.folder / f"server-{time.monotonic_ns()}"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(["bash", "-c", "exec " + text], stdout=log, stderr=log, cwd=room.desk,
                                            env=room.serving_environment(text), **(room.user or {}))
        last = "listening files" if "--files-root" in text else "listening http"
        wait_until(lambda: last in self._log.read_text() or self.process.poll() is not None, "the server listens")
        if self.process.poll() is not None:
            raise AssertionError(f"the server did not start:\n{text}\n{self._log.read_text()}")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Reading:
    """Types a page, from its beginning to its end, and compares what is printed with what the page says."""

    def __init__(self, test, room, path):
        self._room = room
        self.blocks = blocks_of(path)
        test.assertTrue(any(block.language == "sh" for block in self.blocks), f"{path} has no commands")
        test.addCleanup(room.clean_up)
        self._test = test
        self.terminal = Terminal(room)
        test.addCleanup(self.terminal.close)

    def type(self, headings=None):
        """All blocks, or those below the given headings."""
        printed = None
        for block in self.blocks:
            if headings is not None and block.heading not in headings:
                continue
            if block.language == "sh" and block.text.startswith("holdfast serve"):
                server = Server(self._room, block.text)
                self._test.addCleanup(server.close)
                printed = None
            elif block.language == "sh":
                printed = self.terminal.type(block.text)
            elif block.language == "text":
                self._test.assertIsNotNone(printed, f"nothing prints this:\n{block.text}")
                self._test.assertEqual(self._room.plain(printed).rstrip(), self._room.plain(block.text).rstrip(),
                                       f"below {block.heading!r}; on the standard error:\n{self.terminal.cried()}")
                printed = None

    def shown(self, language):
        """The blocks of a language."""
        return [block for block in self.blocks if block.language == language]
