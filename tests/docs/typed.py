"""Pages, typed into a shell as they stand.

| block | |
|---|---|
| `sh` | is typed into one shell, after the blocks before it; every command must succeed |
| `sh`, beginning with `holdfast serve` | is typed in a terminal of its own, where it runs until the page ends |
| `python` | is a program that is run in that shell |
| `text` | is what the block before it prints on its standard output |
| `json` | is some of the lines that the block before it prints |
| all others | are only shown; a test may have a closer look at them |

Everything happens in a temporary folder. Each page has an address of its own instead of 127.0.0.1, so that its ports can be
those that it shows, whatever else runs on this machine. Otherwise the environment is that of a reader: a server without
options opens all its usual doors.
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

# What is different in every run: times, tokens, fencing numbers, times that are left.
_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{16,64}\b"), "NUMBER"),
    (re.compile(r"\b\d{12,}\b"), "NUMBER"),
    (re.compile(r'("retry_after_ms":)\d+'), r"\1NUMBER"),
    (re.compile(r" +(\d+m)?\d+(\.\d+)?s\b"), " SECONDS"),
    (re.compile(r" {2,}"), "  "),  # columns are as wide as what stands in them
]

# Starts an etcd of one member at its usual ports.
ETCD = """
etcd --data-dir etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \\
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \\
    --initial-cluster default=http://127.0.0.1:2380 > etcd.log 2>&1 &
until etcdctl --endpoints 127.0.0.1:2379 endpoint health > health.log 2>&1; do sleep 0.1; done
"""


def blocks_of(path):
    """The fenced blocks of a page of the repository. A block may be indented, as in a list."""
    found, heading, language, lines = [], "", None, []
    for line in (REPOSITORY / path).read_text(encoding="utf-8").splitlines():
        fence = re.fullmatch(r"( *)```(.*)", line)
        if language is not None:
            if fence:
                found.append(Block(language, "\n".join(lines) + "\n", heading))
                language, lines = None, []
            else:
                lines.append(line.removeprefix(indent))
        elif fence:
            indent, language = fence[1], fence[2].strip()
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def is_typed(block):
    return block.language in ("sh", "python")


def wait_until(is_so, what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"after {PATIENCE_S} s still not: {what}")
        time.sleep(0.05)


class Room:
    """A temporary folder with a `bin` of its own in the PATH, in which `holdfast` is the program under test. Pages are
    typed in its folder `desk`."""

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

    def add_program(self, path, text):
        """A script at a path of this room: below `bin` for a program that a reader has."""
        script = self.folder / path
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(self.here(text), encoding="utf-8")
        script.chmod(0o755)

    def here(self, text):
        """Text of a page, with the address of this room. That of the files is not in the text, but is their default."""
        text = text.replace("--files-root", "--files 127.0.0.1:8081 --files-root")
        return text.replace("127.0.0.1", self.address)

    def plain(self, text):
        """Text of a page or of a terminal, without what is different in every run."""
        text = text.replace(self.address, "127.0.0.1").replace(str(self.desk), "~")
        for pattern, name in _VARYING:
            text = pattern.sub(name, text)
        return text

    def environment(self):
        strange = ("HOLDFAST_", "DFLOCKD_", "PG", "XDG_STATE_HOME")
        own = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
        at = self.address
        return {**own, "PATH": f"{self.folder}/bin:{os.environ['PATH']}:/usr/sbin", "HOME": str(self.desk),
                "HOLDFAST_SERVER": f"http://{at}:8080", "HOLDFAST_HTTP": f"{at}:8080", "HOLDFAST_DFLOCKD": f"{at}:6388",
                "DFLOCKD_HOST": at, "LC_ALL": "C.UTF-8", "no_proxy": at, **self.variables}

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
        self._say(f"exec 9>&{done} {done}>&-; set -e -o pipefail\n")

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
                                            env=room.environment(), **(room.user or {}))
        doors = ["http"] + [door for door in ("redis", "files") if f"--{door} " in text]
        wait_until(lambda: self._listens(doors) or self.process.poll() is not None, "the server listens")
        if self.process.poll() is not None:
            raise AssertionError(f"the server did not start:\n{text}\n{self._log.read_text()}")

    def _listens(self, doors):
        return all(f"listening {door}" in self._log.read_text() for door in doors)

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Reading:
    """Types a page, from its beginning to its end, and compares what is printed with what the page says."""

    def __init__(self, test, room, path):
        self._room = room
        self.blocks = blocks_of(path)
        test.assertTrue(any(is_typed(block) for block in self.blocks), f"{path} has no commands")
        test.addCleanup(room.clean_up)
        self._test = test
        self._printed = None  # by the last block that was typed
        self.terminal = Terminal(room)
        test.addCleanup(self.terminal.close)

    def type(self, headings=None):
        """All blocks, or those below the given headings."""
        for block in self.blocks:
            if headings is not None and block.heading not in headings:
                continue
            if is_typed(block):
                self._printed = self.type_block(block)
            elif block.language in ("text", "json"):
                self._compare(block)

    def type_block(self, block):
        """What the block prints; None if it is a server."""
        if block.language == "python":
            return self.terminal.type(f"/usr/bin/python3 - <<'END'\n{block.text}END\n")
        if not block.text.startswith("holdfast serve"):
            return self.terminal.type(block.text)
        server = Server(self._room, block.text)
        self._test.addCleanup(server.close)
        return None

    def _compare(self, block):
        self._test.assertIsNotNone(self._printed, f"nothing prints this:\n{block.text}")
        shown, said = (self._room.plain(text).rstrip().splitlines() for text in (block.text, self._printed))
        if block.language == "json":
            said = [line for line in said if line in shown]
        self._test.assertEqual(said, shown, f"below {block.heading!r} this was printed:\n{self._printed}\n"
                                            f"and on the standard error:\n{self.terminal.cried()}")

    def shown(self, language):
        """The blocks of a language."""
        return [block for block in self.blocks if block.language == language]
