"""Uses a built book as a reader would, in Chromium and without a server. usage: browser.py FOLDER [SCREENSHOTS [SITE]]"""

import glob
import os
import re
import pathlib
import shutil
import sys

from playwright.sync_api import expect, sync_playwright

FOLDER = pathlib.Path(sys.argv[1]).resolve()
SHOTS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
# A site with the releases 0.2.0, which has all pages, and 0.1.0, which lacks tutorial/echo.html.
SITE = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None

# The contrast of each text against the colour behind it (WCAG 2: 4.5, or 3 for large text).
CONTRAST = """() => {
    const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] > 0.99) return colour;
        }
        return [255, 255, 255];
    };
    const found = new Map();
    for (const element of document.querySelectorAll("main *")) {
        if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        if (!element.checkVisibility() || element.closest("svg, .buttons, .header")) continue;
        const style = getComputedStyle(element);
        const [a, b] = [light(parse(style.color)), light(behind(element))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
        if (ratio < (large ? 3 : 4.5)) {
            found.set(`${element.tagName}.${element.className} ${style.color}`, `${ratio.toFixed(2)} ${element.textContent.slice(0, 30)}`);
        }
    }
    return [...found].map(([what, how]) => `${what}: ${how}`);
}"""


# The size of the smallest label of each diagram, in pixels.
LABELS = """() => [...document.querySelectorAll("figure.diagram svg")].map((svg) => {
    const labels = [...svg.querySelectorAll("text")].map((text) => parseFloat(text.getAttribute("font-size")));
    return Math.min(...labels) * svg.getScreenCTM().a;
})"""


# The widths of diagrams that scroll sideways.
SCROLLED = """() => [...document.querySelectorAll("figure.diagram")]
    .filter((figure) => figure.scrollWidth > figure.clientWidth + 1).map((figure) => figure.scrollWidth)"""


# Code in a sentence that is short, and in two lines.
BROKEN = """() => [...document.querySelectorAll(":not(pre) > code")]
    .filter((code) => code.textContent.length <= 24 && code.getClientRects().length > 1)
    .map((code) => code.textContent)"""


def url(page):
    return (FOLDER / page).as_uri()


def search(page):
    page.goto(url("index.html"))
    page.keyboard.press("s")
    page.locator("#mdbook-searchbar").press_sequentially("JoinSet")
    results = page.locator("#mdbook-searchresults li")
    expect(results.first).to_contain_text("JoinSet")
    results.first.locator("a").click()
    expect(page.locator("main mark").first).to_contain_text("JoinSet")
    # Guides are found, and not the tables of figures.
    for words, found in (("feature flags", "Features"), ("spawn_blocking", None)):
        page.goto(url("index.html"))
        page.keyboard.press("s")
        page.locator("#mdbook-searchbar").press_sequentially(words)
        expect(results.first).to_contain_text(found or words)
        links = results.locator("a").evaluate_all("links => links.map(link => link.href)")
        assert not any("benchmarks/tables" in link for link in links), links


def tabs(page):
    page.goto(url("start/install.html"))
    panel = page.locator('.tab[data-name="C"]')
    expect(panel).to_be_hidden()
    page.get_by_role("tab", name="C", exact=True).click()
    expect(panel).to_be_visible()
    expect(page.locator('.tab[data-name="Cargo"]')).to_be_hidden()
    page.reload()
    expect(panel).to_be_visible()  # the choice was kept
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="C", exact=True).press("ArrowRight")
    expect(page.locator('.tab[data-name="C++"]')).to_be_visible()


def benchmarks(page):
    page.goto(url("benchmarks/index.html"))
    rows = page.locator("#benchmark-page tbody tr")
    status = page.locator("#benchmark-page [role=status]")
    expect(page.locator("main table").first).to_contain_text("Mutex, lock and unlock")  # the summary is above
    everything = int(re.match(r"(\d+) of \1 rows", status.inner_text())[1])
    assert everything > 100
    first = rows.count()
    assert first < 100, "one page of rows"
    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 2 * first
    ratios = [float(text.split("×")[0]) for text in page.locator("#benchmark-page tbody td:nth-child(2)").all_inner_texts()]
    assert ratios == sorted(ratios) and ratios[0] < 1, "the losses come first"
    page.locator("#benchmark-page select[name=tier]").select_option("4: Threads")
    page.locator("#benchmark-page select[name=load]").select_option("none")
    page.locator("#benchmark-page select[name=peer]").select_option("std")
    assert 0 < rows.count() < everything
    expect(status).to_contain_text(re.compile(rf"^\d+ of {everything} rows"))
    assert all(text.endswith(", std") for text in page.locator("#benchmark-page tbody td:nth-child(4)").all_inner_texts())
    page.get_by_role("button", name="What").click()
    names = page.locator("#benchmark-page tbody td:nth-child(1)").all_inner_texts()
    assert names == sorted(names, key=str.lower), names
    page.get_by_role("button", name="What").click()
    assert page.locator("#benchmark-page tbody td:nth-child(1)").first.inner_text() == names[-1]
    page.reload()  # the address has the selection
    expect(page.locator("#benchmark-page select[name=peer]")).to_have_value("std")
    page.locator("#benchmark-page input[name=text]").fill("mutex contended")
    assert all("utex contended" in name for name in page.locator("#benchmark-page tbody td:nth-child(1)").all_inner_texts())


def versions(page):
    def go(name):
        page.locator(".versions summary").click()
        page.locator(".versions").get_by_role("link", name=name).click()
        return os.path.relpath(page.url.removeprefix("file://"), SITE)

    page.goto((SITE / "tutorial/echo.html").as_uri())
    expect(page.locator(".versions li a")).to_have_text(["0.2.0 (newest)", "main", "0.1.0"])
    expect(page.locator(".versions ul")).to_be_hidden()
    assert go("main") == "main/tutorial/echo.html"
    expect(page.locator("h1").first).to_be_visible()
    assert page.locator("link[rel=canonical]").get_attribute("href").endswith("/blitz-io/tutorial/echo.html")
    assert go("0.1.0") == "0.1.0/index.html", "a page that is missing there"
    expect(page.locator(".versions summary")).to_have_text("0.1.0")
    assert go("newest") == "index.html"
    # A phone opens the page with its size, and so without the list of pages beside it.
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((SITE / "tutorial/echo.html").as_uri())
    page.locator(".versions summary").click()
    box = page.locator(".versions ul").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390, box
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if SHOTS:
        page.screenshot(path=SHOTS / "phone-versions.png")
    page.set_viewport_size({"width": 1200, "height": 900})
    if SHOTS:
        page.screenshot(path=SHOTS / "versions.png")


def main():
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"), args=["--no-sandbox"]
        )
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and problems.append(f"{page.url}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
        for check in (search, tabs, benchmarks, *([versions] if SITE else [])):
            check(page)
            print(f"{check.__name__}: as expected")

        page.set_viewport_size({"width": 390, "height": 844})
        pages = sorted(os.path.relpath(path, FOLDER) for path in glob.glob(f"{FOLDER}/**/*.html", recursive=True))
        pages = [name for name in pages if name not in ("print.html", "toc.html", "404.html")]
        for name in pages:
            page.goto(url(name))
            if (width := page.evaluate("document.documentElement.scrollWidth")) > 390:
                problems.append(f"{name}: {width} pixels wide on a screen of 390")
            problems += [f"{name}: a label of {size:.1f} pixels" for size in page.evaluate(LABELS) if size < 8.4]
            problems += [f"{name}: a diagram of {wide} pixels" for wide in page.evaluate(SCROLLED)]
            problems += [f"{name}: broken over two lines: {code}" for code in page.evaluate(BROKEN)]
        print(f"{len(pages)} pages at 390 pixels")

        page.set_viewport_size({"width": 1200, "height": 900})
        samples = ["index.html", "start/install.html", "tutorial/echo.html", "guides/choosing.html", "benchmarks/index.html"]
        for theme in ("light", "navy"):
            page.evaluate("theme => localStorage.setItem('mdbook-theme', theme)", theme)
            for name in pages:
                page.goto(url(name))
                assert theme in page.locator("html").get_attribute("class")
                problems += [f"{name}, {theme}: contrast {found}" for found in page.evaluate(CONTRAST)]
                if SHOTS and name in samples:
                    page.screenshot(path=SHOTS / f"{theme}-{name.replace('/', '-')}.png")
            print(f"{len(pages)} pages in the theme {theme}")
        if SHOTS:
            page.set_viewport_size({"width": 390, "height": 844})
            for name in samples:
                page.goto(url(name))
                page.screenshot(path=SHOTS / f"phone-{name.replace('/', '-')}.png")
        browser.close()
    print("\n".join(sorted(set(problems))))
    sys.exit(bool(problems))


main()
