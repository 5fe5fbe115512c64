# SPDX-License-Identifier: Apache-2.0
"""callgrind_annotate --tree=caller on the input: functions from 0.5 % on, who copies, and the libraries' sums, as a table.
instructions.py RECORDS BYTES"""
import collections
import re
import sys

LINE = re.compile(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+([<*>]|PROGRAM)\s+(.*)")
LEAST = 0.005

records, stored = int(sys.argv[1]), int(sys.argv[2])


def name_of(place):
    """ "FILE:FUNCTION (7x) [OBJECT]" as function and object, "" where the object is not said."""
    place, _, path = re.sub(r" \([\d,]+x\)", "", place).partition(" [")
    library = path.rstrip("]").rsplit("/", 1)[-1].partition(".so")[0]
    function = re.sub(r"('\d+|@.*|\.(constprop|part|isra|lto_priv|cold).*)$", "", place.rsplit(":", 1)[-1])
    return ("(no name)" if function.startswith("0x") else function), library


total, functions, callers = 0, collections.Counter(), collections.Counter()
object_of, pending = {}, []
for line in sys.stdin:
    match = LINE.match(line)
    if not match:
        continue
    count, kind, place = int(match[1].replace(",", "")), match[2], match[3]
    if kind == "PROGRAM":
        total = count
        continue
    function, library = name_of(place)
    if kind == "<":
        pending.append((function, count))
    elif kind == "*":
        if function == "(no name)":
            function = f"({library})"
        functions[function] += count
        if library:
            object_of[function] = library
        if re.match(r"__mem(cpy|move)_", function):
            for caller, copied in pending:
                callers[caller] += copied
        pending = []


def row(name, count):
    print(f"{name:48} {count / records:10.1f} {count / stored:9.4f} {100 * count / total:6.1f} %")


print(f"{'instructions':48} {'a record':>10} {'a byte':>9} {'share':>8}")
row("all", total)
for function, count in functions.most_common():
    if count >= LEAST * total:
        row(f"{object_of.get(function, '')} {function}".strip(), count)
for caller, count in callers.most_common():
    if count >= LEAST * total:
        row(f"of which memcpy for {caller}", count)
libraries = collections.Counter()
for function, count in functions.items():
    libraries[object_of.get(function, "?")] += count
for library, count in libraries.most_common():
    if count >= LEAST * total:
        row(f"all of {library}", count)
