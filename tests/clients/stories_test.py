#!/usr/bin/env python3
"""The programs of docs/stories.md, as they stand there, print what the page says.

    stories_test.py HOLDFAST STORY [unittest's arguments]

STORY is examples/story.cc, built.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import programs

sys.path.insert(0, str(programs.CLIENTS / "python/tests"))
import support  # noqa: E402

PAGE = (programs.REPOSITORY / "docs/stories.md").read_text(encoding="utf-8")
STORY = ""  # the program in C++


def blocks(heading):
    """The code below a heading of the page: pairs of language and text."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)


class Stories(unittest.TestCase):
    def setUp(self):
        self.server = support.Server("--memory")
        self.addCleanup(self.server.end)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, heading, language):
        [(its_language, text)] = blocks(heading)
        self.assertEqual(its_language, language)
        return text

    def check(self, command, **variables):
        """Runs it, and returns what it says on stderr."""
        expected = re.search(r"each prints\n\n```text\n(.*?)```", PAGE, re.S).group(1)
        ran = subprocess.run(command, capture_output=True, text=True, timeout=5 * support.PATIENCE_S,
                             cwd=self.folder, env={**programs.environment(self.server.url), **variables})
        self.assertEqual((ran.stdout, ran.returncode), (expected, 0), ran.stderr)
        return ran.stderr

    def test_shell(self):
        (self.folder / "bin").mkdir()
        (self.folder / "bin/holdfast").symlink_to(support.PROGRAM)
        said = self.check(["bash", "-c", self.program("Shell", "bash")],
                          PATH=f"{self.folder}/bin:{os.environ['PATH']}")
        self.assertEqual(len(said.splitlines()), 2, said)

    def test_python(self):
        self.assertEqual(self.check(programs.prepare_python(self.folder, self.program("Python", "python"))), "")

    def test_asyncio(self):
        self.assertEqual(self.check(programs.prepare_python(self.folder, self.program("asyncio", "python"))), "")

    def test_javascript(self):
        self.assertEqual(self.check(programs.prepare_javascript(self.folder, self.program("JavaScript", "js"))), "")

    def test_go(self):
        self.assertEqual(self.check(programs.prepare_go(self.folder, self.program("Go", "go"))), "")

    def test_cpp(self):
        source = (programs.REPOSITORY / "examples/story.cc").read_text(encoding="utf-8")
        self.assertEqual(self.program("C++", "cpp"), source)
        self.assertEqual(self.check([STORY]), "")

    def test_every_program_of_the_page_was_run(self):
        headings = re.findall(r"^## (.*)$", PAGE, re.M)
        languages = [language for heading in headings for language, _ in blocks(heading)]
        self.assertEqual(languages, ["bash", "python", "python", "js", "go", "cpp", "text"])


if __name__ == "__main__":
    STORY = shutil.which(os.path.abspath(sys.argv.pop(2)))
    support.main()
