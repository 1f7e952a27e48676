"""Compares the public types with the exceptions that a page lists. usage: interface.py DOC PAGE

DOC is what rustdoc made of the crates with all features. In PAGE each table below a heading with an
anchor such as `{#not-send}` lists paths in backquotes, in its first column.
"""

import glob
import html
import os
import re
import sys

# The facade, and the crates that it has as modules. The other crates are shown in the facade.
CRATES = ("blitz_io", "blitz_io_futex", "blitz_io_pool", "blitz_io_pipeline", "blitz_io_ipc", "blitz_io_fiber", "blitz_io_inspect")
# Other packages' types: `lock_api`, `std`.
FOREIGN = re.compile(r"thread::lock_api::|io::(Error|ErrorKind|SeekFrom)$|time::Duration$")
# There are more; fewer mean that the pages are not understood.
EXPECTED = 300


def text(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup)))


def pages(folder, kinds):
    """Returns (kind, path of the item, page) of each page about an item of one of these kinds."""
    for crate in CRATES:
        module = crate.replace("blitz_io_", "")
        for path in sorted(glob.glob(f"{folder}/{crate}/**/*.html", recursive=True)):
            name = re.fullmatch(rf"({kinds})\.(\w+)\.html", os.path.basename(path))
            if not name:
                continue
            with open(path, encoding="utf-8") as file:
                page = file.read()
            parts = [] if crate == "blitz_io" else [module]
            parts += os.path.relpath(os.path.dirname(path), f"{folder}/{crate}").split(os.sep)
            yield name[1], "::".join([part for part in parts if part != "."] + [name[2]]), page


def types(folder):
    """Returns (path, kind, declaration, implementations) of each public type."""
    seen = {}
    for kind, name_of, page in pages(folder, "struct|enum|union"):
        declaration = re.search(r'<pre class="rust item-decl">(.*?)</pre>', page, re.S)
        # Without one it is a page that leads to another.
        if declaration and not FOREIGN.search(name_of):
            heads = [text(head) for head in re.findall(r'<h3 class="code-header">(impl.*?)</h3>', page, re.S)]
            seen[name_of] = (kind, text(declaration[1]), heads)
    return seen


def lacks(name, heads):
    """Whether a type does not implement a trait, or only says that it does not."""
    return not any(re.search(rf"(?<![!\w]){name} for ", head) for head in heads)


def listed(page):
    """Returns the paths below each anchor of the page."""
    found, anchor = {}, None
    with open(page, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                heading = re.search(r"\{#([\w-]+)\}", line)
                anchor = heading and heading[1]
                found[anchor] = set()
            elif line.startswith("|") and anchor:
                found[anchor].update(re.findall(r"`([\w:]+)`", line.split("|")[1]))
    return found


def main():
    folder, page = sys.argv[1:]
    found = types(folder)
    if len(found) < EXPECTED:
        sys.exit(f"only {len(found)} types in {folder}")
    rules = {
        "exhaustive": {name for name, (kind, text, _) in found.items() if kind == "enum" and "#[non_exhaustive]" not in text},
        "no-debug": {name for name, (_, _, heads) in found.items() if lacks("Debug", heads)},
        "not-send": {name for name, (_, _, heads) in found.items() if lacks("Send", heads)},
        "not-sync": {name for name, (_, _, heads) in found.items() if lacks("Sync", heads)},
    }
    known, problems = listed(page), []
    for rule, names in rules.items():
        problems += [f"{rule}: {name} is not on the page" for name in sorted(names - known.get(rule, set()))]
        problems += [f"{rule}: {name} is on the page, but is no exception" for name in sorted(known.get(rule, set()) - names)]
        print(f"{rule}: {len(names)} of {len(found)} types")
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
