"""
Compares the tests of a package natively and under simulation. Arguments: the package, what `cargo test
--no-run` printed, the table of `blitz sim run --json`, and the list of tests that are known to fail with
their reasons. Prints the names of those that pass under simulation. Called by .ci/sim-suites and .ci/sim.

A name in the list may end with `*`. A reason that begins with "outside:" says that the test is about other processes
or the system itself, which are not simulated: it does not count.
"""

import json
import os
import subprocess
import sys

SHARE = 0.9
LIMIT = 120


def natively(built):
    """Returns the names of the tests that pass natively."""
    passed = set()
    for line in open(built, encoding="utf-8"):
        message = json.loads(line) if line.startswith("{") else {}
        file = message.get("executable")
        if not file or not message["profile"]["test"]:
            continue
        target, folder = message["target"]["name"], os.path.dirname(message["manifest_path"])
        listed = subprocess.run([file, "--list", "--format", "terse"], cwd=folder, capture_output=True, text=True)
        for test in listed.stdout.splitlines():
            name, _, kind = test.rpartition(": ")
            if kind != "test":
                continue
            command = [file, "--exact", name, "--test-threads=1"]
            environment = {**os.environ, "CARGO_MANIFEST_DIR": folder}
            try:
                ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                continue
            if ran.returncode == 0:
                passed.add(f"{target}::{name}")
    return passed


def known(file, package):
    """Returns the tests that are known to fail, with their reasons."""
    reasons = {}
    for line in open(file, encoding="utf-8"):
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[0] == package:
            reasons[words[1]] = words[2].strip()
    return reasons


def reason_of(name, reasons):
    """Returns the reason of a test, by its name or by a pattern."""
    if name in reasons:
        return reasons[name]
    return next((reasons[one] for one in reasons if one.endswith("*") and name.startswith(one[:-1])), None)


def main():
    package, built, simulated, list_of_known = sys.argv[1:]
    native = natively(built)
    rows = {row["test"]: row["verdict"] for row in json.load(open(simulated, encoding="utf-8"))}
    passed = {name for name, verdict in rows.items() if verdict == "passed"} & native
    reasons = known(list_of_known, package)
    outside = {name for name in native - passed if (reason_of(name, reasons) or "").startswith("outside:")}
    counted = len(native) - len(outside)
    print(f"{package}: {len(passed)} of {counted} tests that pass natively pass under simulation", file=sys.stderr)
    wrong = False
    for name in sorted(native - passed):
        reason = reason_of(name, reasons)
        print(f"    {name}: {rows.get(name, 'not run')} ({reason or 'unexpected'})", file=sys.stderr)
        wrong |= reason is None
    for name in sorted(reasons.keys() & passed):
        print(f"    {name} passes now: take it out of the list", file=sys.stderr)
    if len(passed) < SHARE * counted:
        print(f"    fewer than {SHARE:.0%}", file=sys.stderr)
        wrong = True
    # As the filter of the test programs has them.
    print("\n".join(sorted({name.split("::", 1)[1] for name in passed})))
    return 1 if wrong else 0


sys.exit(main())
