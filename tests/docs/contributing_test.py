#!/usr/bin/env python3
"""The section of CONTRIBUTING.md that says how to add a door names the files that the smallest door has.

    contributing_test.py [unittest's arguments]
"""

import re
import unittest

import typed

DOOR = "homelab"


def section():
    text = (typed.REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.search(r"^## Add a door\n(.*?)(?=^## )", text, re.M | re.S).group(1)


def table(heading):
    """The rows of a table of the section: pairs of a file, or a pattern of files, and a number of lines."""
    rows = section().split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return {path: int(lines) for path, lines in re.findall(r"^\| `([^`]+)` \| (\d+) \|", rows, re.M)}


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def mentions(path, word=DOOR):
    return sum(word in line.lower() for line in lines_of(path))


class AddADoor(unittest.TestCase):
    def test_homelab_is_the_smallest_door(self):
        sizes = {}
        for path in (typed.REPOSITORY / "src/doors").rglob("*_*.cc"):
            door = path.relative_to(typed.REPOSITORY / "src/doors").parts[0]
            sizes[door] = sizes.get(door, 0) + len(lines_of(path))
        self.assertEqual(min(sizes, key=sizes.get), DOOR, sizes)

    def test_its_own_files_are_those_of_the_table(self):
        named = set()
        for pattern, lines in table("files of the door").items():
            paths = {path for path in typed.REPOSITORY.glob(pattern) if path.is_file()} - named
            self.assertTrue(paths, pattern)
            named |= paths
            actual = sum(len(lines_of(path)) for path in paths)
            self.assertLessEqual(abs(actual - lines), lines / 10, f"{pattern} has {actual} lines by now")
        own = [*(typed.REPOSITORY / "src/doors" / DOOR).iterdir(), *(typed.REPOSITORY / "tests/conformance" / DOOR).iterdir()]
        self.assertEqual(named, set(own))

    def test_it_is_named_where_the_table_says(self):
        rows = table("file")
        self.assertGreaterEqual(len(rows), 12)
        for path, lines in rows.items():
            self.assertEqual(mentions(typed.REPOSITORY / path), lines, path)
        elsewhere = [path for path in (typed.REPOSITORY / "src/app").rglob("*.*")
                     if path.is_file() and "_test." not in path.name and mentions(path)]
        elsewhere += [typed.REPOSITORY / path for path in ("CMakeLists.txt", "tools/house.rules", "tests/CMakeLists.txt",
                                                          "src/service/doors.h")]
        self.assertEqual({str(path.relative_to(typed.REPOSITORY)) for path in elsewhere}, set(rows))

    def test_the_documents_name_it(self):
        for path in (f"docs/protocols/{DOOR}.md", "docs/glossary.md"):
            self.assertGreaterEqual(mentions(typed.REPOSITORY / path), 1, path)

    def test_a_door_with_a_listener_is_where_the_section_says(self):
        paths = re.findall(r"`(src/app/[\w/.]+)`", section().rsplit("A door with a listener of its own", 1)[1])
        self.assertEqual(len(paths), 4)
        for path in paths:
            self.assertGreaterEqual(mentions(typed.REPOSITORY / path, "redis"), 1, path)


if __name__ == "__main__":
    unittest.main()
