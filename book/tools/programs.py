"""Writes the programs of the tutorial and of the recipes, as their pages show them, into a folder.
usage: programs.py FOLDER

The blocks of a tutorial's page make one program, unless one of them is a whole program: then the others
repeat parts of it. Each block of a page of recipes is a program. Blocks that come from ecosystem/ need
packages of others, and its tests run them.
"""

import os
import re
import sys

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")
BLOCK = re.compile(r"^(?:<!-- include (\S+) -->\n)?```rust\n(.*?)^```", re.S | re.M)


def blocks(page):
    """Returns the Rust of each block of a page."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for file, block in BLOCK.findall(text):
        if "/ecosystem/" not in file:
            yield block


def is_program(block):
    """Returns `True` for a whole file, which begins with its documentation."""
    return block.startswith("//!")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    count = 0
    for part in ("start", "tutorial", "cookbook"):
        for name in sorted(os.listdir(os.path.join(SRC, part))):
            found = list(blocks(os.path.join(SRC, part, name)))
            if part != "cookbook" and found:
                found = [block for block in found if is_program(block)][-1:] or ["\n".join(found)]
            for number, block in enumerate(found):
                if "fn main()" not in block:
                    sys.exit(f"{part}/{name}: no program")
                suffix = f"_{number + 1}" if part == "cookbook" else ""
                with open(os.path.join(folder, f"{part}_{name[:-3].replace('-', '_')}{suffix}.rs"), "w", encoding="utf-8") as file:
                    file.write(block)
                count += 1
    if count < 30:
        sys.exit(f"only {count} programs were found")


main()
