"""Checks that figures which pages quote are those of the tables that they come from, and that no page
names a version of a package in the registry before there is one. usage: figures.py"""

import glob
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
README, SUMMARY, TOKIO = "README.md", "book/src/benchmarks/index.md", "book/src/benchmarks/tokio.md"
LIBRARIES = "book/src/moving/ecosystem.md"
# A line of a manifest that asks the registry for blitz-io.
REGISTRY = re.compile(r"blitz-io(?: = |\", |\" = )(?:\"|\{[^}\n]*version = \")\d|package = \"blitz-io\", version")


def read(path):
    """The text of a page, with one space between two words."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.sub(r"\s+", " ", file.read())


def quotes():
    """Which page has to contain which words, by the tables."""
    tokio = re.search(r"(\d+) benchmarks: (\d+) faster, (\d+) slower by .*?geometric mean ([\d.]+),", read(TOKIO))
    rows, faster, slower, mean = tokio.groups()
    mean = f"{float(mean):.1f}"
    yield README, f"unmodified: {faster} of {rows} faster, {slower} slower, {mean} times as fast"
    yield SUMMARY, f"run {mean} times as fast in the geometric mean; {faster} of {rows} are faster, {slower} slower"

    servers = dict((name, (ratio, cells)) for name, ratio, cells in re.findall(r"- (p\d+): ([\d.]+) in the median of (\d+) cells", read(SUMMARY)))
    p90, p99, cells = servers["p90"][0], servers["p99"][0], servers["p99"][1]
    yield README, f"the p99 is {round(100 - 100 * float(p99))} % lower, in the median of {cells} measurements"
    worst = re.search(r"- p99: .*? cells, ([\d.]+) ", read(SUMMARY))[1]
    yield README, f"the p99 is {float(worst):.1f} times Tokio's"
    yield LIBRARIES, f"In the median of {cells} cells, the p90 is {p90} and the p99 {p99} of Tokio's."


def main():
    problems = [f"{page}: the table has another figure than this page, which has to say: {words}" for page, words in quotes() if words not in read(page)]
    if "(not published yet)" in read("CHANGELOG.md").split("## ")[1]:
        for path in [os.path.join(ROOT, README), *glob.glob(os.path.join(ROOT, "book/src/**/*.md"), recursive=True)]:
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if REGISTRY.search(line):
                        problems.append(f"{os.path.relpath(path, ROOT)}:{number}: the registry does not have this version: {line.strip()}")
    print("\n".join(problems) or "figures: each one is that of its table")
    sys.exit(bool(problems))


main()
