#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A box's disk as a power cut leaves it, looked at from outside.

    power_cut.py WORK CHECKER check DISK               the disk as it is
    power_cut.py WORK CHECKER replay DISK LOG EVERY    DISK as it was before, and what QEMU's blklogwrites driver recorded
                                                       since: as it is after every EVERYth flush, and once more with some
                                                       of the writes behind that, for a disk may keep any of them
    power_cut.py WORK CHECKER make DISK LOG FLUSH [SEED]   DISK becomes what it was after that flush; with SEED, some writes
                                                       later

DISK is a whole one, or the file system of /data alone. CHECKER FILE ends with 0 where a checkpoint is whole. Slots, kernels and boot loader on the ESP have to be whole (the boot
variables may be torn: it goes by its defaults then), /data has to be repaired by `e2fsck -p`, as the box does it, and whatever
is published in it, checkpoints and the run's record, has to be whole. Prints what is not, then "N looks, N checkpoints, N bad".
"""
import json
import os
import random
import re
import struct
import subprocess
import sys

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4  # of an entry: dm-log-writes
STATES = "running paused stopping stopped expired finished failed".split()
MIB = 1 << 20


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Log:
    """Entries (start, size, flags, where their data lies), and where each flush stands among them."""

    def __init__(self, path):
        self.file = open(path, "rb")
        magic, version, count, sector = struct.unpack("<QQQI", self.file.read(28))
        if (magic, version) != (MAGIC, 1):
            sys.exit(f"{path}: magic {magic:#x} version {version}, expected {MAGIC:#x} and 1")
        at, self.entries = sector, []
        for _ in range(count):
            self.file.seek(at)
            start, sectors, flags, _ = struct.unpack("<QQQQ", self.file.read(32))
            self.entries.append((start * sector, sectors * sector, flags, at + sector))
            at += sector + (0 if flags & DISCARD else sectors * sector)
        self.flushes = [i for i, entry in enumerate(self.entries) if entry[2] & FLUSH]

    def data(self, entry):
        self.file.seek(entry[3])
        return self.file.read(entry[1])


class Disk:
    """The partitions that are written on a box, each in a sparse file of its own."""

    def __init__(self, path, work):
        self.parts = {}
        found = run("sfdisk", "--json", path)
        if found.returncode:
            table = [{"name": "kiln-data", "start": 0, "size": os.path.getsize(path) // 512}]
        else:
            table = json.loads(found.stdout)["partitiontable"]["partitions"]
        with open(path, "rb") as disk:
            for part in table:
                name, start, size = part["name"], part["start"] * 512, part["size"] * 512
                if name not in ("kiln-esp", "kiln-data"):
                    continue
                to = os.path.join(work, name)
                copy(disk, start, size, to)
                self.parts[name] = (start, size, os.open(to, os.O_RDWR), to)

    def write(self, log, entry):
        if entry[2] & DISCARD or entry[1] == 0:
            return
        for start, size, fd, _ in self.parts.values():
            if start <= entry[0] and entry[0] + entry[1] <= start + size:
                os.pwrite(fd, log.data(entry), entry[0] - start)
                return
        raise SystemExit(f"a write of {entry[1]} bytes at {entry[0]}, outside of ESP and /data")

    def path(self, name):
        return self.parts[name][3] if name in self.parts else None


def copy(disk, start, size, path):
    with open(path, "wb") as out:
        out.truncate(size)
        for at in range(0, size, MIB):
            disk.seek(start + at)
            data = disk.read(min(MIB, size - at))
            if data.count(0) != len(data):
                out.seek(at)
                out.write(data)


def bad_esp(path):
    fsck = run("fsck.vfat", "-n", path)
    # 1: a dirty bit and the like, which the box's own check sets right.
    if fsck.returncode > 1:
        return f"ESP: {fsck.stdout.decode()[-300:]}"
    for slot in "AB":
        cfg = run("mtype", "-i", path, f"::kiln/{slot}/slot.cfg").stdout.decode(errors="replace")
        if not re.search(r"kiln\.roothash=[0-9a-f]{64} kiln\.hashoffset=[0-9]+", cfg):
            return f"slot.cfg of {slot} is not whole"
    if b"no slot can be booted" not in run("mtype", "-i", path, "::kiln/grub.cfg").stdout:
        return "grub.cfg is not whole"
    return ""


def bad_record(folder):
    record = os.path.join(folder, "run", "current")
    if not os.path.exists(os.path.join(record, "run.json")):
        return ""
    try:
        with open(os.path.join(record, "run.json"), encoding="utf-8") as file:
            json.load(file)
        with open(os.path.join(record, "state"), encoding="utf-8") as file:
            words = file.read().split()
    except (OSError, ValueError) as error:
        return f"the run's record: {error}"
    return "" if words and words[0] in STATES else f"the run's state is '{words}'"


def bad_data(path, work, checker, counts):
    seen, image = os.path.join(work, "seen"), os.path.join(work, "data.copy")
    run("rm", "-rf", seen)
    run("cp", "--sparse=always", path, image)
    fsck = run("e2fsck", "-p", image)
    if fsck.returncode > 1:
        return f"/data: {fsck.stdout.decode()[-300:]}"
    os.mkdir(seen)
    for folder in ("spool", "run"):
        run("debugfs", "-R", f"rdump /kiln/{folder} {seen}", image)
    for folder, _, files in os.walk(os.path.join(seen, "spool")):
        for name in files:
            if re.fullmatch(r"ckpt-[0-9]+\.safetensors", name):
                counts["checkpoints"] += 1
                check = run(checker, "--check", os.path.join(folder, name))
                if check.returncode:
                    return f"{name}: {check.stdout.decode()[-300:]}"
    return bad_record(seen)


def look(disk, work, checker, counts, what):
    counts["looks"] += 1
    esp = disk.path("kiln-esp")
    for bad in (bad_esp(esp) if esp else "", bad_data(disk.path("kiln-data"), work, checker, counts)):
        if bad:
            counts["bad"] += 1
            print(f"{what}: {bad}")


def kept_of(entries, seed):
    """Some of the writes, in any order: those of an interval without a flush."""
    dice = random.Random(seed)
    kept = [entry for entry in entries if dice.random() < 0.5]
    dice.shuffle(kept)
    return kept


def ahead_of(log, number):
    """The writes between that flush and the next."""
    end = log.flushes[number] if number < len(log.flushes) else len(log.entries)
    return log.entries[log.flushes[number - 1] + 1 : end]


def replay(disk, log, every, look_at):
    done = 0
    for number in range(every, len(log.flushes) + 1, every):
        until = log.flushes[number - 1] + 1
        for entry in log.entries[done:until]:
            disk.write(log, entry)
        done = until
        look_at(disk, f"after flush {number}")
        ahead = ahead_of(log, number)
        # This look needs no disk of its own: what it overwrites is put back.
        before = [(fd, entry[0] - start, os.pread(fd, entry[1], entry[0] - start)) for entry in ahead
                  for start, size, fd, _ in disk.parts.values() if start <= entry[0] < start + size and not entry[2] & DISCARD]
        for entry in kept_of(ahead, number):
            disk.write(log, entry)
        if before:
            look_at(disk, f"after flush {number}, and some of the {len(ahead)} writes behind it")
        for fd, at, data in before:
            os.pwrite(fd, data, at)


def make(path, log, number, seed):
    fd = os.open(path, os.O_RDWR)
    later = kept_of(ahead_of(log, number), f"{number} {seed}") if seed else []
    for entry in log.entries[: log.flushes[number - 1] + 1] + later:
        if entry[1] and not entry[2] & DISCARD:
            os.pwrite(fd, log.data(entry), entry[0])
    os.close(fd)


def main():
    work, checker, verb, path = sys.argv[1:5]
    counts = {"looks": 0, "checkpoints": 0, "bad": 0}
    if verb == "make":
        make(path, Log(sys.argv[5]), int(sys.argv[6]), sys.argv[7] if len(sys.argv) > 7 else None)
        return
    disk = Disk(path, work)
    if verb == "check":
        look(disk, work, checker, counts, "as it is")
    else:
        log = Log(sys.argv[5])
        print(f"{len(log.flushes)} flushes, {len(log.entries)} entries", flush=True)
        replay(disk, log, int(sys.argv[6]), lambda d, what: look(d, work, checker, counts, what))
    print("{looks} looks, {checkpoints} checkpoints, {bad} bad".format(**counts))


main()
