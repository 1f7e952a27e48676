"""Adds to a built book: docs/ pictures, sitemap.xml, llms.txt, benchmarks.json, and a class for short code in a sentence."""

import html
import json
import os
import re
import shutil
import sys

import benchmarks

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
SITE = "https://blitz-io.github.io/blitz-io/"


def chapters():
    """Returns (part, title, path) of each chapter, in order."""
    part = "Start"
    with open(os.path.join(HERE, "..", "src", "SUMMARY.md"), encoding="utf-8") as file:
        for line in file:
            heading = re.match(r"# (.*)", line)
            if heading and heading[1] != "Summary":
                part = heading[1]
            if link := re.search(r"\[(.+)\]\((.+\.md)\)", line):
                yield part, link[1], link[2]


def keep_short_code_together(out):
    """Marks code in a sentence that fits a line of a phone: a browser breaks `--svg FILE` after its hyphens."""

    def marked(code):
        is_short = 2 <= len(html.unescape(code[1])) <= 24
        return f'<code class="short">{code[1]}</code>' if is_short else code[0]

    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                text = re.sub(r"(?<!<pre>)<code>([^<]+)</code>", marked, text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)


def main():
    out = sys.argv[1]
    keep_short_code_together(out)
    for name in os.listdir(os.path.join(ROOT, "docs")):
        if name.endswith(".svg"):
            shutil.copy(os.path.join(ROOT, "docs", name), os.path.join(out, "benchmarks", name))
    with open(os.path.join(out, "benchmarks", "benchmarks.json"), "w", encoding="utf-8") as file:
        json.dump(benchmarks.rows(ROOT), file, ensure_ascii=False, indent=1)

    pages, index, last = [], ["# blitz-io", "", "> An async runtime, locks, channels, a fork-join pool and"
             " messages between processes on one futex core, for Rust, C, C++ and Zig."], None
    for part, title, path in chapters():
        page = re.sub(r"(^|/)(README|index)\.md$", r"\1index.html", path).replace(".md", ".html")
        if not os.path.exists(os.path.join(out, page)):
            sys.exit(f"{page}: listed, but not built")
        pages.append(page)
        if part != last:
            index += ["", f"## {part}", ""]
            last = part
        index.append(f"- [{title}]({SITE}{page})")
    with open(os.path.join(out, "llms.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(index) + "\n")
    with open(os.path.join(out, "sitemap.xml"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
        file.writelines(f"<url><loc>{SITE}{page}</loc></url>\n" for page in pages)
        file.write("</urlset>\n")


main()
