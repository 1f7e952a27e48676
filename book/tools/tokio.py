"""Compares two versions of Tokio, and the newer one with blitz-io. usage: tokio.py OLD NEW OURS REPORT

OLD and NEW are folders with `tokio` (the package) and `doc` (what rustdoc made of it). OURS is what rustdoc made of
blitz-io with all features. Writes what is new into REPORT, as Markdown: public names, each with whether
blitz-io has it under the same path, implementations, features, and tests. Prints counts.
"""

import glob
import os
import re
import sys
import tomllib

from interface import text

ITEM = re.compile(r"(struct|enum|union|trait|fn|macro|attr|type|constant|static)\.(\w+)\.html")
PART = re.compile(r'id="(?:ty)?(?:method|variant|associatedconstant|associatedtype)\.(\w+?)(?:-\d+)?"')
IMPLEMENTATION = re.compile(r'<h3 class="code-header">(impl.*?)</h3>')
TEST = re.compile(r"#\[(?:tokio::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:async\s+)?fn\s+(\w+)")
# What follows on a page comes from traits: first written ones, then those that every type has.
INHERITED = re.compile(r'id="(trait-implementations|foreign-impls|implementors)"')
EVERY = re.compile(r'id="(synthetic|blanket)-implementations"')
# There are more; fewer mean that the pages are not understood.
EXPECTED = 1000


def names(folder):
    """Returns the paths of all public items and their methods, and the implementations that somebody wrote."""
    items, implementations = set(), set()
    for path in glob.glob(f"{folder}/**/*.html", recursive=True):
        item = ITEM.fullmatch(os.path.basename(path))
        if not item:
            continue
        with open(path, encoding="utf-8") as file:
            page = file.read()
        # A page that only leads to another one.
        if 'class="rust item-decl"' not in page and item[1] not in ("macro", "attr"):
            continue
        parts = os.path.relpath(os.path.dirname(path), folder).split(os.sep)
        owner = "::".join([part for part in parts if part != "."] + [item[2]])
        # Tokio's stand-ins for types of Windows.
        if owner.startswith("doc::"):
            continue
        items.add(owner)
        own, *rest = INHERITED.split(page, maxsplit=1)
        items.update(f"{owner}::{name}" for name in PART.findall(EVERY.split(own)[0]))
        if rest and item[1] in ("struct", "enum", "union"):
            written = EVERY.split(rest[-1])[0]
            implementations.update(f"{owner}: {text(head)}" for head in IMPLEMENTATION.findall(written))
    if len(items) < EXPECTED or len(implementations) < EXPECTED / 2:
        sys.exit(f"only {len(items)} names and {len(implementations)} implementations in {folder}")
    return items, implementations


def features(folder):
    with open(f"{folder}/Cargo.toml", "rb") as file:
        return set(tomllib.load(file)["features"])


def tests(folder):
    """Returns the tests of the package, and the text of each file that has some."""
    found, files = set(), {}
    for path in glob.glob(f"{folder}/tests/*.rs"):
        with open(path, encoding="utf-8") as file:
            files[os.path.basename(path)] = file.read()
        stem = os.path.basename(path).removesuffix(".rs")
        found.update(f"{stem}::{name}" for name in TEST.findall(files[os.path.basename(path)]))
    if len(found) < EXPECTED:
        sys.exit(f"only {len(found)} tests in {folder}")
    return found, files


def section(title, lines):
    lines = sorted(lines)
    print(f"{title}: {len(lines)}")
    return [f"## {title}: {len(lines)}", "", *(f"- `{line}`" for line in lines), ""] if lines else []


def main():
    old, new, ours, report = sys.argv[1:]
    (old_names, old_impls), (new_names, new_impls) = names(f"{old}/doc"), names(f"{new}/doc")
    here, _ = names(ours)
    (old_tests, old_files), (new_tests, new_files) = tests(f"{old}/tokio"), tests(f"{new}/tokio")
    came = new_names - old_names
    changed = {name for name in new_files if name in old_files and new_files[name] != old_files[name]}
    lines = [
        *section("New names that blitz-io does not have", came - here),
        *section("New names that blitz-io has", came & here),
        *section("Names that are gone", old_names - new_names),
        *section("New implementations", {line for line in new_impls - old_impls if line.split(":")[0] in old_names}),
        *section("New features", features(f"{new}/tokio") - features(f"{old}/tokio")),
        *section("New tests", new_tests - old_tests),
        *section("Changed files of tests", changed),
    ]
    with open(report, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) or "No public name, implementation, feature or test is new.\n")
    print(f"Names before: {len(old_names)}, of which {len(old_names & here)} are on the pages of blitz-io for this system")


if __name__ == "__main__":
    main()
