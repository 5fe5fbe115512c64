#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a box's disk as a power cut leaves it.

power_cut.py WORK CHECKER check DISK [IMAGE...]    the disk as it is
power_cut.py WORK CHECKER replay DISK LOG EVERY [IMAGE...]
            DISK is the state before, LOG the recording of QEMU's blklogwrites driver: checks the disk after every
            EVERYth flush, and again with some of the writes after that flush: a disk may keep any of them, and a
            part of one that was in progress
power_cut.py WORK CHECKER make DISK LOG FLUSH [SEED]   changes DISK to its state after that flush; with SEED, also
            applies some later writes

DISK is a whole disk, whose slot A runs while slot B is written, or the file system of /data alone. CHECKER FILE exits
with 0 if the checkpoint is whole. IMAGE is a folder with vmlinuz, initrd and slot.cfg of an image that may be in a slot.

Checks: the boot loader (boot_choice.py) chooses a slot whose kernel, initramfs and root hash belong to one image, and the
slot's root has that hash, by dm-verity. This also holds after the ESP was repaired as the box does it, and a slot on
trial gives way to the other. `e2fsck -p`, which the box runs, repairs /data. Every published file in it, checkpoints and
the run record, is whole. Once a run has a checkpoint after a flush, it has this one or a newer one until the run is
final. `check` remembers in WORK what it has seen. A state that was checked already is not checked again.
Prints faults, then "state WHAT: FLUSH [SEED]" for a state of the boot loader that is new, then
"N looks, N ESPs, N checkpoints, N bad".
"""
import glob
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

from boot_choice import choose

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4  # flags of an entry: dm-log-writes
STATES = "running paused stopping stopped expired finished failed".split()
FINAL = ("finished", "failed")
MIB = 1 << 20
SEED = 1  # for the choice of writes that a replay keeps


def run(*command, stderr=subprocess.STDOUT):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=False)


class Log:
    """Entries (start, size, flags, position of their data), and the index of each flush among them."""

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
    """The partitions that are written on a box whose slot A runs, each in a sparse file; slot A's is only read."""

    def __init__(self, path, work):
        self.parts, self.version = {}, {}
        found = run("sfdisk", "--json", path)
        if found.returncode:
            table = [{"name": "kiln-data", "start": 0, "size": os.path.getsize(path) // 512}]
        else:
            table = json.loads(found.stdout)["partitiontable"]["partitions"]
        with open(path, "rb") as disk:
            for part in table:
                name, start, size = part["name"], part["start"] * 512, part["size"] * 512
                to = os.path.join(work, name)
                copy(disk, start, size, to)
                self.parts[name] = (start, size, os.open(to, os.O_RDWR), to)
                self.version[name] = 0
        self.versions = 0

    def put(self, start, data, what):
        for name, (begin, size, fd, _) in self.parts.items():
            if begin <= start and start + len(data) <= begin + size and name != "kiln-root-a":
                os.pwrite(fd, data, start - begin)
                self.versions += 1
                self.version[name] = self.versions
                return
        raise SystemExit(f"{what} of {len(data)} bytes at {start}, outside of ESP, slot B and /data")

    def get(self, start, size):
        for begin, bytes_, fd, _ in self.parts.values():
            if begin <= start < begin + bytes_:
                return os.pread(fd, size, start - begin)
        return b""

    def write(self, log, entry):
        if is_write(entry):
            self.put(entry[0], log.data(entry), "a write")

    def path(self, name):
        return self.parts[name][3] if name in self.parts else None


def is_write(entry):
    return entry[1] > 0 and not entry[2] & DISCARD


def next_data(disk, at):
    """The first byte that is not in a hole, or None."""
    try:
        return os.lseek(disk.fileno(), at, os.SEEK_DATA)
    except OSError:
        return None


def copy(disk, start, size, path):
    with open(path, "wb") as out:
        out.truncate(size)
        at = 0
        while (data_at := next_data(disk, start + at)) is not None and data_at < start + size:
            at = (data_at - start) // MIB * MIB
            disk.seek(start + at)
            data = disk.read(min(MIB, size - at))
            if data.count(0) != len(data):
                out.seek(at)
                out.write(data)
            at += MIB


def on_esp(path, name):
    """Reads a file through GRUB's own file system code."""
    return run("grub-fstest", path, "cat", f"(loop0)/{name}", stderr=subprocess.DEVNULL).stdout


def sums(read):
    return tuple(hashlib.sha256(read(name)).hexdigest() for name in ("vmlinuz", "initrd", "slot.cfg"))


class Slots:
    """Names the boot loader's choice on an ESP, or what is wrong with it."""

    def __init__(self, disk, work, images):
        self.disk, self.copy, self.verified = disk, os.path.join(work, "esp.copy"), {}
        self.loader = self.loader_of(disk.path("kiln-esp"))
        self.images = {sums(lambda name: read_file(os.path.join(image, name))): os.path.basename(image) for image in images}

    @staticmethod
    def loader_of(esp):
        return on_esp(esp, "EFI/BOOT/BOOTX64.EFI"), on_esp(esp, "kiln/grub.cfg")

    def has_root(self, slot, arguments):
        name = f"kiln-root-{slot.lower()}"
        key = (name, self.disk.version[name], arguments["kiln.roothash"])
        if key not in self.verified:
            part = self.disk.path(name)
            self.verified[key] = run("veritysetup", "verify", f"--hash-offset={arguments['kiln.hashoffset']}", part, part,
                                     arguments["kiln.roothash"]).returncode == 0
        return self.verified[key]

    def boot(self):
        """Boots once from a copy of the ESP: returns what is wrong ("" if nothing), the slot, and its image."""
        choice = choose(self.copy)
        if not choice.slot:
            return f"no slot boots: {choice.text[-300:]}", "", ""
        image = self.images.get(sums(lambda name: on_esp(self.copy, f"kiln/{choice.slot}/{name}")))
        if not image:
            return f"slot {choice.slot}: kernel, initramfs and slot.cfg are not of one image", "", ""
        if not self.has_root(choice.slot, choice.arguments):
            return f"slot {choice.slot} ({image}): the partition is not what its root hash stands for", "", ""
        trial = ", on trial" if "kiln.trial" in choice.arguments else ""
        return "", choice.slot, f"slot {choice.slot} ({image}{trial}), attempt {choice.attempt}"

    def look(self):
        """Returns what is wrong ("" if nothing), and the boot loader's state."""
        esp = self.disk.path("kiln-esp")
        if self.loader_of(esp) != self.loader:
            return "the boot loader or grub.cfg is not what it was", ""
        run("cp", "--sparse=always", esp, self.copy)
        bad, slot, state = self.boot()
        if bad:
            return bad, ""
        # Exit status 1: repaired.
        fsck = run("fsck.vfat", "-a", self.copy)
        if fsck.returncode > 1 or run("fsck.vfat", "-n", self.copy).returncode:
            return f"the ESP is not repaired by itself: {fsck.stdout.decode(errors='replace')[-300:]}", ""
        # A slot that is good stays the choice. One on trial that nobody marks good gives way to the other.
        seen = {slot}
        for _ in range(3 if "on trial" in state else 1):
            bad, slot, _ = self.boot()
            if bad:
                return f"{state}; once the ESP was repaired: {bad}", ""
            seen.add(slot)
        if len(seen) != (2 if "on trial" in state else 1):
            return f"{state}; once the ESP was repaired: slot {slot}", ""
        env = on_esp(esp, "kiln/grubenv")
        whole = len(env) == 1024 and env.startswith(b"# GRUB Environment Block\n")
        return "", state + ("" if whole else "; grubenv is torn")


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


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


def bad_checkpoint(path, checker, known={}):
    """The checker's complaint about these bytes ("" if they are whole); each content is checked once."""
    digest = hashlib.sha256(read_file(path)).digest()
    if digest not in known:
        check = run(checker, "--check", path)
        known[digest] = check.stdout.decode()[-300:] or "not whole" if check.returncode else ""
    return known[digest]


def state_of(record):
    """Id and state of the run whose record this folder is; nothing if there is no record, or none that can be read."""
    try:
        with open(os.path.join(record, "run.json"), encoding="utf-8") as file:
            name = json.load(file)["id"]
        with open(os.path.join(record, "state"), encoding="utf-8") as file:
            return {name: file.read().split()[0]}
    except (OSError, ValueError, KeyError, IndexError):
        return {}


class Newest:
    """The step of each unfinished run's newest checkpoint after a flush: later flushes must not have an older one."""

    def __init__(self, path=None):
        self.path, self.steps = path, {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.steps = json.load(file)

    def look(self, folder, flushed):
        """What is wrong with the published files; `flushed`: the disk must have kept them."""
        states, found, bad = {}, {}, []
        for record in glob.glob(os.path.join(folder, "run", "archive", "*")) + [os.path.join(folder, "run", "current")]:
            states |= state_of(record)
        for path in glob.glob(os.path.join(folder, "spool", "traind", "*", "checkpoints", "ckpt-*.safetensors")):
            name, step = path.split(os.sep)[-3], int(re.search(r"ckpt-([0-9]+)", path)[1])
            found[name] = max(found.get(name, 0), step)
        unfinished = {name for name in self.steps | found if states.get(name) not in FINAL}
        for name in unfinished & set(self.steps):
            if found.get(name, -1) < self.steps[name]:
                bad.append(f"{name} ({states.get(name)}) had a checkpoint of step {self.steps[name]}, "
                           f"its newest is of step {found.get(name)} now")
        if flushed:
            self.steps = {name: max(self.steps.get(name, 0), found.get(name, 0)) for name in unfinished}
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump(self.steps, file)
        return "; ".join(bad)


def bad_data(path, work, checker, counts, newest, flushed):
    seen, undo = os.path.join(work, "seen"), os.path.join(work, "undo")
    shutil.rmtree(seen, ignore_errors=True)
    os.mkdir(seen)
    if os.path.exists(undo):
        os.unlink(undo)
    fsck = run("e2fsck", "-p", "-z", undo, path)
    run("debugfs", "-R", f"rdump /kiln/spool /kiln/run {seen}", path)
    # Undo the repair: the next flush continues from the disk as recorded.
    if os.path.exists(undo) and run("e2undo", undo, path).returncode:
        raise SystemExit(f"{path}: what e2fsck did cannot be undone")
    if fsck.returncode > 1:
        return f"/data: {fsck.stdout.decode()[-300:]}"
    for folder, _, files in os.walk(os.path.join(seen, "spool")):
        for name in files:
            if re.fullmatch(r"ckpt-[0-9]+\.safetensors", name):
                counts["checkpoints"] += 1
                bad = bad_checkpoint(os.path.join(folder, name), checker)
                if bad:
                    return f"{name}: {bad}"
    return bad_record(seen) or newest.look(seen, flushed)


class Looks:
    """Counts the states, and skips those that have not changed since the last check."""

    def __init__(self, disk, work, checker, images, newest):
        self.newest = newest
        self.disk, self.work, self.checker, self.seen, self.states = disk, work, checker, set(), set()
        self.counts = {"looks": 0, "esps": 0, "checkpoints": 0, "bad": 0}
        self.slots = Slots(disk, work, images) if images else None

    def is_new(self, *names):
        version = names + tuple(self.disk.version[name] for name in names)
        if version in self.seen:
            return False
        self.seen.add(version)
        return True

    def bad(self, what, text):
        if text:
            self.counts["bad"] += 1
            print(f"{what}: {text}", flush=True)

    def look(self, what, where, flushed=True):
        self.counts["looks"] += 1
        if self.slots and self.is_new("kiln-esp", "kiln-root-b"):
            self.counts["esps"] += 1
            bad, state = self.slots.look()
            self.bad(what, bad)
            if state and state not in self.states:
                self.states.add(state)
                print(f"state {state}: {where}", flush=True)
        if self.is_new("kiln-data"):
            self.bad(what, bad_data(self.disk.path("kiln-data"), self.work, self.checker, self.counts, self.newest, flushed))


def torn(entry, dice):
    """A disk writes whole sectors, of 4 KiB where a write is aligned to those."""
    unit = 4096 if entry[0] % 4096 == 0 and entry[1] % 4096 == 0 else 512
    return entry[0], dice.randrange(entry[1] // unit + 1) * unit, entry[2], entry[3]


def kept_of(entries, seed):
    """Some of the writes, in any order: those between two flushes. One in eight is cut to its beginning."""
    dice = random.Random(seed)
    kept = [entry for entry in entries if is_write(entry) and dice.random() < 0.5]
    dice.shuffle(kept)
    return [torn(entry, dice) if dice.random() < 0.125 else entry for entry in kept]


def ahead_of(log, number):
    """The writes between that flush and the next."""
    end = log.flushes[number] if number < len(log.flushes) else len(log.entries)
    return log.entries[log.flushes[number - 1] + 1 : end]


def replay(disk, log, every, looks):
    done = 0
    for number in range(every, len(log.flushes) + 1, every):
        until = log.flushes[number - 1] + 1
        for entry in log.entries[done:until]:
            disk.write(log, entry)
        done = until
        looks.look(f"after flush {number}", number)
        kept = kept_of(ahead_of(log, number), f"{number} {SEED}")
        # Check in place: the bytes that this check overwrites are put back.
        version = dict(disk.version)
        before = [(entry[0], disk.get(entry[0], entry[1])) for entry in kept]
        for entry in kept:
            disk.write(log, entry)
        if kept:
            looks.look(f"after flush {number}, and {len(kept)} writes behind it", f"{number} {SEED}", False)
        for at, data in reversed(before):
            disk.put(at, data, "what was there")
        disk.version = version


def make(path, log, number, seed):
    fd = os.open(path, os.O_RDWR)
    later = kept_of(ahead_of(log, number), f"{number} {seed}") if seed else []
    for entry in log.entries[: log.flushes[number - 1] + 1] + later:
        if is_write(entry):
            os.pwrite(fd, log.data(entry), entry[0])
    os.close(fd)


def main():
    work, checker, verb, path, *rest = sys.argv[1:]
    if verb == "make":
        make(path, Log(rest[0]), int(rest[1]), rest[2] if len(rest) > 2 else None)
        return
    disk = Disk(path, work)
    newest = Newest(os.path.join(work, "newest.json") if verb == "check" else None)
    looks = Looks(disk, work, checker, rest if verb == "check" else rest[2:], newest)
    if verb == "check":
        looks.look("as it is", 0)
    else:
        log = Log(rest[0])
        print(f"{len(log.flushes)} flushes, {len(log.entries)} entries", flush=True)
        replay(disk, log, int(rest[1]), looks)
    print("{looks} looks, {esps} ESPs, {checkpoints} checkpoints, {bad} bad".format(**looks.counts))


main()
