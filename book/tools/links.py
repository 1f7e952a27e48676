"""Checks every link of a built book, anchors included, and the relative links of the Markdown files
of the repository. Links to the repository on GitHub must name a path of this tree; other hosts are
not asked. usage: links.py FOLDER"""

import glob
import os
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
REPOSITORY = re.compile(r"https://github\.com/blitz-io/blitz-io/(?:blob|tree|edit)/main/([^#?]*)")


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            if name in ("href", "src"):
                self.links.append(value)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def book(folder):
    pages = {path: Page(read(path)) for path in glob.glob(folder + "/**/*.html", recursive=True)}
    count = 0
    for path, page in pages.items():
        # The 404 page has absolute links, and the print page repeats the others.
        if os.path.basename(path) in ("404.html", "print.html", "toc.html"):
            continue
        for link in page.links:
            count += 1
            if match := REPOSITORY.match(link):
                if not os.path.exists(os.path.join(ROOT, unquote(match[1]))):
                    yield f"{path}: {link}: not in the repository"
                continue
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if not os.path.exists(target):
                yield f"{path}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{path}: {link}: no such anchor"
    print(f"{len(pages)} pages, {count} links")


def anchors(text):
    """Returns the anchors that GitHub makes of the headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)", text, re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def markdown():
    names = os.popen(f"git -C '{ROOT}' ls-files --cached --others --exclude-standard '*.md'").read().split()
    for name in names:
        if name.startswith("book/src/") or not os.path.exists(os.path.join(ROOT, name)):
            continue
        path = os.path.join(ROOT, name)
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(path), flags=re.S | re.M)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if match := REPOSITORY.match(link):
                if not os.path.exists(os.path.join(ROOT, unquote(match[1]))):
                    yield f"{name}: {link}: not in the repository"
                continue
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), parts.path)) if parts.path else path
            if not os.path.exists(target):
                yield f"{name}: {link}: no such file"
            elif parts.fragment and target.endswith(".md") and parts.fragment not in set(anchors(read(target))):
                yield f"{name}: {link}: no such anchor"


problems = [*book(sys.argv[1]), *markdown()]
print("\n".join(problems))
sys.exit(bool(problems))
