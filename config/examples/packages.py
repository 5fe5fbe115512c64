#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a table of real data to try Kiln with, as CSV: the Debian packages that are installed on this machine.

    packages.py size       the label is log10 of Installed-Size (KiB): regression
    packages.py library    the label is 1 if the section of the package is libs, otherwise 0: two classes
    packages.py section    the label is the section, one of the five with the most packages: several classes

The other columns are logarithms (log10) of counts: the files and folders of a package; its shared libraries, programs,
manual pages and translations; the packages that it depends on; the characters of its description.
"""
import collections
import csv
import math
import os
import re
import sys

INFO = "/var/lib/dpkg/info"


def packages():
    """The fields of each installed package."""
    for text in open("/var/lib/dpkg/status", encoding="utf-8", errors="replace").read().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): *(.*(?:\n .*)*)", text, re.M))
        if fields.get("Status", "").endswith(" installed") and fields.get("Installed-Size", "0") != "0":
            yield fields


def files_of(fields):
    for name in (fields["Package"], f"{fields['Package']}:{fields['Architecture']}"):
        path = os.path.join(INFO, name + ".list")
        if os.path.exists(path):
            return open(path, encoding="utf-8", errors="replace").read().split("\n")
    return []


def row_of(fields):
    files = files_of(fields)
    folders = {os.path.dirname(f) for f in files}
    count = lambda part: math.log10(1 + sum(bool(re.search(part, f)) for f in files))
    return {
        "files": math.log10(1 + len(files)), "folders": math.log10(1 + len(folders)),
        "libraries": count(r"\.so(\.|$)"), "programs": count(r"/s?bin/."), "manual_pages": count("/man/.*gz$"),
        "translations": count(r"/locale/.*\.mo$"), "headers": count(r"\.h(pp)?$"), "python": count(r"\.py$"),
        "depends": math.log10(1 + len([d for d in fields.get("Depends", "").split(",") if d])),
        "description": math.log10(1 + len(fields.get("Description", ""))),
        "essential": float(fields.get("Priority") in ("required", "important")),
    }


def main(label):
    found = list(packages())
    sections = [f.get("Section", "").split("/")[-1] for f in found]
    most = [name for name, _ in collections.Counter(sections).most_common(5)]
    out = None
    for fields, section in zip(found, sections):
        if label == "section" and section not in most:
            continue
        value = {"size": math.log10(int(fields["Installed-Size"])), "library": int(section == "libs"), "section": section}[label]
        row = {**{k: round(v, 4) for k, v in row_of(fields).items()}, label: value if label == "section" else round(value, 4)}
        if not out:
            out = csv.DictWriter(sys.stdout, row, lineterminator="\n")
            out.writeheader()
        out.writerow(row)


if len(sys.argv) != 2 or sys.argv[1] not in ("size", "library", "section"):
    raise SystemExit(__doc__)
main(sys.argv[1])
