#!/usr/bin/env python3
"""Sections and tables of a Markdown page such as docs/benchmarks.md.

    bench/markdown.py FILE <SECTION

Replaces the section of the file that has the same heading as the one on standard input. A section that is not there yet
is added at the end.
"""

import pathlib
import sys


def sections(text):
    """(heading, body) of each `## heading`; what stands before the first has the heading ''."""
    found, heading, lines = [], "", []
    for line in text.splitlines():
        if line.startswith("## "):
            found.append((heading, "\n".join(lines).strip("\n")))
            heading, lines = line[3:].strip(), []
        else:
            lines.append(line)
    found.append((heading, "\n".join(lines).strip("\n")))
    return found


def join(parts):
    """The text of what sections() has found."""
    texts = [f"## {heading}\n\n{body}" if heading else body for heading, body in parts]
    return "\n\n".join(text.rstrip("\n") for text in texts if text) + "\n"


def replace_section(text, section):
    """The text with the section in the place of the one that has the same heading."""
    [_, (heading, body)] = sections(section)
    parts = sections(text)
    for index, (known, _) in enumerate(parts):
        if known == heading:
            parts[index] = (heading, body)
            break
    else:
        parts.append((heading, body))
    return join(parts)


def cells(line):
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def tables(body):
    """The tables of a section: (names of the columns, rows), each row a list of texts."""
    found, lines = [], body.splitlines()
    for index, line in enumerate(lines):
        is_rule = line.startswith("|") and set(line) <= set("|-: ")
        if not is_rule or index == 0:
            continue
        rows = []
        for row in lines[index + 1:]:
            if not row.startswith("|"):
                break
            rows.append(cells(row))
        found.append((cells(lines[index - 1]), rows))
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    path = pathlib.Path(sys.argv[1])
    path.write_text(replace_section(path.read_text(), sys.stdin.read()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
