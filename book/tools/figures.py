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
    compared = f"{faster} of {rows} are faster and {slower} slower by more than 10 %"
    yield README, f"unmodified: {compared}, and the geometric mean is {mean} times"
    yield SUMMARY, f"run {mean} times as fast in the geometric mean; {compared}"

    found = re.findall(r"- (p\d+): ([\d.]+) in the median of (\d+) cells, ([\d.]+) \([^)]*\) in the worst", read(SUMMARY))
    servers = {name: (ratio, cells, worst) for name, ratio, cells, worst in found}
    p50, p90, p99 = (servers[name] for name in ("p50", "p90", "p99"))
    p90, cells = p90[0], p90[1]
    yield README, f"in {cells} measurements"
    yield README, f"the p50 is {p50[0]} of Tokio's in the median and {p50[2]} in the worst, the p99 {p99[0]} in the median and [{p99[2]}]"
    p99 = p99[0]
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
