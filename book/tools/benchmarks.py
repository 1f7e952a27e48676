"""Reads the published figures of docs/benchmarks.md, which `blitz bench report` writes, as rows."""

import os
import re

# The rows are in the page itself, so that it works without a server.
PAGE = """<script type="application/json" id="benchmark-rows">DATA</script>
<div id="benchmark-page"></div>
<noscript><p>This page needs JavaScript. <a href="tables.html">The tables</a> do not.</p></noscript>
"""

METRICS = ["p50", "p90", "p99", "p99.9", "requests/s", "CPU/request", "switches/request", "memory"]


def rows(root):
    with open(os.path.join(root, "docs", "benchmarks.md"), encoding="utf-8") as file:
        text = file.read()
    found, tier_of = [], {}
    tier, load = None, "none"
    for line in text.split("\n## Servers")[0].splitlines():
        if heading := re.match(r"## (.*)", line):
            title = heading[1]
            tier = re.sub(r"^Tier (\d+): ", r"\1: ", title) if title.startswith("Tier") else None
            if title.startswith(("Beside", "Pinned")):
                load = title[0].lower() + title[1:]
        row = re.match(r"\| ([^|]+) \| ([^|]+) \| ([^|,]+), ([^|]+) \| ([^|]+) \| ([\d.]+) – ([\d.]+) \| ([^|]*)\|", line)
        if not row:
            continue
        name, ours, theirs, peer, ratio, low, high, tokio = (field.strip() for field in row.groups())
        tier_of.setdefault(name, tier)
        found.append({
            "tier": tier or tier_of[name],
            "row": name,
            "load": load,
            "ours": ours,
            "peer": peer,
            "theirs": theirs,
            "ratio": number(ratio),
            "low": float(low),
            "high": float(high),
            "verdict": "lost" if "(lost)" in ratio else "tie" if "(tie)" in ratio else "won",
            "tokio": number(tokio) if tokio else None,
        })
    found += servers(text)
    if len(found) < 100:
        raise SystemExit("docs/benchmarks.md does not have the tables that book/tools/benchmarks.py expects")
    machines = re.findall(r"(\d{4}-\d\d-\d\d), (\d+ cores? of [^(]*)\(([^)]*)\)", text.replace("\n", " "))
    _, cores, system = machines[0]
    for row in found:
        # A run that is pinned to one processor says so in its load.
        row["machine"] = f"{cores.strip()} ({system})"
    return found


def servers(text):
    for line in text.split("<!-- servers:begin -->")[1].splitlines():
        if not (cell := re.match(r"\| `([^`]+)`<br>([^|]+) \|(.*)\|$", line)):
            continue
        for metric, field in zip(METRICS, cell[3].split("|")):
            value = re.match(r"\s*\**([\d.]+) \(([\d.]+)–([\d.]+)\)\**<br>(.+?), (.+?)\s*$", field)
            if not value or float(value[1]) == 0 or float(value[2]) == 0:
                continue
            ratio, low, high = (float(value[i]) for i in (1, 2, 3))
            # The published ratio of a cost is ours divided by Tokio's. Here more is better.
            if metric != "requests/s":
                ratio, low, high = 1 / ratio, 1 / high, 1 / low
            yield {
                "tier": "Servers, " + metric,
                "row": f"{cell[2].strip()}: {metric} ({cell[1]})",
                "load": "none",
                "ours": value[4],
                "peer": "tokio",
                "theirs": value[5],
                "ratio": round(ratio, 2),
                "low": round(low, 2),
                "high": round(high, 2),
                "verdict": "won" if low > 1 else "lost" if high < 1 else "tie",
                "tokio": round(ratio, 2),
            }


def number(text):
    return float(re.search(r"[\d.]+", text.replace(",", ""))[0])
