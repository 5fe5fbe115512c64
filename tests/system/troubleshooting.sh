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


def literals(path, functions=()):
    """Returns the strings of a C source, or of some functions of it; adjacent ones are joined, also with a macro between."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#include.*?$", "", open(path).read(), flags=re.S | re.M)
    for name, value in re.findall(r'^#define (\w+) +(".*")$', text, re.M):
        text = re.sub(rf"\b{name}\b", lambda m: value, text)
    if functions:
        bodies = [re.search(rf"^\w[^;{{}}]*\b{name}\([^;{{}}]*\)\n{{\n.*?^}}", text, re.M | re.S) for name in functions]
        ok(all(bodies), f"{path} has the functions {', '.join(functions)}")
        text = "\n".join(body[0] for body in bodies if body)
    text = re.sub(r'(?<!\\)"\s*(PRI\w+|[A-Z_]+_NAME)?\s*"', lambda m: "%u" if m[1] else "", text)
    return [m[1].replace('\\"', '"') for m in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text)]


def fragments(text):
    """Returns a sentence without its variable parts: %s, N, NAME, figures, '...'."""
    return [f.strip(" :,.;\"'()") for f in re.split(r"%[-+.*0-9]*[a-z]*|\.\.\.|\b[A-Z]\b|\b[A-Z]{4,}\b|[0-9][0-9.:]*|\"[^\"]*\"|'[^']*'", text)]


def plain(text):
    return re.sub(r"\s+", " ", text.replace("`", ""))


# ---- Every reason of "degraded" ----
reasons = {
    "firmware/controld/status/health.c": (),
    "firmware/core/box/data_disk.c": (),
    "firmware/core/box/esp.c": ("esp_check",),
    "firmware/oneshot/night/failed.c": ("say_which",),
    "drivers/notify/back_off.c": ("say_wait", "explain"),
    "firmware/core/run/run.c": ("load",),
    "firmware/core/run/run_parse.c": ("record_parse_state",),
}
for path, functions in reasons.items():
    for text in literals(path, functions):
        sentences = [fragment for fragment in fragments(text) if " " in fragment and len(fragment) >= 8]
        missing = [fragment for fragment in sentences if fragment not in plain(page)]
        if sentences:
            ok(not missing, f"the page has the reason \"{text}\"", f"not found: {missing}")

# ---- Every exit status ----
def sources(*patterns):
    return {path: open(path).read() for pattern in patterns for path in glob.glob(pattern, recursive=True)}


def table(heading):
    """Returns the statuses in the first column of the table below a heading that begins so."""
    section = page.split(f"\n## {heading}")[1].split("\n## ")[0]
    return {status.strip() for cell in re.findall(r"^\| ([0-9, ]+) \|", section, re.M) for status in cell.split(",")}


cli = sources("firmware/cli/**/*.[ch]")
programs = {path: text for path, text in sources("firmware/**/*.[ch]").items() if path not in cli}
used = set(re.findall(r"^\tCLI_\w+ = (\d+)", cli["firmware/cli/base/exit.h"], re.M))
used |= {str(getattr(os, name)) for text in cli.values() for name in re.findall(r"\{ (EX_[A-Z]+), \"", text)}
for status in sorted(used, key=int):
    ok(status in table("Exit statuses of `kiln`"), f"the page has exit status {status} of kiln")

used = {"243"} if "BAD_CREDENTIAL 243" in programs["firmware/oneshot/night/failed.c"] else set()
for text in programs.values():
    used |= {str(getattr(os, name)) for name in re.findall(r"\bEX_[A-Z]+\b", text)}
    used |= set(re.findall(r"^#define EXIT_\w+ (\d+)$", text, re.M))
    for verb in re.findall(r"^int oneshot_\w+\(.*?\)\n\{\n.*?^\}", text, re.M | re.S):
        used |= set(re.findall(r"(?:return|[?:]) (\d+);", verb))
for text in sources("rootfs/systemd/*.service").values():
    for line in re.findall(r"^RestartPreventExitStatus=(.*)$", text, re.M):
        used |= set(line.split())
for status in sorted(used, key=int):
    ok(status in table("Exit statuses of the other"), f"the page has exit status {status} of the other programs")

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
