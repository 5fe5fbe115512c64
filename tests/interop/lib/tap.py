# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs of this folder: where Kiln is, and results as TAP."""
import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("KILN_BUILD", os.path.join(ROOT, "build/release"))
BIN = os.environ.get("KILN_BIN", os.path.join(BUILD, "bin"))
DETAIL_MAX = 4000
results = []


def ok(good, what, detail=""):
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {what}")
    if not good and detail:
        print("# " + str(detail)[:DETAIL_MAX].replace("\n", "\n# "))


def skip(what, why):
    results.append(True)
    print(f"ok {len(results)} - {what} # SKIP {why}")


def end():
    """Prints the number of results. Returns the exit code: 1 if a result was bad."""
    print(f"1..{len(results)}")
    return 0 if all(results) else 1
