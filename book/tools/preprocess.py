"""A preprocessor of mdBook. It replaces, in each chapter:

- a code block of the language `dot` by the picture that Graphviz draws of it,
- `<!-- tabs: GROUP -->`, `<!-- tab: NAME -->`, `<!-- /tabs -->` by elements of which
  assets/tabs.js makes tabs; the choice is kept for each group,
- `<!-- benchmarks -->` by the published figures as JSON (see benchmarks.py),
- `<!-- tables -->` by docs/benchmarks.md.
"""

import json
import os
import re
import subprocess
import sys

import benchmarks

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def picture(source):
    """Returns the SVG of a graph, which takes its colours from the page."""
    style = (
        'bgcolor=transparent; node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];'
        'edge [fontname="sans-serif", fontsize=10, arrowsize=0.7];'
    )
    source = source.replace("{", "{" + style, 1)
    # Graphviz puts the labels of edges close to the lines.
    source = re.sub(
        r'(->[^;\n]*label=")([^"]*)"', lambda m: m[1] + " " + m[2].replace("\\n", " \\n ") + ' "', source
    )
    svg = subprocess.run(["dot", "-Tsvg"], input=source, text=True, capture_output=True, check=True).stdout
    svg = svg[svg.index("<svg") :]
    caption = re.search(r"^//\s*(.*)", source, re.M)
    if not caption:
        sys.exit(f"a diagram has no caption (a first line `// …`): {source[:60]}")
    svg = re.sub(r"<title>.*?</title>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' id="[^"]*"', "", svg)
    svg = re.sub(r'(stroke|fill)="black"', r'\1="currentColor"', svg)
    svg = re.sub(r"<text ", '<text fill="currentColor" ', svg)
    # However narrow the page is, labels of 10 points have 8.5 pixels and stay readable. Most pictures fit a phone so.
    width = int(re.search(r'<svg width="(\d+)pt"', svg)[1]) * 85 // 100
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{caption[1]}" style="min-width: {width}px" ', 1)
    svg = re.sub(r"\n\s*\n", "\n", svg)
    return f'<figure class="diagram">\n{svg.strip()}\n<figcaption>{caption[1]}</figcaption>\n</figure>\n'


def tabs(match):
    parts = re.split(r"<!-- tab: (.*?) -->\n", match[2])
    panels = "".join(
        f'<div class="tab" data-name="{name}">\n\n{body.strip()}\n\n</div>\n'
        for name, body in zip(parts[1::2], parts[2::2])
    )
    return f'<div class="tabs" data-group="{match[1]}">\n{panels}</div>\n'


def tables():
    with open(os.path.join(ROOT, "docs", "benchmarks.md"), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("](../book/src/", "](../")
    # The page has its own heading.
    return text.split("\n", 1)[1]


def content(text):
    text = re.sub(r"^```dot\n(.*?)^```\n", lambda m: picture(m[1]), text, flags=re.S | re.M)
    text = re.sub(r"<!-- tabs: (\w+) -->\n(.*?)<!-- /tabs -->", tabs, text, flags=re.S)
    if "<!-- benchmarks -->" in text:
        data = json.dumps(benchmarks.rows(ROOT), ensure_ascii=False, separators=(",", ":"))
        text = text.replace("<!-- benchmarks -->", benchmarks.PAGE.replace("DATA", data.replace("<", "\\u003c")))
    if "<!-- tables -->" in text:
        text = text.replace("<!-- tables -->", tables())
    return text


def visit(items):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            chapter = item["Chapter"]
            chapter["content"] = content(chapter["content"])
            visit(chapter["sub_items"])


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(sys.argv[2] != "html")
    _, book = json.load(sys.stdin)
    visit(book["items"])
    json.dump(book, sys.stdout)


main()
