"""Checks that the pages about simulated tests have each option, variable, fault, method and cause that the
source has, and no option that it does not have. usage: simulation.py"""

import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OPTIONS, GUIDE = "book/src/guides/simulating-options.md", "book/src/guides/simulating-tasks.md"
MACRO, MACRO_DOC = "crates/macros/src/simulate.rs", "crates/macros/src/lib.rs"
SIM = "crates/blitz-io/src/sim"
# The files whose public functions a test calls, and the smallest number of them: fewer mean that a file is not understood.
FILES = {
    f"{SIM}/builder.rs": 15,
    f"{SIM}/threads.rs": 1,
    f"{SIM}/report.rs": 5,
    f"{SIM}/failure.rs": 8,
    f"{SIM}/faults.rs": 15,
    f"{SIM}/files.rs": 4,
    f"{SIM}/host.rs": 18,
    f"{SIM}/paths.rs": 6,
    f"{SIM}/properties.rs": 3,
    "crates/net/src/simulation/link.rs": 6,
    "crates/os/src/simulation/disk.rs": 5,
}
FUNCTION = re.compile(r"((?:^[ \t]*(?:///|#\[).*\n)*)^[ \t]*pub (?:const )?(?:async )?fn (\w+)", re.M)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def codes(path):
    """Returns the code in the first column of all tables of a page, and that in the one of its first table."""
    text = read(path)
    first = text[text.index("\n|") :].split("\n\n")[0]
    columns = [" ".join(row.split("|")[1] for row in part.splitlines() if row.startswith("|")) for part in (text, first)]
    return [re.findall(r"`([^`]+)`", column) for column in columns]


def functions(path):
    """Returns the names of the public functions of a file that its documentation shows."""
    found = [name for head, name in FUNCTION.findall(read(path)) if "doc(hidden)" not in head]
    if len(found) < FILES[path]:
        sys.exit(f"{path}: only {len(found)} functions were found")
    return found


def main():
    named, options = codes(OPTIONS)
    # The methods of `Builder` have the names of the options.
    tables = " ".join([*named, *(f"{option}()" for option in options)])
    macro = read(MACRO).split("#[cfg(test)]")[0]
    known = re.findall(r'\("(\w+)", Value::', macro) + re.findall(r'^            \("(\w+)", _, Lit', macro, re.M) + ["threads"]
    known = set(known)
    schedules = re.findall(r'"([\w-]+)"', re.search(r"SCHEDULES: [^=]*= \[(.*?)\]", macro, re.S)[1]) + ["pct:", "exhaustive:"]
    variables = set(re.findall(r'"(BLITZ_SIM_\w+)"', read(f"{SIM}/builder.rs") + read(f"{SIM}/events/shown.rs")))
    causes = re.findall(r"^    ([A-Z]\w+)[,({ ]", re.search(r"pub enum Cause \{(.*?)^\}", read(f"{SIM}/failure.rs"), re.S | re.M)[1], re.M)
    for what, found, least in (("options", known, 14), ("schedules", schedules, 9), ("variables", variables, 6), ("causes", causes, 13)):
        if len(found) < least:
            sys.exit(f"only {len(found)} {what} were found")

    problems = [f"{OPTIONS}: `{name}` is no option of the attribute" for name in options if name not in known]
    problems += [f"{OPTIONS}: the table has no option `{name}`" for name in sorted(known - set(options))]
    documented = read(MACRO_DOC)
    problems += [f"{MACRO_DOC}: no option `{name}`" for name in sorted(known) if f"/// | `{name} = " not in documented]
    problems += [f"{OPTIONS}: no {name}" for name in [*schedules, *sorted(variables)] if name not in tables]
    called = [(path, name) for path in FILES for name in functions(path)]
    problems += [f"{OPTIONS}: no `{name}` of {path}" for path, name in called if not re.search(rf"\b{name}\(", tables)]
    guide = codes(GUIDE)[0]
    problems += [f"{GUIDE}: no cause `{cause}`" for cause in causes if cause not in guide]
    print("\n".join(problems) or f"simulation: {len(known)} options, {len(called)} functions, {len(causes)} causes")
    sys.exit(bool(problems))


main()
