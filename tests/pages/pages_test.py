#!/usr/bin/env python3
"""What the pages tell people to type, typed; see pages.py.

    pages_test.py HOLDFAST [unittest's arguments]
"""

import os
import sys
import unittest

import pages

PROGRAM = ""

# Blocks that no page runs, and where they are run instead.
ELSEWHERE = {
    "make run": "tests/e2e/readme_test.cc",
    "make test": "this test is part of it",
}

SERVER = "holdfast serve --memory\n"
ETCD = "etcd-alone >etcd-log 2>&1 &\nuntil etcdctl --endpoints 127.0.0.1:2379 endpoint health; do sleep 0.1; done\n"

# The pages, and what runs before they are read.
PAGES = {
    "README.md": [SERVER],
    "docs/cli.md": [SERVER],
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


def text_of(path):
    return (pages.REPOSITORY / path).read_text(encoding="utf-8")


class Pages(unittest.TestCase):
    def read(self, path, before):
        blocks = [block for block in pages.blocks_of(text_of(path)) if block.text.split("#")[0].strip() not in ELSEWHERE]
        typed = pages.commands_of(blocks)
        self.assertTrue(typed, f"{path} has no commands")
        desk = pages.Desk(PROGRAM)
        self.addCleanup(desk.clean_up)
        printed = desk.type(before + typed)[len(before):]
        self.assertEqual(pages.differences(blocks, printed), [])

    def test_every_page_with_commands_is_read(self):
        """Pages of these folders may not show commands that nobody runs."""
        folders = ("docs/coming-from", "docs/reference")
        found = {str(path.relative_to(pages.REPOSITORY))
                 for folder in folders for path in (pages.REPOSITORY / folder).glob("*.md")}
        with_commands = {path for path in found if pages.commands_of(pages.blocks_of(text_of(path)))}
        self.assertEqual(with_commands - set(PAGES), set())


def add_test(path, before):
    name = "test_" + path.removesuffix(".md").replace("/", "_").replace("-", "_")
    setattr(Pages, name, lambda self: self.read(path, before))


for each_path, each_before in PAGES.items():
    add_test(each_path, each_before)


class Readme(unittest.TestCase):
    def test_begins_with_the_two_commands(self):
        first, second = pages.blocks_of(text_of("README.md"))[:2]
        self.assertEqual(first.text.split("#")[0].strip(), "make run")
        self.assertEqual(second.text.split("#")[0].strip(), "make test")

    def test_is_not_longer_than_two_hundred_lines(self):
        self.assertLessEqual(len(text_of("README.md").splitlines()), 200)


class Mechanism(unittest.TestCase):
    """A page that is wrong is found to be wrong."""

    def differences(self, text):
        blocks = pages.blocks_of(text)
        desk = pages.Desk(PROGRAM)
        self.addCleanup(desk.clean_up)
        return pages.differences(blocks, desk.type(pages.commands_of(blocks)))

    def test_variables_are_kept_from_block_to_block(self):
        self.assertEqual(self.differences("```sh\na=1\n```\n```sh\necho $a\n```\n```text\n1\n```\n"), [])

    def test_another_output_is_found(self):
        self.assertEqual(len(self.differences("```sh\necho 1\n```\n```text\n2\n```\n")), 1)
        self.assertEqual(len(self.differences('```sh\necho \'{"a":"x"}\'\n```\n```json\n{"a":"y"}\n```\n')), 1)

    def test_times_and_numbers_may_differ(self):
        page = "```sh\necho at 2026-01-15T10:30:00.123Z 1794753996361726\n```\n" \
               "```text\nat 2030-12-01T00:00:00Z 1111111111111111\n```\n"
        self.assertEqual(self.differences(page), [])

    def test_a_command_that_fails_is_found(self):
        with self.assertRaisesRegex(AssertionError, "exit status 3"):
            self.differences("```sh\ntrue\n```\n```sh\n(exit 3)\necho after\n```\n")

    def test_a_server_that_does_not_start_is_found(self):
        with self.assertRaisesRegex(AssertionError, "no-such-flag"):
            self.differences("```sh\nholdfast serve --no-such-flag\n```\n")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
