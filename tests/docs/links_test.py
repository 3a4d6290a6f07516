#!/usr/bin/env python3
"""The links of all pages: those within the repository lead somewhere, the others are well-formed.

    links_test.py [HOLDFAST] [unittest's arguments]
"""

import re
import subprocess
import sys
import unittest
import urllib.parse
import xml.etree.ElementTree

import typed

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^()\s>]*(?:\([^()\s]*\))?[^()\s>]*)>?\)|<(https?://[^>\s]+)>|\b(?:src|srcset|href)=\"([^\"]+)\"")

# May be missing: they are added to the tree separately.
MAY_BE_MISSING = set()


def listed_pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=typed.REPOSITORY,
                            capture_output=True, text=True, check=True).stdout
    return [typed.REPOSITORY / path for path in listed.splitlines() if (typed.REPOSITORY / path).exists()]


def without_code(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors_of(text):
    """The names that GitHub gives to headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (own := name + (f"-{number}" if number else "")) in found:
            number += 1
        found.add(own)
    return found


def links_of(path):
    text = without_code(path.read_text(encoding="utf-8"))
    return [next(part for part in match if part) for match in LINK.findall(text) if any(match)]


class Links(unittest.TestCase):
    def test_lead_to_files_and_headings_that_exist(self):
        broken = []
        for path in listed_pages():
            for link in links_of(path):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                file = (path.parent / urllib.parse.unquote(target)).resolve() if target else path
                name = f"{path.relative_to(typed.REPOSITORY)}: {link}"
                if not file.exists():
                    if str(file.relative_to(typed.REPOSITORY)) not in MAY_BE_MISSING:
                        broken.append(name)
                elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text(encoding="utf-8")):
                    broken.append(name + " (no such heading)")
        self.assertEqual(broken, [])

    def test_to_other_sites_are_well_formed(self):
        count = 0
        for path in listed_pages():
            for link in links_of(path):
                if not re.match(r"[a-z]+:", link):
                    continue
                url, count = urllib.parse.urlsplit(link), count + 1
                self.assertIn(url.scheme, ("http", "https"), f"{path}: {link}")
                self.assertRegex(url.hostname or "", r"^(127\.0\.0\.1|[a-z0-9-]+(\.[a-z0-9-]+)+)$", f"{path}: {link}")
        self.assertGreater(count, 20)

    def test_headings_are_named_as_github_names_them(self):
        self.assertEqual(anchors_of("# A `/v1/x` page, it's\n## Two words\n## Two words\n"),
                         {"a-v1x-page-its", "two-words", "two-words-1"})

    def test_the_indexes_lead_to_every_page(self):
        """docs/README.md, or the index of the page's folder."""
        docs = typed.REPOSITORY / "docs"
        indexes = [docs / "README.md", *docs.glob("*/README.md")]
        linked = {(index.parent / link.partition("#")[0]).resolve() for index in indexes for link in links_of(index)}
        found = {path for path in listed_pages() if docs in path.parents and docs / "decisions" not in path.parents}
        self.assertEqual(found - linked - {docs / "README.md"}, set())


class Pictures(unittest.TestCase):
    def test_that_are_drawn_are_well_formed_described_and_dark_if_the_page_is(self):
        drawn = list((typed.REPOSITORY / "docs/images").glob("*.svg"))
        self.assertGreater(len(drawn), 5)
        for path in drawn:
            root = xml.etree.ElementTree.parse(path).getroot()
            self.assertTrue(root.get("aria-label") or root.get("aria-labelledby"), path)
            self.assertIn("prefers-color-scheme: dark", path.read_text(encoding="utf-8"), path)

    def test_are_all_shown_somewhere(self):
        shown = {(path.parent / link).resolve() for path in listed_pages() for link in links_of(path)}
        self.assertEqual(set((typed.REPOSITORY / "docs/images").glob("*.svg")) - shown, set())


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
