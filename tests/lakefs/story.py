# SPDX-License-Identifier: Apache-2.0
"""Prints the requests of a contract server's log, one a line, in a form that two stories share: the name of the repository, the ids of
commits in the order in which they appear, and the number of an import are replaced, and a request that repeats the one before is
printed once.

    story.py REPOSITORY <LOG
"""
import json
import re
import sys

seen, before = {}, None


def name(found):
    return seen.setdefault(found[0], f"#{len(seen) + 1}")


for method, target, body in json.load(sys.stdin):
    line = json.dumps([method, target, body], sort_keys=True)
    line = re.sub(r"\bimport\d{16}\b", "IMPORT", re.sub(r"\b[0-9a-f]{64}\b", name, line)).replace(sys.argv[1], "REPOSITORY")
    if line != before:
        print(line)
    before = line
