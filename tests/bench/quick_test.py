#!/usr/bin/env python3
"""bench/quick: what it calls a growth, and that it writes the files of a commit without touching the repository."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent


def load():
    loader = importlib.machinery.SourceFileLoader("quick", str(REPOSITORY / "bench/quick"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("quick", loader))
    loader.exec_module(module)
    return module


def git(folder, *words):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


class Comparison(unittest.TestCase):
    def test_more_than_two_percent_is_a_growth(self):
        grown = load().find_growth({"a": 1000, "b": 1000, "c": 1000, "gone": 1}, {"a": 1020, "b": 1021, "c": 900})
        self.assertEqual(grown, ["b: +2.1 %, 1000 before, 1021 now"])

    def test_a_growth_has_to_be_seen_twice(self):
        quick = load()
        runs = [({"a": 1000, "b": 100}, {"a": 1100, "b": 110}), ({"a": 1001, "b": 100}, {"a": 1002, "b": 120})]
        quick.count_both = lambda: runs.pop(0)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(quick.count_carefully(), ({"a": 1000, "b": 100}, {"a": 1002, "b": 110}))
        self.assertEqual(quick.find_growth({"a": 1000, "b": 100}, {"a": 1002, "b": 110}),
                         ["b: +10.0 %, 100 before, 110 now"])

    def test_what_did_not_grow_is_counted_once(self):
        quick = load()
        runs = [({"a": 1000}, {"a": 1000})]
        quick.count_both = lambda: runs.pop(0)
        self.assertEqual(quick.count_carefully(), ({"a": 1000}, {"a": 1000}))

    def test_the_table_has_a_row_for_each(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            load().print_table({"a": 1000}, {"a": 900, "new": 5}, "abc1234")
        lines = output.getvalue().splitlines()
        self.assertEqual(lines[0], "| instructions per | abc1234 | working tree | change |")
        self.assertEqual(lines[2:], ["| a | 1000 | 900 | -10.0 % |", "| new | - | 5 | |"])


class CheckOut(unittest.TestCase):
    def test_only_files_that_differ_are_written_again(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            git(here, "init", "-q")
            for text in ["first", "second"]:
                (here / "same").write_text("same")
                (here / "changing").write_text(text)
                (here / f"only-{text}").write_text(text)
                git(here, "add", "-A")
                git(here, "rm", "-q", "--cached", "--ignore-unmatch", "only-first" if text == "second" else "none")
                git(here, "commit", "-q", "-m", text)
            quick = load()
            quick.here, quick.before_folder = here, here / "build/before"
            quick.before_source = quick.before_folder / "source"
            status = git(here, "status", "--short", "--untracked-files=no")
            quick.check_out("HEAD~1")
            self.assertEqual(sorted(os.listdir(quick.before_source)), ["changing", "only-first", "same"])
            written = (quick.before_source / "same").stat().st_mtime_ns
            quick.check_out("HEAD")
            self.assertEqual(sorted(os.listdir(quick.before_source)), ["changing", "only-second", "same"])
            self.assertEqual((quick.before_source / "changing").read_text(), "second")
            self.assertEqual((quick.before_source / "same").stat().st_mtime_ns, written, "it is the same in both")
            self.assertEqual(git(here, "status", "--short", "--untracked-files=no"), status)


if __name__ == "__main__":
    unittest.main()
