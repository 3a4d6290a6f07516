#!/usr/bin/env python3
"""The release: the changelog, the program, the library, the packages and the documents name the same version.

    release_test.py HOLDFAST LIBRARY VERSION [unittest's arguments]

tests/install and tests/package look at pkg-config, CMake's package and the Debian package; tests/clients at the clients.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import unittest
import urllib.request

import yaml

import typed

HOLDFAST, LIBRARY, VERSION = "", "", ""
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def changelog():
    """Pairs of a version and its date, the newest first, and the headings below each."""
    text = (typed.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    return [(section.splitlines()[0], re.findall(r"^### (.*)$", section, re.M)) for section in sections]


class Release(unittest.TestCase):
    def test_the_changelog_keeps_its_form(self):
        (newest, _), *releases = changelog()
        self.assertEqual(newest, "[Unreleased]")
        dates = []
        for title, kinds in releases:
            found = re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", title)
            self.assertTrue(found, title)
            dates.append(datetime.date.fromisoformat(found.group(2)))
            self.assertTrue(kinds, title)
            self.assertEqual(kinds, [kind for kind in KINDS if kind in kinds], "kinds in the usual order, each once")
        self.assertEqual(dates, sorted(dates, reverse=True))

    def test_the_newest_release_is_the_version_of_the_project(self):
        self.assertTrue(changelog()[1][0].startswith(f"[{VERSION}] - "), changelog()[1][0])

    def test_the_program_says_so(self):
        said = subprocess.run([HOLDFAST, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said, f"holdfast {VERSION}\n")
        manual = subprocess.run([HOLDFAST, "manual"], capture_output=True, text=True, check=True).stdout
        self.assertIn(VERSION, manual.splitlines()[0] + manual.splitlines()[1])

    def test_the_server_says_so(self):
        room = typed.Room(HOLDFAST)
        self.addCleanup(room.clean_up)
        server = typed.Server(room, "holdfast serve --memory")
        self.addCleanup(server.close)
        at = f"http://{room.address}:8080"
        with urllib.request.urlopen(at + "/v1/status") as answer:
            self.assertEqual(json.load(answer)["version"], VERSION)
        with urllib.request.urlopen(at + "/metrics") as answer:
            self.assertIn(f'holdfast_build_info{{version="{VERSION}"}} 1', answer.read().decode())

    def test_the_library_is_named_after_its_minor_version(self):
        shown = subprocess.run(["objdump", "-p", LIBRARY], capture_output=True, text=True, check=True).stdout
        minor = VERSION.rsplit(".", 1)[0]
        self.assertEqual(re.search(r"SONAME +(\S+)", shown).group(1), f"libholdfast.so.{minor}")
        page = (typed.REPOSITORY / "docs/production/upgrades.md").read_text(encoding="utf-8")
        self.assertIn(f"`libholdfast.so.{minor}`", page)

    def test_the_manifests_run_this_version(self):
        for path in sorted((typed.REPOSITORY / "packaging/kubernetes").glob("*.yaml")):
            for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                if manifest["kind"] == "StatefulSet":
                    [container] = manifest["spec"]["template"]["spec"]["containers"]
                    self.assertEqual(container["image"], f"holdfast:{VERSION}", path)


if __name__ == "__main__":
    HOLDFAST, LIBRARY, VERSION = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    unittest.main()
