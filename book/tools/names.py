"""Compares the public functions with the rule of names that a page states. usage: names.py DOC PAGE

DOC is what rustdoc made of the crates with all features. In PAGE the table below the heading with the
anchor `{#names}` lists exceptions in backquotes, in its first column; `*::name` stands for any owner. The table
below `{#waits}` has the methods that wait: all of `sync` that block, and none that does not exist.
Deprecated functions are not looked at: they are other libraries' names for ours. The names in C, C++ and Zig
are compared with theirs (binding_names.py).
"""

import re
import sys

import binding_names
from interface import FOREIGN, pages, text

# There are more; fewer mean that the pages are not understood.
EXPECTED = 1500
METHOD = re.compile(r'<section id="(?:ty)?method\.(\w+?)(?:-\d+)?" class="method">.*?<h4 class="code-header">(.*?)</h4></section>(?=(.{0,200}))', re.S)
# The methods of `sync` that block without a limit. `sync::futures` has types of `sync` again.
BLOCKS = re.compile(r"sync::(?!futures::)(?:\w+::)+blocking_\w+(?<!_timeout)(?<!_deadline)$")
DEPRECATED = 'class="stab deprecated"'


def functions(folder):
    """Returns (path, declaration) of each function and method that is not deprecated."""
    for kind, owner, page in pages(folder, "struct|enum|union|trait|fn"):
        declaration = re.search(r'<pre class="rust item-decl">(.*?)</pre>(.*?)(?:<details|<h2|$)', page, re.S)
        if kind == "fn":
            if declaration and DEPRECATED not in declaration[2][:400]:
                yield owner, text(declaration[1])
            continue
        for name, head, after in METHOD.findall(page):
            if DEPRECATED not in after:
                yield f"{owner}::{name}", text(head)


def problem(path, declaration):
    """Returns what is wrong with a name."""
    name = path.rsplit("::", 1)[1] if "::" in path else path
    if re.search(r"_(for|until)$", name) and re.search(r"\b(Duration|Instant)\b", declaration):
        return "a time limit is `_timeout` or `_deadline`"
    if name.endswith("_blocking"):
        return "a function that blocks its thread begins with `blocking_`"
    if re.search(r"\w_timeout$", name) and not re.match(r"(is|set)_", name) and "Duration" not in declaration:
        return "`_timeout` takes a Duration"
    if re.search(r"\w_deadline$", name) and not re.match(r"(is|set)_", name) and "Instant" not in declaration:
        return "`_deadline` takes an Instant"
    if re.match(r"sync::", path) and re.search(r"_(timeout|deadline)$", name) and not re.match(r"(blocking|is|set)_", name):
        return "a function of `sync` that blocks begins with `blocking_`"
    return None


def without_limit(path, found):
    """Returns what is wrong with the forms of a method with a time limit: there are both, or it has none."""
    stem = re.sub(r"_(timeout|deadline)$", "", path)
    name = path.rsplit("::", 1)[-1]
    is_limited = path != stem and not re.match(r"(is|set)_", name)
    if not is_limited and not BLOCKS.match(path):
        return None
    missing = [form for form in (stem + "_timeout", stem + "_deadline") if form not in found]
    return "there is no " + " and no ".join(missing) if missing else None


def rows(page, anchor):
    """Returns the cells of each row of the tables below the anchor of the page."""
    with open(page, encoding="utf-8") as file:
        section = file.read().split("{#" + anchor + "}")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[re.findall(r"`([\w:*]+)`", cell) for cell in line.split("|")[1:-1]] for line in lines]


def exceptions(page):
    return {name for row in rows(page, "names") for name in row[0]}


def waits(page, found):
    """Returns what is wrong with the table of the methods that wait."""
    listed = {
        f"{owner}::{name}"
        for owners, *columns in rows(page, "waits")
        for owner in owners
        for names in columns
        for name in names
    }
    for path in sorted(listed - set(found)):
        yield f"names: {path} is in the table of waits, but does not exist"
    for path in sorted(filter(BLOCKS.match, set(found) - listed)):
        yield f"names: {path} is not in the table of waits"


def main():
    folder, page = sys.argv[1:]
    found = {path: text for path, text in functions(folder) if not FOREIGN.search(path)}
    if len(found) < EXPECTED:
        sys.exit(f"only {len(found)} functions in {folder}")
    allowed, used, problems = exceptions(page), set(), []
    for path, declaration in sorted(found.items()):
        if wrong := problem(path, declaration) or without_limit(path, found):
            names = {path, "*::" + path.rsplit("::", 1)[-1]} & allowed
            used |= names
            if not names:
                problems.append(f"names: {path}: {wrong}")
    # More ways to wait are options, for all of these at once.
    forms = [path for path in found if re.fullmatch(r"ipc::Sender::(?!.*value)(.*(send|loan).*|with)", path)]
    if not 5 <= len(forms) <= 7:
        problems.append(f"names: {len(forms)} forms of a send: {sorted(forms)}")
    problems += [f"names: {name} is on the page, but is no exception" for name in sorted(allowed - used)]
    problems += waits(page, found)
    of_bindings, count = binding_names.problems()
    problems += of_bindings
    print(f"names: {count} functions of C, C++ and Zig")
    print(f"names: {len(used)} exceptions among {len(found)} functions")
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
