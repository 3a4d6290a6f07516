#!/usr/bin/env python3
"""What the pages tell people to type, typed; see typed.py. The tutorials and the pages for production have tests of their own.

    pages_test.py HOLDFAST [unittest's arguments]
"""

import os
import pathlib
import sys
import tempfile
import unittest

import typed

PROGRAM = ""

# Blocks that no page runs, and where they are run instead.
ELSEWHERE = {
    "make run": "tests/e2e/readme_test.cc",
    "make test": "this test is part of it",
}

SERVER = "holdfast serve --memory\n"
ETCD = typed.ETCD

# The pages, and what runs before they are read.
PAGES = {
    "README.md": [SERVER],
    "docs/cli.md": [SERVER],
    "docs/history.md": [SERVER],
    "docs/concepts.md": [SERVER],
    "docs/faq.md": [SERVER],
    "docs/security.md": [],
    "docs/protocols/homelab.md": [SERVER],
    "docs/protocols/lockserver.md": [SERVER],
    "docs/protocols/redis.md": [],
    "docs/protocols/scoped.md": [SERVER],
    "docs/coming-from/flock.md": [SERVER],
    "docs/coming-from/redis.md": [],
    "docs/coming-from/etcd.md": [SERVER, ETCD],
    "docs/coming-from/consul.md": [SERVER],
    "docs/coming-from/dflockd.md": [],
    "docs/coming-from/lockserver.md": [],
    "docs/reference/doors.md": [],
    "docs/reference/options.md": [],
    "docs/reference/http.md": [SERVER],
    "docs/reference/metrics.md": [SERVER],
}


# Stands for `nc -N`: sends its input, and prints the answer.
NETCAT = """#!/usr/bin/env python3
import socket, sys
with socket.create_connection((sys.argv[-2], int(sys.argv[-1]))) as peer:
    peer.sendall(sys.stdin.buffer.read())
    peer.shutdown(socket.SHUT_WR)
    while piece := peer.recv(65536):
        sys.stdout.buffer.write(piece)
"""


def text_of(path):
    return (typed.REPOSITORY / path).read_text(encoding="utf-8")


def reader():
    """The room of a reader who is in the folder of the sources, and has the programs whose names the pages use."""
    room = typed.Room(PROGRAM)
    (room.desk / "build/release").mkdir(parents=True)
    (room.desk / "build/release/holdfast").symlink_to(PROGRAM)
    (room.desk / "clients").symlink_to(typed.REPOSITORY / "clients")
    for name in ("backup.sh", "build.sh", "cleanup.sh", "deploy.sh", "write-header"):
        room.add_program(f"desk/{name}", f"#!/bin/sh\necho {name} ran\n")
    room.add_program("bin/nc", NETCAT)
    room.add_program("bin/redis-cli", '#!/bin/sh\nexec /usr/bin/redis-cli -h 127.0.0.1 "$@"\n')
    return room


class Pages(unittest.TestCase):
    def read(self, path, before):
        reading = typed.Reading(self, reader(), path)
        reading.blocks = [block for block in reading.blocks if block.text.split("#")[0].strip() not in ELSEWHERE]
        for text in before:
            reading.type_block(typed.Block("sh", text, ""))
        reading.type()

    def test_every_page_with_commands_is_read(self):
        """Pages of these folders may not show commands that nobody runs."""
        folders = ("docs/coming-from", "docs/reference")
        found = {str(path.relative_to(typed.REPOSITORY))
                 for folder in folders for path in (typed.REPOSITORY / folder).glob("*.md")}
        with_commands = {path for path in found if any(map(typed.is_typed, typed.blocks_of(path)))}
        self.assertEqual(with_commands - set(PAGES), set())


def add_test(path, before):
    name = "test_" + path.removesuffix(".md").replace("/", "_").replace("-", "_")
    setattr(Pages, name, lambda self: self.read(path, before))


for each_path, each_before in PAGES.items():
    add_test(each_path, each_before)


class Readme(unittest.TestCase):
    def test_begins_with_the_two_commands(self):
        first, second = typed.blocks_of("README.md")[:2]
        self.assertEqual(first.text.split("#")[0].strip(), "make run")
        self.assertEqual(second.text.split("#")[0].strip(), "make test")

    def test_is_not_longer_than_two_hundred_lines(self):
        self.assertLessEqual(len(text_of("README.md").splitlines()), 200)


class Mechanism(unittest.TestCase):
    """A page that is wrong is found to be wrong."""

    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text(text, encoding="utf-8")
            reading = typed.Reading(self, typed.Room(PROGRAM), page)
        reading.type()

    def test_variables_are_kept_from_block_to_block(self):
        self.read("```sh\na=1\n```\n```sh\necho $a\n```\n```text\n1\n```\n")

    def test_another_output_is_found(self):
        for page in ("```sh\necho 1\n```\n```text\n2\n```\n", "```sh\necho 1\necho 2\n```\n```json\n3\n```\n",
                     "```sh\nholdfast serve --memory\n```\n```text\n2\n```\n"):
            with self.subTest(page), self.assertRaises(AssertionError):
                self.read(page)

    def test_json_is_some_of_the_lines(self):
        self.read("```sh\nprintf '1\\n2\\n3\\n'\n```\n```json\n1\n3\n```\n")
        with self.assertRaises(AssertionError):
            self.read("```sh\nprintf '1\\n2\\n3\\n'\n```\n```json\n3\n1\n```\n")

    def test_a_block_of_a_list_is_typed(self):
        self.read("1. one\n\n   ```sh\n   cat <<'END'\n   1\n   END\n   ```\n   ```text\n   1\n   ```\n")

    def test_python_is_run(self):
        self.read("```python\nif True:\n    print(1)\n```\n```text\n1\n```\n")

    def test_times_and_numbers_may_differ(self):
        page = "```sh\necho at 2026-01-15T10:30:00.123Z 1794753996361726\n```\n" \
               "```text\nat 2030-12-01T00:00:00Z 1111111111111111\n```\n"
        self.read(page)

    def test_a_command_that_fails_is_found(self):
        for command in ("(exit 3)", "false | true"):
            with self.subTest(command), self.assertRaisesRegex(AssertionError, "this failed"):
                self.read(f"```sh\ntrue\n```\n```sh\n{command}\necho after\n```\n")

    def test_a_server_that_does_not_start_is_found(self):
        with self.assertRaisesRegex(AssertionError, "no-such-flag"):
            self.read("```sh\nholdfast serve --no-such-flag\n```\n")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
