#!/usr/bin/env python3
"""Every file and every test that docs/seeds.md names exists, and the page of the smallest door has all its answers.

    seeds_test.py [HOLDFAST] [unittest's arguments]
"""

import re
import subprocess
import sys
import unittest

import typed

PAGE = typed.REPOSITORY / "docs" / "seeds.md"
CASE = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def sources(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=typed.REPOSITORY,
                            capture_output=True, text=True, check=True).stdout
    return [typed.REPOSITORY / path for path in listed.splitlines() if (typed.REPOSITORY / path).exists()]


def cpp_cases():
    """Those of a file that has a table of rows also with each row: `Suite.Case:Row`."""
    known = set()
    for path in sources("*_test.cc", "*_test.h"):
        text = path.read_text(encoding="utf-8")
        rows = re.findall(r'^ *\{"(\w+)",', text, re.M)
        for suite, case in CASE.findall(text):
            known.update([f"{suite}.{case}", *(f"{suite}.{case}:{row}" for row in rows)])
    return known


def other_cases():
    """Functions and methods that are tests in Python and in Go."""
    texts = [path.read_text(encoding="utf-8") for path in sources("tests/*.py", "clients/*.py", "clients/go/*_test.go")]
    return {name for text in texts for name in re.findall(r"^(?: *(?:async )?def|func) ((?:test_|Test|Example)\w+)", text, re.M)}


def rows():
    """The cells of each row that says what holds a sentence."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("| "))]
        if line.startswith("|") and len(cells) == 3 and cells[0] not in ("document", "the document says") and not re.match(r"\[\d{3}\]", cells[0]) and "---" not in line:
            yield cells


class Seeds(unittest.TestCase):
    def test_every_sentence_is_held_by_a_test_or_has_a_reason(self):
        known = cpp_cases() | other_cases()
        listed = list(rows())
        self.assertGreater(len(listed), 80)
        wrong = []
        for sentence, _, held_by in listed:
            if held_by == "-" or held_by.startswith("["):
                continue
            named = re.findall(r"`([^`]+)`", held_by)
            if not named:
                wrong.append(f"{sentence}: no test")
            for name in named:
                if "/" in name:
                    if not (typed.REPOSITORY / name).exists():
                        wrong.append(f"{sentence}: no file {name}")
                elif name not in known:
                    wrong.append(f"{sentence}: no test {name}")
        self.assertEqual([], wrong)


class Homelab(unittest.TestCase):
    def test_the_page_has_every_sentence_that_the_door_answers(self):
        door = typed.REPOSITORY / "src" / "doors" / "homelab"
        source = "".join((door / name).read_text(encoding="utf-8") for name in ("homelab_request.cc", "homelab_answer.cc"))
        sentences = re.findall(r'"([a-z]+ [a-z ;]+)"', source)
        self.assertIn("held by another client", sentences)
        self.assertIn("invalid ttl format", sentences)
        page = (typed.REPOSITORY / "docs" / "protocols" / "homelab.md").read_text(encoding="utf-8")
        self.assertEqual([], [sentence for sentence in sentences if f"`{sentence}" not in page])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        sys.argv.pop(1)
    unittest.main()
