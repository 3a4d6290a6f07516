#!/usr/bin/env python3
"""What all clients have in common: the version of the project, its licence, and the scenarios of clients/scenarios.md.

    conformance_test.py VERSION [unittest's arguments]

VERSION is the one of the project, as CMake knows it: the one place where it is written by hand and not compared.
"""

import json
import re
import sys
import unittest

from programs import CLIENTS, REPOSITORY

VERSION = ""

# The tests of each client against the real server (or, where a scenario needs one, a server of the test's own), and how a
# test names its scenario there.
SCENARIO_TESTS = {
    "C++": ("tests/sdk/*_test.cc", r"^TEST(?:_F)?\(\w+, (S\d+)[A-Z]"),
    "Python": ("clients/python/tests/scenarios_test.py clients/python/tests/sets_test.py", r"^    def test_(S\d+)_"),
    "asyncio": ("clients/python/tests/aio_test.py clients/python/tests/sets_test.py", r"^    async def test_(S\d+)_"),
    "JavaScript": ("clients/js/test/scenarios_test.mjs clients/js/test/sets_test.mjs",
                   r"^ *(?:check\()?[`\"](S\d+): "),
    "Go": ("clients/go/*_test.go", r"^func Test(S\d+)[A-Z]"),
}
CLIENT_PAGE = "docs/clients.md"


def read(path):
    return (REPOSITORY / path).read_text(encoding="utf-8")


def find(path, pattern):
    found = re.search(pattern, read(path), re.M)
    return found and found.group(1)


def scenarios():
    return re.findall(r"^\| (S\d+) \|", read("clients/scenarios.md"), re.M)


def tested_scenarios(client):
    paths, pattern = SCENARIO_TESTS[client]
    texts = [path.read_text(encoding="utf-8") for glob in paths.split() for path in sorted(REPOSITORY.glob(glob))]
    named = [name for text in texts for name in re.findall(pattern, text, re.M)]
    return {name for names in named for name in names.split(", ")}


def table(heading):
    """The rows of the first table below a heading of the page, as lists of cells. The first row has the columns."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", read(CLIENT_PAGE), re.M | re.S).group(1)
    rows = re.search(r"(?:^\|.*\n)+", section, re.M).group(0).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [cells[0], *cells[2:]]


class Packages(unittest.TestCase):
    def test_have_the_version_of_the_project(self):
        self.assertEqual(find("CMakeLists.txt", r"^project\(holdfast VERSION ([0-9.]+) "), VERSION)
        self.assertEqual(find("clients/python/holdfast/__init__.py", r'^__version__ = "(.*)"$'), VERSION)
        self.assertEqual(json.loads(read("clients/js/package.json"))["version"], VERSION)
        self.assertEqual(find("clients/go/client.go", r'^const Version = "(.*)"$'), VERSION)
        for path in ("clients/go/README.md", "tests/clients/programs.py"):
            self.assertEqual(find(path, r"^require holdfast/clients/go v(.*)$"), VERSION, path)

    def test_have_the_licence_of_the_project(self):
        for client in ("python", "js", "go"):
            self.assertEqual(read(f"clients/{client}/LICENSE"), read("LICENSE"), client)


class Scenarios(unittest.TestCase):
    def test_are_numbered_without_a_gap(self):
        self.assertGreaterEqual(len(scenarios()), 17)
        self.assertEqual(scenarios(), [f"S{number + 1}" for number in range(len(scenarios()))])

    def test_are_each_named_by_a_test_of_every_client(self):
        for client in SCENARIO_TESTS:
            with self.subTest(client):
                self.assertEqual(tested_scenarios(client), set(scenarios()))

    def test_are_the_rows_of_the_table(self):
        columns, *rows = table("Scenarios")
        self.assertEqual([row[0] for row in rows], scenarios())
        self.assertEqual(columns[2:-1], list(SCENARIO_TESTS))
        for row in rows:
            self.assertEqual(len(row), len(columns), row)
            for client, cell in zip(columns[2:-1], row[2:-1]):
                self.assertEqual(cell == "yes", row[0] in tested_scenarios(client), (row[0], client))


class Features(unittest.TestCase):
    """The page names the calls of each client that belong to a feature. The client has them."""

    SOURCES = {
        "C++": "include/holdfast/*.h",
        "Python": "clients/python/holdfast/*.py",
        "asyncio": "clients/python/holdfast/**/*.py",
        "JavaScript": "clients/js/holdfast.d.ts",
        "Go": "clients/go/*.go",
        "shell": "src/cli/**/*.cc",
    }

    def test_are_calls_that_the_clients_have(self):
        columns, *rows = table("Features")
        self.assertEqual(columns[1:], list(self.SOURCES))
        for client, glob in self.SOURCES.items():
            text = "".join(path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob(glob)))
            for row in rows:
                for name in re.findall(r"`([^`]+)`", row[1 + list(self.SOURCES).index(client)]):
                    with self.subTest(client, feature=row[0], name=name):
                        self.assertTrue(re.search(rf"(?<!\w){re.escape(name)}" + r"\b" * name[-1].isalnum(), text))


    def test_are_the_names_that_lockservers_sdk_has(self):
        """docs/names.md says what the calls of LockServer's SDK are called in each client."""
        page = (REPOSITORY / "docs/names.md").read_text(encoding="utf-8")
        header, _, *rows = re.search(r"^\| there \(Go\) .*\n(?:\|.*\n)+", page, re.M).group(0).splitlines()
        columns = [cell.strip().split(",")[0] for cell in header.strip("|").split("|")]
        self.assertGreaterEqual(len(rows), 8)
        for client, column in zip(columns[1:], range(1, len(columns))):
            text = "".join(path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob(self.SOURCES[client])))
            for row in rows:
                for name in re.findall(r"`([^`]+)`", row.strip("|").split("|")[column]):
                    with self.subTest(client, name=name):
                        self.assertRegex(text, rf"\b{re.escape(re.split('[.:]+', name)[-1])}\b")


if __name__ == "__main__":
    VERSION = sys.argv.pop(1)
    unittest.main()
