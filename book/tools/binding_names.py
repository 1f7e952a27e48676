"""The rule of names in C, C++ and Zig, for names.py.

C and Zig have moments only. A function that waits without a limit has a second form with a deadline, whose
name ends in `_until` or `Until`; other functions that wait take a deadline. C++ has the forms of its standard
library: `_for` takes a duration, and `_until` a time point, and where one is, the other one is too.
"""

import glob
import os
import re

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "bindings")
# There are more; fewer mean that the sources are not understood.
EXPECTED = {"c": 150, "cpp": 300, "zig": 200}
# Loops, and Tokio's name.
NO_TIME = re.compile(r"(parallel_for|parallelFor|sleep_until)$")
# No interface of ours: helpers, names of libipc and of std.Io, and the declarations of C in Zig.
OWN_NAMES = {
    "cpp": re.compile(r"/(detail|compat)/"),
    "zig": re.compile(r"/src/(io|c\.zig)"),
}
C = re.compile(r"\b(blitz_\w+)\(([^;{}]*)\)\s*;")
CPP = re.compile(r"\b([a-z_]+)\(([^(){};]*(?:\([^()]*\)[^(){};]*)*)\)\s*(?:const)?\s*(?:noexcept)?[^;{}()]*\{")
ZIG = re.compile(r"pub (?:inline )?fn (\w+)\(([^{}]*?)\)\s")


def without_detail(code):
    """Returns the code without the namespaces `detail` of a header, which are no interface."""
    while (start := code.find("namespace detail {")) >= 0:
        end, depth = code.index("{", start) + 1, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[:start] + code[end:]
    return code


def functions(pattern, expression, own_names=None):
    """Returns (file, name, parameters) of each function in the files, without comments."""
    for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
        if own_names and own_names.search(path):
            continue
        with open(path, encoding="utf-8") as file:
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
        for found in expression.finditer(without_detail(code)):
            yield os.path.relpath(path, ROOT), found[1], found[2]


def of_moments(found, until, limits, takes_moment):
    """Returns what is wrong with a function of C or Zig, where `until` ends the names of second forms."""
    names = {(file, name) for file, name, _ in found}
    for file, name, parameters in found:
        if NO_TIME.search(name):
            continue
        if limits.search(name):
            yield file, name, f"the form with a deadline ends in `{until}`"
        elif re.search(r"timeout|duration", parameters, re.I):
            yield file, name, "a time limit is a deadline"
        elif name.endswith(until):
            if not takes_moment(parameters):
                yield file, name, f"`{until}` takes a deadline"
            elif (file, name.removesuffix(until)) not in names:
                yield file, name, f"there is no form without `{until}`, so the name needs none"
        elif takes_moment(parameters) and (file, name + until) in names:
            yield file, name, f"takes a deadline, as `{name}{until}` does"


def of_cpp(found):
    """Returns what is wrong with a function of C++."""
    names = {(file, name) for file, name, _ in found}
    for file, name, parameters in found:
        if NO_TIME.search(name):
            continue
        if re.search(r"_(timeout|deadline)$", name):
            yield file, name, "a time limit is `_for` or `_until`, as in the standard library"
        if name.endswith("_for") and "duration" not in parameters:
            yield file, name, "`_for` takes a duration"
        for one, other in (("_for", "_until"), ("_until", "_for")):
            if name.endswith(one) and (file, name.removesuffix(one) + other) not in names:
                yield file, name, f"there is no `{name.removesuffix(one)}{other}`"
        if name.endswith("_until") and "time_point" not in parameters:
            yield file, name, "`_until` takes a time point"
        if "time_point" in parameters and not name.endswith("_until"):
            yield file, name, "a function that takes a time point ends in `_until`"


def problems():
    """Returns a line for each name against the rule, and the number of functions."""
    c = list(functions("c/include/blitz.h", C))
    cpp = list(functions("cpp/include/**/*.hpp", CPP, OWN_NAMES["cpp"]))
    zig = list(functions("zig/src/**/*.zig", ZIG, OWN_NAMES["zig"]))
    lines = []
    for language, found in (("c", c), ("cpp", cpp), ("zig", zig)):
        if len(found) < EXPECTED[language]:
            lines.append(f"names: only {len(found)} functions of {language}")
    wrong = [
        *of_moments(c, "_until", re.compile(r"_(for|timeout|deadline)$"), lambda text: "deadline_ns" in text),
        *of_cpp(cpp),
        *of_moments(zig, "Until", re.compile(r"(For|Timeout|Deadline)$"), lambda text: re.search(r"\bDeadline\b", text)),
    ]
    lines += [f"names: {file}: {name}: {what}" for file, name, what in wrong]
    return lines, len(c) + len(cpp) + len(zig)
