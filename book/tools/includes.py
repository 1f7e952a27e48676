"""Puts code of the repository into the pages that show it. usage: includes.py [--check]

A line `<!-- include PATH:PART -->` before a block of code names a file, from the page's folder, and a part
between the lines `// ANCHOR: PART` and `// ANCHOR_END: PART`; without PART it is the whole file. The code is
in the page too, because the pages are also read where they lie, as on GitHub. `--check` changes nothing, and
fails if a page and a file differ.
"""

import os
import re
import sys

SRC = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))
BLOCK = re.compile(r"^<!-- include ([^:\s]+)(?::(\w+))? -->\n```([\w,]+)\n(.*?)^```$", re.S | re.M)
ANCHOR = re.compile(r"\s*// ANCHOR(_END)?: (\w+)\s*$")


def part(path, name):
    """Returns the part of a file, or without a name the file, without the lines that mark parts."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    shown, inside = [], name is None
    for line in lines:
        if anchor := ANCHOR.match(line):
            if anchor[2] == name:
                inside = anchor[1] is None
        elif inside:
            shown.append(line)
    if not shown:
        sys.exit(f"{path} has no part {name}")
    return "\n".join(shown) + "\n"


def with_code(page, text):
    """Returns the text of a page with the code of today."""

    def block(match):
        path, name, language, _ = match.groups()
        code = part(os.path.join(os.path.dirname(page), path), name)
        marker = f"{path}:{name}" if name else path
        return f"<!-- include {marker} -->\n```{language}\n{code}```"

    return BLOCK.sub(block, text)


def pages():
    for folder, _, names in os.walk(SRC):
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".md"))


def main():
    old, count = [], 0
    for page in pages():
        with open(page, encoding="utf-8") as file:
            text = file.read()
        found = len(BLOCK.findall(text))
        if found != text.count("<!-- include ") or "{{#include" in text:
            sys.exit(f"{page}: an include without a block of code after it")
        count += found
        new = with_code(page, text)
        if new == text:
            continue
        old.append(os.path.relpath(page, SRC))
        if sys.argv[1:] != ["--check"]:
            with open(page, "w", encoding="utf-8") as file:
                file.write(new)
    if count < 60:
        sys.exit(f"only {count} blocks of code were found")
    if old and sys.argv[1:] == ["--check"]:
        sys.exit(f"other code than that of the files: {', '.join(old)}: run book/tools/includes.py")
    print(f"{count} blocks of code, {len(old)} pages changed")


if __name__ == "__main__":
    main()
