#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual against the tree: manual.py links ROOT PAGE... | manual.py run PAGE

A page is Markdown. Comments that Markdown does not show stand in front of a fenced block and say what it is:
    <!-- run -->             the block's commands are run, in order, in one shell a page
    <!-- run: exit 78 -->    ... and end with this exit status
    <!-- output -->          the block shows what the block run last printed: each line of it must have been printed, in
                             this order; numbers and white space may differ, a line of "..." stands for any lines, and one that
                             ends in "..." for any that begins so
    <!-- expect: REGEX -->   with run: this, too, must be in what is printed
    <!-- from: FILE -->      the block is lines of this file of the tree, in their order
A row of a table that names a limit, | 256 | `NAME` in [header](path) |, is held against the header.
Prints a line a check: "good" or "bad", a tab, its name, and for a bad one tab and detail.
"""
import os
import re
import signal
import subprocess
import sys

FENCE = re.compile(r"^ *(```+|~~~+) *(\w*)")
MARK = re.compile(r"^ *<!-- *(run|output|expect|from)(?:: *(.*?))? *-->$")
LIMIT_S = int(os.environ.get("KILN_MANUAL_LIMIT_S", "240"))  # a page


def said(good, name, detail=""):
    print("\t".join(["good" if good else "bad", name] + ([detail.replace("\n", "\r")] if not good else [])), flush=True)


class Block:
    def __init__(self, line, marks):
        self.line, self.marks, self.text = line, marks, []


def parse(path):
    """The lines outside of blocks, each with its number, and the blocks."""
    prose, blocks, marks, block, fence = [], [], [], None, None
    for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        if block:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                blocks.append(block)
                block, marks = None, []
            else:
                block.text.append(line)
            continue
        start, mark = FENCE.match(line), MARK.match(line)
        if start:
            fence, block = start[1], Block(number, marks)
        elif mark:
            marks = marks + [(mark[1], mark[2] or "")]
        else:
            if line.strip():
                if marks:
                    raise SystemExit(f"{path}:{number}: a mark without a block behind it")
            prose.append((number, line))
    if block:
        raise SystemExit(f"{path}:{block.line}: a block without an end")
    return prose, blocks


# ---- Links and names ----

def anchors(path):
    """The anchor that GitHub makes of a heading: lower case, without punctuation, spaces as dashes; a second heading with
    the same text gets -1."""
    found = {}
    for _, line in parse(path)[0]:
        heading = re.match(r"#+ +(.*?) *#*$", line)
        if heading:
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = found.get(slug, -1) + 1
            found[slug] = count
            if count:
                found[f"{slug}-{count}"] = 0
        for name in re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line):
            found[name] = 0
    return set(found)


def broken_link(page, target):
    """Returns the fault of a relative link, or None."""
    if re.match(r"[a-z]+:", target):
        return None
    file, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), file)) if file else page
    if not os.path.exists(path):
        return f"no file {path}"
    if anchor and path.endswith(".md") and anchor not in anchors(path):
        return f"no heading #{anchor} in {path}"
    return None


def expand(text):
    """a/{b,c}/d as a shell expands it."""
    group = re.search(r"\{([^{}]*)\}", text)
    if not group:
        return [text]
    return [e for part in group[1].split(",") for e in expand(text[:group.start()] + part + text[group.end():])]


def missing_names(root, line):
    """Yields paths of the tree in backticks that do not exist."""
    import glob
    folders = "|".join(sorted(f for f in os.listdir(root) if os.path.isdir(os.path.join(root, f)) and f[0] != "." and f != "build"))
    for quoted in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
        for word in quoted.split():
            if re.fullmatch(rf"(?:{folders})/[\w.,{{}}*@+/-]*", word):
                for name in expand(word.rstrip(".,:;")):
                    if not glob.glob(os.path.join(root, name)):
                        yield name


LIMIT = re.compile(r"\|\s*(\d*)[^|]*\|\s*`([A-Z][A-Z0-9_]+)` in \[[^]]*\]\(([^)]*)\)")


def wrong_limit(page, line):
    """Checks a row of a table such as "| layers | 256 | `LAYERS_MAX` in [config.h](path) |": returns what is wrong, or None."""
    row = LIMIT.search(line)
    path = row and os.path.join(os.path.dirname(page), row[3])
    if not row or not os.path.exists(path):
        return None
    found = re.search(rf"#define {row[2]}\s+([^/\n]+)", read(path))
    if not found:
        return f"{row[2]} is not defined there"
    # Numbers such as 4u << 20 or (uint64_t)16 << 20.
    value = re.sub(r"\(uint\d+_t\)|UINT64_C|(?<=\d)[uUlL]+\b", "", found[1])
    same = not re.fullmatch(r"\|\s*\d+\s*\|.*", row[0]) or (re.fullmatch(r"[\d<+*() ]+", value) and eval(value) == int(row[1]))
    return None if same or "one more" in line else f"{row[2]} is {found[1].strip()}, the page says {row[1]}"


def not_in_file(root, page, block):
    """Returns a line of the block that its file does not have, or None. In an installation the files are beside the pages."""
    for name in [text for kind, text in block.marks if kind == "from"]:
        lines = (line.strip() for line in (read(os.path.join(root, name)) or read(os.path.join(os.path.dirname(page), name))).split("\n"))
        for wanted in filter(None, map(str.strip, block.text)):
            if wanted not in lines: # goes on behind the last one found
                return f"line {block.line}: {name} has not, or not here: {wanted}"
    return None


def links(root, pages):
    for page in pages:
        prose, blocks = parse(page)
        bad, count = [why for why in (not_in_file(root, page, block) for block in blocks) if why], 0
        for number, line in prose:
            plain = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(([^()\s]+)\)", plain):
                count += 1
                why = broken_link(page, target)
                if why:
                    bad.append(f"line {number}: {target}: {why}")
            bad += [f"line {number}: `{name}`: no such file" for name in missing_names(root, line)]
            bad += [f"line {number}: {why}" for why in [wrong_limit(page, line)] if why]
        said(not bad, f"{os.path.relpath(page, root)}: its {count} links and the files it names are there", "\n".join(bad))


# ---- Commands ----

def like(text):
    """Returns a line without its numbers and white space."""
    return re.sub(r"\s+", "", re.sub(r"[0-9]+(?:[.,:T-][0-9]+)*(?:e[-+]?[0-9]+)?Z?", "0", text)).replace("...", "")


def not_shown(sample, output):
    """Returns the first line of a sample that was not printed, or None."""
    lines = iter(output.split("\n"))
    for wanted in sample:
        if wanted.strip() in ("", "...") or not like(wanted):
            continue
        if not any(like(line) == like(wanted) or (wanted.rstrip().endswith("...") and like(line).startswith(like(wanted)))
                   for line in lines):
            return wanted
    return None


def script(blocks, folder):
    """Runs all blocks in one shell, so that cd, variables and jobs last from block to block, as for a reader."""
    out = ["set -e"]
    for i, block in enumerate(blocks):
        marks = dict(block.marks)
        with open(f"{folder}/{i}.text", "w", encoding="utf-8") as f:
            f.write("\n".join(block.text) + "\n")
        if "run" in marks:
            status = re.fullmatch(r"exit (\d+)", marks["run"])
            out += [f"echo {i} >{folder}/at", f"exec >{folder}/{i}.out 2>&1"]
            if status:
                out += [f"found=0; ( . {folder}/{i}.text ) || found=$?",
                        f"[ $found = {status[1]} ] || {{ echo \"exit status $found, expected {status[1]}\"; exit 1; }}"]
            else:
                out += [f". {folder}/{i}.text"]
    return "\n".join(out + [f"echo end >{folder}/at"]) + "\n"


def run_script(text, folder):
    """Returns whether the shell ended in time, and ends every process that it left running."""
    with open(f"{folder}/script", "w", encoding="utf-8") as f:
        f.write(text)
    shell = subprocess.Popen(["bash", f"{folder}/script"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        shell.wait(LIMIT_S)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def read(path):
    try:
        return open(path, encoding="utf-8", errors="replace").read()
    except FileNotFoundError:
        return ""


def run(page):
    """Runs the page's blocks, in the current folder. A block that fails ends the page, as it would stop a reader."""
    _, blocks = parse(page)
    folder = os.path.abspath(".manual")
    os.makedirs(folder)
    name = os.path.basename(page)
    in_time = run_script(script(blocks, folder), folder)
    at = read(f"{folder}/at").strip()
    end = len(blocks) if at == "end" else int(at or 0)
    last = ""
    for i, block in enumerate(blocks):
        marks, where = dict(block.marks), f"{name}:{block.line}"
        if "run" in marks and i > end:
            said(False, f"{where}: its commands are run", "not reached")
        elif "run" in marks:
            last = read(f"{folder}/{i}.out")
            said(i < end, f"{where}: its commands end as they should",
                 ("" if in_time else f"not within {LIMIT_S} s\n") + last[-3000:])
            for wanted in [text for kind, text in block.marks if kind == "expect"]:
                said(re.search(wanted, last, re.M), f"{where}: prints {wanted}", last[-3000:])
        elif "output" in marks and i <= end:
            line = not_shown(block.text, last)
            said(line is None, f"{where}: the output is as shown", f"shown, but not printed: {line}\n{last[-3000:]}")


if sys.argv[1:2] == ["links"]:
    links(os.path.abspath(sys.argv[2]), [os.path.abspath(p) for p in sys.argv[3:]])
elif sys.argv[1:2] == ["run"]:
    run(os.path.abspath(sys.argv[2]))
else:
    raise SystemExit(__doc__)
