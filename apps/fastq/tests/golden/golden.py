#!/usr/bin/env python3
"""Compares a program with what fastp 1.3.6 did.

usage: golden.py check PROGRAM FOLDER   run PROGRAM with the arguments of every recorded case
       golden.py record FASTP FOLDER    run FASTP with the same arguments and replace the record

The record, expected.json.xz, has for each case the arguments, the MD5 sums of the files of
reads, and the JSON report without the command line and the version. It was made by fastp
1.3.6 (https://github.com/OpenGene/fastp), run with 1 and with 4 threads: cases for which
these differ are not in it. The inputs are made by simulate.py; their MD5 sums are in the
record, too.
"""
import gzip
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys

# The tests leave nothing in the source tree.
sys.dont_write_bytecode = True
import simulate

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "expected.json.xz")
ADAPTERS = """\
>one
AGATCGGAAGAGCACACGTCTGAACTCCAGTCA
>two
CTGTCTCTTATACACATCT
>three
AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT
"""


def digest(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return hashlib.md5(data).hexdigest()


def digests(folder, endings):
    names = sorted(name for name in os.listdir(folder) if name.endswith(endings))
    return {name: digest(os.path.join(folder, name)) for name in names}


def write_inputs(folder):
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, name)
    simulate.write(at("nova"), 101, "@A00", simulate.fixed(150))
    simulate.write(at("hwi"), 102, "@HWI", simulate.fixed(100))
    simulate.write(at("var"), 103, "@A00", simulate.variable(120))
    with open(at("adapters.fa"), "w") as file:
        file.write(ADAPTERS)
    return digests(folder, (".fq", ".fa"))


def run(program, folder, arguments, threads):
    """Runs the program in a new folder beside the inputs."""
    here = os.path.join(folder, "run")
    shutil.rmtree(here, ignore_errors=True)
    os.makedirs(here)
    command = [program, *arguments, "-w", str(threads), "-j", "j.json", "-h", "h.html"]
    done = subprocess.run(
        command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        return {"failed": done.stderr}
    with open(os.path.join(here, "j.json")) as file:
        report = json.load(file)
    del report["command"], report["summary"]["fastp_version"]
    return {"files": digests(here, (".fq", ".gz")), "json": report}


def differences(want, got, path=""):
    """Yields how two results differ, and whether an object's keys have another order."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            if key not in got:
                yield f"{path}/{key} is missing"
            elif key not in want:
                yield f"{path}/{key} is new"
            else:
                yield from differences(want[key], got[key], f"{path}/{key}")
        if set(want) == set(got) and list(want) != list(got):
            yield f"{path}: the order is {list(got)}, not {list(want)}"
    elif want != got:
        yield f"{path}: {str(got)[:70]}, not {str(want)[:70]}"


def check(program, folder, record):
    failed = 0
    for case in record["cases"]:
        want = {"files": case["files"], "json": case["json"]}
        found = list(differences(want, run(program, folder, case["arguments"], 2)))
        if found:
            failed += 1
            print(" ".join(case["arguments"]))
            print("".join(f"    {line}\n" for line in found[:8]), end="")
            if len(found) > 8:
                print(f"    and {len(found) - 8} more")
    print(f"{len(record['cases']) - failed} of {len(record['cases'])} cases agree")
    return failed == 0


def make_record(fastp, folder, record):
    cases = []
    for case in record["cases"]:
        results = [run(fastp, folder, case["arguments"], threads) for threads in (1, 4, 1)]
        if results[0] == results[1] == results[2] and "failed" not in results[0]:
            cases.append({"arguments": case["arguments"], **results[0]})
    save({"inputs": record["inputs"], "cases": cases})
    print(f"{len(cases)} of {len(record['cases'])} cases recorded")
    return True


def save(record):
    text = json.dumps(record, separators=(",", ":")).encode()
    with open(RECORD, "wb") as file:
        file.write(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def main():
    verbs = {"check": check, "record": make_record}
    if len(sys.argv) != 4 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verb, program, folder = sys.argv[1:]
    program = shutil.which(program) or sys.exit(f"no program {program}")
    with lzma.open(RECORD) as file:
        record = json.load(file)
    if write_inputs(folder) != record["inputs"]:
        sys.exit("this Python simulates other reads than those of the record")
    sys.exit(not verbs[verb](os.path.abspath(program), os.path.abspath(folder), record))


main()
