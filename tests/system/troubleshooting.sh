#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares rootfs/doc/troubleshooting.md with the programs: it has every reason for which status says degraded and every exit
# status, and each text that it quotes is printed by a program.
exec python3 - "$(dirname "$0")/../.." <<'PY'
import glob
import os
import re
import sys

os.chdir(sys.argv[1])
page = open("rootfs/doc/troubleshooting.md").read()
number, failed = 0, 0


def ok(good, name, detail=""):
    global number, failed
    number += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good and detail:
        print(f"# {detail}")


def literals(path):
    """Returns the strings of a C source; adjacent ones are joined."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#include.*?$", "", open(path).read(), flags=re.S | re.M)
    text = re.sub(r'(?<!\\)"\s*(PRI\w+|[A-Z_]+_NAME)?\s*"', lambda m: "%u" if m[1] else "", text)
    return [m[1].replace('\\"', '"') for m in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text)]


def fragments(text):
    """Returns a sentence without its variable parts: %s, N, NAME, figures, '...'."""
    return [f.strip(" :,.;\"'()") for f in re.split(r"%[-+.*0-9]*[a-z]*|\.\.\.|\b[A-Z]\b|\b[A-Z]{4,}\b|[0-9][0-9.:]*|\"[^\"]*\"|'[^']*'", text)]


def plain(text):
    return re.sub(r"\s+", " ", text.replace("`", ""))


# ---- Every reason of "degraded" ----
for path in ("firmware/controld/status/health.c", "firmware/core/box/data_disk.c"):
    for text in literals(path):
        longest = max(fragments(text), key=len)
        if " " in longest and len(longest) >= 8:
            ok(longest in plain(page), f"the page has the reason \"{text}\"", f"not found: {longest}")

# ---- Every exit status ----
statuses = {"0", "64", "69", "75", "79", "243"}
for unit in glob.glob("rootfs/systemd/*.service"):
    for line in re.findall(r"^RestartPreventExitStatus=(.*)$", open(unit).read(), re.M):
        statuses |= set(line.split())
statuses |= set(re.findall(r"^\tCLI_\w+ = (\d+)", open("firmware/cli/base/exit.h").read(), re.M))
listed = set()
for cell in re.findall(r"^\| ([0-9, ]+) \|", page, re.M):
    listed |= set(cell.replace(" ", "").split(","))
for status in sorted(statuses, key=int):
    ok(status in listed, f"the page has exit status {status}")

# ---- Every quoted text ----
printed = "\n".join(text for path in glob.glob("firmware/**/*.c", recursive=True) + glob.glob("drivers/**/*.c", recursive=True) + glob.glob("firmware/**/*.h", recursive=True) for text in literals(path))
printed += "\n".join(re.findall(r'\{ "([a-z.]+)"', printed))
elsewhere = {"HTTP 503", "SlowDown", "RequestTimeTooSkewed", "403", "401", "404", "AccessDenied", "InvalidAccessKeyId", "NoSuchBucket"}  # the store's
for row in re.findall(r"^\| (.*?) \|", page, re.M):
    for quoted in re.findall(r"`([^`]+)`", row):
        if quoted in elsewhere or quoted.startswith(("--", "kiln", "status", "config", "watch")):
            continue
        lost = [f for f in fragments(quoted) if len(f) >= 6 and f not in printed]
        ok(not lost, f"a program prints \"{quoted}\"", f"not found in the sources: {lost}")
print(f"1..{number}")
sys.exit(failed)
PY
