#!/usr/bin/env python3
"""The charts of docs/benchmarks.md: bars as long as the figures say, well-formed, and the same every time."""

import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "bench"))

import charts  # noqa: E402
import markdown  # noqa: E402

PAGE = """# Benchmarks

What stands before the first heading.

## HTTP

Some words.

| connections | in flight on each | echo req/s | holdfast req/s | ratio |
|--:|--:|--:|--:|--:|
| 1 | 1 | 20000 | 15000 | 0.75 |
| 80 | 16 | 2000000 | 500000 | 0.25 |

instructions per POST /lock renewal: 12069

## dflockd's clients

| connections | in flight on each | echo req/s | holdfast | redis | holdfast p50 / p99 µs | redis p50 / p99 µs | holdfast |
|--:|--:|--:|--:|--:|--:|--:|--:|
| 80 | 1 | 200 | 100 | 50 | 100 / 1000 | 10 / 10000 | 7 |
| 80 | 16 | 400 | 300 | 20 | 5 / 6 | 5 / 6 | 7 |

## Threads

| server's cores | requests | in flight | threads | CPU µs/req |
|--:|---|--:|--:|--:|
| 1 | A & <B> | 80 × 1 | 1 | 100 |
| 1 | A & <B> | 80 × 1 | 2 | 50 |
| 1 | A & <B> | 80 × 1 | 4 | 25 |

## A cluster

| clients, locks | | cycles/s |
|---|---|--:|
| 80, own names | holdfast | 500 |
| 80, own names | etcd | 100 |

| without service, the longest gap | seconds, median of the rounds | largest |
|---|--:|--:|
| the leader hands over | 0.5 | 1 |
| the leader is killed | 2 | 4 |
"""

SVG = "{http://www.w3.org/2000/svg}"


def draw(page):
    """The file names and the parsed pictures of the page."""
    with tempfile.TemporaryDirectory() as folder:
        drawn, missing = charts.draw_all(page, pathlib.Path(folder))
        return {name: ElementTree.parse(pathlib.Path(folder) / name).getroot() for name in drawn}, missing


def bars(picture):
    """(number of the series, width) of each bar, from top to bottom."""
    return [(rect.get("class").split()[0], float(rect.get("width"))) for rect in picture.iter(f"{SVG}rect")
            if "bar" in rect.get("class").split()]


def texts(picture):
    return [text.text for text in picture.iter(f"{SVG}text")]


class Charts(unittest.TestCase):
    def setUp(self):
        self.pictures, self.missing = draw(PAGE)

    def test_a_chart_without_a_table_is_left_out(self):
        self.assertEqual(self.missing, ["bench-disk.svg"])
        self.assertEqual(draw("# Nothing\n"), ({}, [chart.file for chart in charts.CHARTS]))

    def test_the_longest_bar_of_a_group_is_full(self):
        full = charts.PLOT_WIDTH
        self.assertEqual(bars(self.pictures["bench-http.svg"]),
                         [("s0", full), ("s1", full * 0.75), ("s0", full), ("s1", full * 0.25)])

    def test_of_two_columns_with_a_name_the_first_counts(self):
        full = charts.PLOT_WIDTH
        self.assertEqual(bars(self.pictures["bench-dflockd.svg"])[:3],
                         [("s0", full), ("s1", full / 2), ("s2", full / 4)])

    def test_rows_can_be_the_series(self):
        full = charts.PLOT_WIDTH
        self.assertEqual(bars(self.pictures["bench-threads.svg"]), [("s0", full), ("s1", full / 2), ("s2", full / 4)])
        self.assertEqual(bars(self.pictures["bench-cluster.svg"]), [("s0", full), ("s1", full / 5)])

    def test_one_scale_for_all_where_figures_are_compared_between_groups(self):
        full = charts.PLOT_WIDTH
        self.assertEqual(bars(self.pictures["bench-failover.svg"]),
                         [("s0", full / 8), ("s1", full / 4), ("s0", full / 2), ("s1", full)])

    def test_times_reach_from_p50_to_p99_by_powers_of_ten(self):
        third = charts.PLOT_WIDTH / 3  # from 10 to 10000
        drawn = bars(self.pictures["bench-latency.svg"])
        self.assertEqual([name for name, _ in drawn], ["s0", "s1"])  # rows with 16 in flight are left out
        for (_, width), wanted in zip(drawn, [third, 3 * third]):
            self.assertAlmostEqual(width, wanted, delta=0.1)

    def test_labels_and_figures_are_written(self):
        said = texts(self.pictures["bench-http.svg"])
        for text in ["1 connection, 1 in flight", "80 connections, 16 in flight", "2.00 M/s", "500 k/s", "15.0 k/s"]:
            self.assertIn(text, said)
        said = texts(self.pictures["bench-latency.svg"])
        for text in ["100 µs", "10 ms", "100 / 1000 µs", "10 / 10000 µs"]:
            self.assertIn(text, said)
        self.assertIn("1 core, A & <B>, 80 × 1 in flight", texts(self.pictures["bench-threads.svg"]))

    def test_people_who_do_not_see_it_hear_the_figures(self):
        for name, picture in self.pictures.items():
            self.assertEqual(picture.get("role"), "img", name)
            self.assertTrue(picture.find(f"{SVG}title").text, name)
        said = self.pictures["bench-http.svg"].find(f"{SVG}desc").text
        self.assertIn("80 connections, 16 in flight: echo 2000000/s, holdfast 500000/s", said)

    def test_there_is_a_dark_one(self):
        for name, picture in self.pictures.items():
            self.assertIn("prefers-color-scheme: dark", picture.find(f"{SVG}style").text, name)

    def test_everything_is_inside_the_picture(self):
        for name, picture in self.pictures.items():
            _, _, width, height = map(float, picture.get("viewBox").split())
            for text in picture.iter(f"{SVG}text"):
                self.assertLess(float(text.get("y")), height, name)
                self.assertLess(float(text.get("x")), width, name)

    def test_the_same_page_gives_the_same_pictures(self):
        again, _ = draw(PAGE)
        for name, picture in self.pictures.items():
            self.assertEqual(ElementTree.tostring(picture), ElementTree.tostring(again[name]), name)

    def test_the_pictures_in_the_tree_are_those_of_the_page_in_the_tree(self):
        page = (REPOSITORY / "docs/benchmarks.md").read_text(encoding="utf-8")
        for name, picture in draw(page)[0].items():
            in_tree = ElementTree.parse(REPOSITORY / "docs/images" / name).getroot()
            self.assertEqual(ElementTree.tostring(picture), ElementTree.tostring(in_tree),
                             f"{name}: run bench/charts.py docs/benchmarks.md docs/images")


class Sections(unittest.TestCase):
    def test_taking_apart_and_joining_changes_nothing(self):
        self.assertEqual(markdown.join(markdown.sections(PAGE)), PAGE)

    def test_one_section_is_replaced_and_the_others_stay(self):
        page = markdown.replace_section(PAGE, "## HTTP\n\nNew.\n")
        self.assertIn("## HTTP\n\nNew.\n\n## dflockd's clients\n", page)
        self.assertNotIn("12069", page)
        self.assertEqual(markdown.sections(page)[2:], markdown.sections(PAGE)[2:])
        self.assertEqual(page[:page.index("## HTTP")], PAGE[:PAGE.index("## HTTP")])

    def test_a_new_section_comes_at_the_end(self):
        self.assertEqual(markdown.replace_section(PAGE, "## New\n\nFigures.\n"), PAGE + "\n## New\n\nFigures.\n")


if __name__ == "__main__":
    unittest.main()
