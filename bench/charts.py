#!/usr/bin/env python3
"""Draws tables of docs/benchmarks.md as small SVG files.

    bench/charts.py PAGE FOLDER

CHARTS says which columns of which table become which picture. A chart whose table is not on the page is left out. The
same page always gives the same files. The pictures follow the reader's light or dark setting, and their figures are in
their descriptions, for people who do not see them.
"""

import dataclasses
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

from markdown import sections, tables


@dataclasses.dataclass
class Chart:
    file: str
    heading: str  # of the section
    title: str
    note: str  # how to read it, in one line
    labels: list  # the columns that name a group of bars
    label_text: str  # with a {} for each of them
    series: dict  # what a bar is called: its column
    unit: str
    # relative: the longest bar of each group is full; common: one scale for all; spread: from p50 to p99 in µs, by powers
    # of ten
    scale: str = "relative"
    who: str = None  # the column that says whose figure it is, where each series has rows of its own
    only: dict = dataclasses.field(default_factory=dict)  # column: the values whose rows are drawn


CHARTS = [
    Chart("bench-http.svg", "HTTP", "HTTP: requests per second beside an echo server",
          "POST /lock renewals. Within each group, the longest bar is full.",
          ["connections", "in flight on each"], "{} connections, {} in flight",
          {"echo": "echo req/s", "holdfast": "holdfast req/s"}, "/s"),
    Chart("bench-dflockd.svg", "dflockd's clients", "Locks: requests per second beside an echo server and Redis",
          "A lock acquired and released in turn, in memory. Within each group, the longest bar is full.",
          ["connections", "in flight on each"], "{} connections, {} in flight",
          {"echo": "echo req/s", "holdfast": "holdfast", "redis": "redis"}, "/s",
          only={"connections": {"1", "80", "5000"}}),
    Chart("bench-latency.svg", "dflockd's clients", "Locks: time to an answer, p50 to p99",
          "Each connection always has one request in flight. Each step of the scale is ten times the one before.",
          ["connections"], "{} connections",
          {"holdfast": "holdfast p50 / p99 µs", "redis": "redis p50 / p99 µs"}, "µs", scale="spread",
          only={"in flight on each": {"1"}}),
    Chart("bench-disk.svg", "On disk", "On disk: locks acquired and released per second",
          "Each answer is on disk before it leaves, except in memory. Within each group, the longest bar is full.",
          ["clients"], "{} clients",
          {"holdfast": "holdfast pairs/s", "in memory": "in memory", "append + fdatasync": "append + fdatasync",
           "SQLite, one by one": "SQLite, one by one"}, "/s"),
    Chart("bench-threads.svg", "Threads", "Threads: the server's processor time for a request",
          "Kernel included; less is better. Within each group, the longest bar is full.",
          ["server's cores", "requests", "in flight"], "{} cores, {}, {} in flight",
          {"1 thread": "CPU µs/req", "2 threads": "CPU µs/req", "4 threads": "CPU µs/req"}, "µs", who="threads"),
    Chart("bench-cluster.svg", "A cluster", "A cluster: locks acquired and released per second",
          "Beside the locks of etcd on the same three members. Within each group, the longest bar is full.",
          ["clients, locks"], "{}", {"holdfast": "cycles/s", "etcd": "cycles/s"}, "/s", who=""),
    Chart("bench-failover.svg", "A cluster", "A cluster: seconds without service",
          "The longest gap that a client sees.",
          ["without service, the longest gap"], "{}",
          {"median": "seconds, median of the rounds", "largest": "largest"}, "s", scale="common"),
]

# Light and dark. The same name has the same colour in every picture.
COLOURS = {
    "holdfast": ("#0969da", "#4493f8"), "echo": ("#8c959f", "#6e7681"), "redis": ("#cf222e", "#f85149"),
    "etcd": ("#8250df", "#a371f7"), "in memory": ("#54aeff", "#1f6feb"), "append + fdatasync": ("#8c959f", "#6e7681"),
    "SQLite, one by one": ("#bc4c00", "#db6d28"), "1 thread": ("#8c959f", "#6e7681"),
    "2 threads": ("#54aeff", "#1f6feb"), "4 threads": ("#0969da", "#4493f8"), "median": ("#0969da", "#4493f8"),
    "largest": ("#8c959f", "#6e7681"),
}

WIDTH, MARGIN, LABEL_WIDTH, VALUE_WIDTH = 760, 20, 230, 110
BAR, BAR_GAP, GROUP_GAP = 14, 3, 12
PLOT_LEFT = MARGIN + LABEL_WIDTH
PLOT_WIDTH = WIDTH - PLOT_LEFT - VALUE_WIDTH - MARGIN


def find_groups(chart, page):
    """[(label, [(series, text of the figure)])] from the first table that has the columns, or None."""
    wanted = {*chart.labels, *chart.series.values(), *chart.only} | ({chart.who} if chart.who is not None else set())
    for heading, body in sections(page):
        if heading != chart.heading:
            continue
        for names, rows in tables(body):
            if wanted <= set(names):
                return group_rows(chart, names, rows)
    return None


def group_rows(chart, names, rows):
    groups = {}
    for row in rows:
        cell = lambda name: row[names.index(name)]  # of columns with the same name, the first
        if any(cell(name) not in values for name, values in chart.only.items()):
            continue
        label = re.sub(r"\b1 (connection|client|core)s\b", r"1 \1", chart.label_text.format(*map(cell, chart.labels)))
        bars = groups.setdefault(label, [])
        for series, column in chart.series.items():
            if chart.who is None or series.split()[0] == cell(chart.who):
                bars.append((series, cell(column)))
    return list(groups.items())


def figures(text):
    """The numbers of a cell: `55 / 106` has two."""
    return [float(part) for part in text.split("/")]


def short(number):
    """A number as people say it: 1.64 M, 130 k, 14.5 k, 8546, 0.03."""
    if number >= 1e6:
        return f"{number / 1e6:.2f} M"
    if number >= 1e4:
        return f"{number / 1e3:.0f} k" if number >= 1e5 else f"{number / 1e3:.1f} k"
    return f"{number:.0f}" if number == int(number) else f"{number:g}"


def time_text(*microseconds):
    """Times in the unit of the first: `70 / 127 µs`, `3.3 / 6.9 ms`."""
    unit, size = ("s", 1e6) if microseconds[0] >= 1e6 else ("ms", 1e3) if microseconds[0] >= 1e3 else ("µs", 1)
    values = [time / size for time in microseconds]
    return " / ".join(f"{value:.3g}" if value < 1e3 else f"{value:.0f}" for value in values) + f" {unit}"


class Drawing:
    """Lines of SVG, from top to bottom."""

    def __init__(self, chart, groups):
        self.chart, self.groups, self.lines, self.y = chart, groups, [], MARGIN
        self.names = list(chart.series)

    def text(self, x, y, words, kind="", anchor="start"):
        extra = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self.lines.append(f'<text x="{x:g}" y="{y:g}"{extra}>{escape(words)}</text>')

    def draw(self):
        self.y += 14
        self.text(MARGIN, self.y, self.chart.title, "title")
        self.y += 20
        self.text(MARGIN, self.y, self.chart.note, "quiet")
        self.y += 26
        self.draw_legend()
        draw_group = self.draw_spread if self.chart.scale == "spread" else self.draw_bars
        if self.chart.scale == "spread":
            self.draw_scale()
        for label, bars in self.groups:
            draw_group(label, bars)
        return self.finish()

    def draw_legend(self):
        x = MARGIN
        for index, name in enumerate(self.names):
            self.lines.append(f'<rect class="s{index}" x="{x:g}" y="{self.y - 10:g}" width="11" height="11" rx="2"/>')
            self.text(x + 17, self.y, name)
            x += 17 + 7.5 * len(name) + 22
        self.y += 20

    def draw_bars(self, label, bars):
        shown = bars if self.chart.scale == "relative" else [bar for _, group in self.groups for bar in group]
        longest = max((figures(text)[0] for _, text in shown), default=0) or 1
        self.label(label, len(bars))
        for name, text in bars:
            value = figures(text)[0]
            width = max(PLOT_WIDTH * value / longest, 1)
            self.lines.append(f'<rect class="s{self.names.index(name)} bar" x="{PLOT_LEFT}" y="{self.y:g}" '
                              f'width="{width:.1f}" height="{BAR}" rx="2"/>')
            self.text(PLOT_LEFT + width + 6, self.y + BAR - 3, f"{short(value)} {self.chart.unit}".replace(" /", "/"))
            self.y += BAR + BAR_GAP
        self.y += GROUP_GAP

    def label(self, words, bars):
        middle = self.y + (bars * (BAR + BAR_GAP) - BAR_GAP) / 2 + 4
        self.text(PLOT_LEFT - 10, middle, words, anchor="end")

    def powers(self):
        values = [value for _, bars in self.groups for _, text in bars for value in figures(text)]
        return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(self, value):
        least, most = self.powers()
        return PLOT_LEFT + PLOT_WIDTH * (math.log10(value) - least) / max(most - least, 1)

    def draw_scale(self):
        least, most = self.powers()
        height = sum(len(bars) * (BAR + BAR_GAP) + GROUP_GAP for _, bars in self.groups)
        for power in range(least, most + 1):
            x = self.place(10.0 ** power)
            self.lines.append(f'<path class="rule" d="M{x:g} {self.y + 4:g}v{height:g}"/>')
            self.text(x, self.y, time_text(10.0 ** power), "quiet", "middle")
        self.y += 12

    def draw_spread(self, label, bars):
        self.label(label, len(bars))
        for name, text in bars:
            low, high = (self.place(value) for value in figures(text))
            kind, y = f"s{self.names.index(name)}", self.y + BAR / 2
            self.lines.append(f'<rect class="{kind} bar" x="{low:.1f}" y="{y - 1.5:g}" width="{max(high - low, 1):.1f}" '
                              f'height="3" rx="1"/>')
            self.lines.append(f'<circle class="{kind}" cx="{low:.1f}" cy="{y:g}" r="5"/>')
            self.text(high + 8, y + 4, time_text(*figures(text)))
            self.y += BAR + BAR_GAP
        self.y += GROUP_GAP

    def describe(self):
        said = [f"{label}: " + ", ".join(f"{name} {text} {self.chart.unit}".replace(" /s", "/s") for name, text in bars)
                for label, bars in self.groups]
        return f"{self.chart.note} " + "; ".join(said) + "."

    def finish(self):
        height = self.y + 4
        light = " ".join(f".s{i} {{ fill: {COLOURS[name][0]} }}" for i, name in enumerate(self.names))
        dark = " ".join(f".s{i} {{ fill: {COLOURS[name][1]} }}" for i, name in enumerate(self.names))
        head = f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" \
role="img" aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="12">
<title id="title">{escape(self.chart.title)}</title>
<desc id="description">{escape(self.describe())}</desc>
<style>
.ground {{ fill: #ffffff }} text {{ fill: #1f2328 }} .title {{ font-size: 15px; font-weight: 600 }}
.quiet {{ fill: #57606a }} .rule {{ stroke: #d0d7de; fill: none }}
{light}
@media (prefers-color-scheme: dark) {{
.ground {{ fill: #0d1117 }} text {{ fill: #e6edf3 }} .quiet {{ fill: #9198a1 }} .rule {{ stroke: #30363d }}
{dark}
}}
</style>
<rect class="ground" width="{WIDTH}" height="{height:g}" rx="6"/>
'''
        return head + "\n".join(self.lines) + "\n</svg>\n"


def draw_all(page, folder):
    """Writes the charts. Returns the names of the files, and of those whose table was not there."""
    drawn, missing = [], []
    for chart in CHARTS:
        groups = find_groups(chart, page)
        if groups:
            (folder / chart.file).write_text(Drawing(chart, groups).draw())
        (drawn if groups else missing).append(chart.file)
    return drawn, missing


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    drawn, missing = draw_all(page.read_text(), folder)
    print(f"charts: drew {', '.join(drawn) or 'nothing'}", file=sys.stderr)
    if missing:
        print(f"charts: no table for {', '.join(missing)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
