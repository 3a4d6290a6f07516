"""The commands of a page, typed as they stand.

A block of `sh` is typed into one shell, after the blocks before it, and every command in it must succeed; a block of
`python` is a program that is run there. A block that begins with `holdfast serve` runs in a terminal of its own until the page ends. A block of `text` after it is what the
commands print; a block of `json` is some of the lines that they print. Other blocks are only shown.

A page has a folder of its own, and an address of its own instead of 127.0.0.1, so that the ports can be those that the
page shows, whatever else runs on this machine.
"""

import collections
import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 120

Block = collections.namedtuple("Block", "language text")

# What differs from run to run: times, tokens, fencing numbers, times left.
_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{16,64}\b"), "NUMBER"),
    (re.compile(r"\b\d{12,}\b"), "NUMBER"),
    (re.compile(r'("retry_after_ms":)\d+'), r"\1NUMBER"),
    (re.compile(r" +(\d+m)?\d+(\.\d+)?s\b"), " SECONDS"),
    (re.compile(r" {2,}"), "  "),  # columns are as wide as what stands in them
]

# Stands for `nc -N`: sends its input, and prints the answer.
_NETCAT = """#!/usr/bin/env python3
import socket, sys
with socket.create_connection((sys.argv[-2], int(sys.argv[-1]))) as peer:
    peer.sendall(sys.stdin.buffer.read())
    peer.shutdown(socket.SHUT_WR)
    while piece := peer.recv(65536):
        sys.stdout.buffer.write(piece)
"""

# An etcd of one member, at its usual ports.
_ETCD = """#!/bin/sh
exec etcd --data-dir etcd-data --listen-client-urls http://ADDRESS:2379 --advertise-client-urls http://ADDRESS:2379 \\
    --listen-peer-urls http://ADDRESS:2380 --initial-advertise-peer-urls http://ADDRESS:2380 \\
    --initial-cluster default=http://ADDRESS:2380
"""


def blocks_of(text):
    """The fenced blocks of a page."""
    found = re.findall(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", text, re.M | re.S)
    return [Block(language, re.sub(f"^{indent}", "", content, flags=re.M)) for indent, language, content in found]


def commands_of(page_blocks):
    """What is to be typed."""
    return [f"/usr/bin/python3 - <<'END'\n{block.text}END\n" if block.language == "python" else block.text
            for block in page_blocks if block.language in ("sh", "python")]


def plain(text):
    """Text without what differs from run to run."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


class Desk:
    """A folder like that of the sources, an address, and programs that a reader has: scripts whose names pages use."""

    def __init__(self, program):
        self._temporary = tempfile.TemporaryDirectory(prefix="holdfast-page-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self._temporary.name)
        self.address = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}.{random.randint(1, 254)}"
        self._notes = self.folder / ".typed"
        for folder in (self._notes, self.folder / "build/release"):
            folder.mkdir(parents=True)
        (self.folder / "build/release/holdfast").symlink_to(os.path.abspath(program))
        (self.folder / "clients").symlink_to(REPOSITORY / "clients")
        for name in ("backup.sh", "build.sh", "cleanup.sh", "deploy.sh", "write-header"):
            self._add_program(self.folder / name, f"#!/bin/sh\necho {name} ran\n")
        self._add_program(self.folder / "build/release/nc", _NETCAT)
        self._add_program(self.folder / "build/release/etcd-alone", _ETCD.replace("ADDRESS", self.address))
        self._add_program(self.folder / "build/release/redis-cli",
                          f'#!/bin/sh\nexec /usr/bin/redis-cli -h {self.address} "$@"\n')

    @staticmethod
    def _add_program(path, text):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def environment(self):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "DFLOCKD_"))}
        at = self.address
        return {**own, "PATH": f"{self.folder}/build/release:{os.environ['PATH']}:/usr/sbin", "LC_ALL": "C.UTF-8",
                "HOLDFAST_SERVER": f"http://{at}:8080", "HOLDFAST_HTTP": f"{at}:8080", "HOLDFAST_DFLOCKD": f"{at}:6388",
                "HOLDFAST_DATA": str(self.folder / "data"), "HOLDFAST_LOG_LEVEL": "off",
                "DFLOCKD_HOST": at, "no_proxy": at, "NO_COLOR": "1"}

    def type(self, blocks):
        """Types the blocks. Returns what each of them printed."""
        script = ["set -e -o pipefail"]
        for number, block in enumerate(blocks):
            typed = block.replace("127.0.0.1", self.address)
            typed = typed.replace("--files-root", f"--files {self.address}:8081 --files-root")  # its default address
            (self._notes / f"block{number}").write_text(typed, encoding="utf-8")
            script.append(self._line(number, block))
        ran = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=self.folder, env=self.environment(),
                               start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            complaint = ran.communicate(timeout=PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            complaint = "it took too long"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(ran.pid, signal.SIGKILL)
        last = max(int(path.name[5:]) for path in self._notes.glob("print*"))
        if ran.returncode != 0:
            error = (self._notes / f"error{last}").read_text()
            raise AssertionError(f"exit status {ran.returncode} in\n{blocks[last]}{self.printed(last)}{error}{complaint}")
        return [self.printed(number) for number in range(len(blocks))]

    def _line(self, number, block):
        notes, files = self._notes, f">{self._notes}/print{number} 2>{self._notes}/error{number} </dev/null"
        if not block.startswith("holdfast serve"):
            return f"{{ source {notes}/block{number}; }} {files}"
        return (f"(exec bash {notes}/block{number}) {files} &\n"
                f"until grep -q ^listening {notes}/print{number}; do kill -0 $!; sleep 0.05; done")

    def printed(self, number):
        return (self._notes / f"print{number}").read_text().replace(self.address, "127.0.0.1")

    def clean_up(self):
        self._temporary.cleanup()


def differences(page_blocks, printed):
    """Where what was printed is not what the page shows. `printed` is that of commands_of(), in their order."""
    found, number = [], -1
    for block in page_blocks:
        if block.language in ("sh", "python"):
            number += 1
        elif block.language in ("text", "json"):
            found += _differences_of(block, printed[number] if number >= 0 else "")
    return found


def _differences_of(block, printed):
    shown, said = plain(block.text).splitlines(), plain(printed).splitlines()
    if block.language == "text":
        return [] if shown == said else [f"the page shows\n{block.text}and this was printed:\n{printed}"]
    rest = iter(said)
    return [f"the page shows\n{line}\nand this was printed:\n{printed}" for line in shown if line not in rest]
