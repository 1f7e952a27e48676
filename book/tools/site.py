"""Adds the menu of versions to the pages of a site. usage: site.py FOLDER NEWEST VERSION…

The folder has a book for each version, and that of the newest at its root. The links of the menu are
relative, and lead to the same page of the other version if it has that page.
"""

import html
import os
import sys

SITE = "https://blitz-io.github.io/blitz-io/"


def pages(folder, skip=()):
    """Returns the paths of the pages of a book, relative to its folder."""
    found = set()
    for path, folders, files in os.walk(folder):
        if path == folder:
            folders[:] = [name for name in folders if name not in skip]
        found.update(os.path.relpath(os.path.join(path, name), folder) for name in files if name.endswith(".html"))
    return found


def menu(here, page, books, names):
    """Returns the menu of a page. `here` is the book's folder in the site."""
    base = os.path.dirname(os.path.join(here, page))
    entries = []
    for folder, name in names.items():
        goal = os.path.join(folder, page if page in books[folder] else "index.html")
        current = ' aria-current="true"' if folder == here else ""
        entries.append(f'<li><a href="{html.escape(os.path.relpath(goal, base or "."))}"{current}>{name}</a></li>')
    return (
        f'<details class="versions"><summary title="Other versions">{names[here]}</summary><ul>'
        + "".join(entries)
        + "</ul></details>"
    )


def main():
    site, newest, *versions = sys.argv[1:]
    # The root has the newest version, so the menu does not list its folder again.
    names = {"": newest if newest == "main" else f"{newest} (newest)"}
    names.update({version: version for version in versions if version != newest})
    books = {"": pages(site, skip=versions)}
    books.update({version: pages(os.path.join(site, version)) for version in versions})
    for folder, found in books.items():
        shown = names if folder in names else {folder: folder, **names}
        for page in found:
            path = os.path.join(site, folder, page)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if '<div class="right-buttons">' not in text:
                continue  # the table of contents for browsers without JavaScript
            text = text.replace('<div class="right-buttons">', '<div class="right-buttons">' + menu(folder, page, books, shown), 1)
            if folder:
                # Search engines find the newest version.
                address = SITE + (page if page in books[""] else "index.html")
                text = text.replace("</head>", f'<link rel="canonical" href="{address}">\n</head>', 1)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print(f"versions: {', '.join(names.values())}")


main()
