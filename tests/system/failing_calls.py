#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Kiln's programs so that each call of the C library fails once (preload/fail.c), and then once more without a failure.
Prints a line for each case, "ok NAME" or "not ok NAME" and details.

failing_calls.py DIR --bin FOLDER --build FOLDER [--only CASE] [--every N]

--every N: only each N-th call fails (or more of them, where a case has few calls). Case K of CASES, which are counted from 0, begins
with call 1 + K mod N, so that cases which have the same calls let different ones fail, and each run of the test the same.

The verb never crashes, it says why it failed, and what the case calls held is held. A failure of disk or kernel may
pass: then the verb ends with its usual exit status or with 69, which systemd tries again, and its next start ends as if nothing
had failed. Without memory any exit status of sysexits(3) will do: where memory is short, Linux ends the process."""
import argparse
import hashlib
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

SECONDS_MAX = 60  # of one start
UNAVAILABLE = 69  # EX_UNAVAILABLE: a failure that may pass (core/base/error.h)
STATUSES = {0, 65, UNAVAILABLE, 77, 78, -signal.SIGABRT}  # firmware/model ends the program by abort() where it has no memory
MEMORY = {"malloc", "calloc", "realloc", "strdup", "strndup", "asprintf", "posix_memalign", "open_memstream", "fclose", "fdopen"}
SAID = re.compile(r"^\S.*: ", re.M)  # a sentence that names something
CALLS_MIN = 10  # that fail in each case, where it has as many
SHOWN = 3  # findings of a case that are printed


class Plan:
    """The file of preload/fail.c: which call fails, how many there were, and which function failed."""
    LAYOUT = "<QQ48s"

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(4096))
        self.path = path
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)

    def arm(self, at):
        self.map[:64] = struct.pack(self.LAYOUT, at, 0, b"")

    def read(self):
        _, count, failed = struct.unpack(self.LAYOUT, self.map[:64])
        return count, failed.rstrip(b"\0").decode()


class Box:
    """A node below DIR, always at the same path, made anew from a copy for each start."""

    def __init__(self, work, args):
        self.root, self.copy, self.work, self.args = f"{work}/box", f"{work}/box.before", work, args
        self.plan = Plan(f"{work}/plan")
        self.preload = f"{args.build}/system/preload/fail.so"
        self.environment = {"PATH": os.environ["PATH"], "KILN_ROOT": self.root, "HOME": work,
                            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={work}/no-bus"}

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def text(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def has(self, name):
        return os.path.exists(self.path(name))

    def files(self, below=""):
        return sorted(os.path.relpath(os.path.join(folder, name), self.root)
                      for folder, _, names in os.walk(self.path(below)) for name in names)

    def begin(self, arguments, fails_at=None):
        """Starts a program. `fails_at`: which of its calls fails, 0 for none but counting; None: without preload/fail.c."""
        environment = dict(self.environment)
        if fails_at is not None:
            self.plan.arm(fails_at)
            environment |= {"LD_PRELOAD": self.preload, "KILN_FAIL": self.plan.path}
        return subprocess.Popen([f"{self.args.bin}/{arguments[0]}", *arguments[1:]], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def run(self, arguments, fails_at=None):
        program = self.begin(arguments, fails_at)
        try:
            out, err = program.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
        return program.returncode, out, err

    def must(self, *arguments):
        rc, out, err = self.run(arguments)
        if rc != 0:
            raise SystemExit(f"{' '.join(arguments)}: {rc}: {err}")
        return out.strip()

    def tool(self, name, *arguments, **environment):
        subprocess.run([f"{self.args.build}/system/{name}", *arguments], check=True, env=self.environment | environment,
                       stdout=subprocess.DEVNULL)

    def keep(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        os.rename(self.root, self.copy)

    def renew(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.copy, self.root, symlinks=True)


# ---- What is prepared ----

def configure(box, extra=""):
    box.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    box.write("etc/kiln/kiln.conf", f"""
        run: {{ name = "t"; at = "22:00"; zone = "UTC"; epochs = 3; batch_rows = 32; }};
        source: {{ url = "file://{box.root}/store/data"; }};
        sink: {{ url = "file://{box.root}/store/runs"; }};
        power: {{ upload_wait_min = 0; }};
        ring: {{ small_pages = true; }};
        {extra}
        """)
    box.write("store/data/encoder.bin", "encoder")
    box.write("store/data/dataset.json", "{}")
    box.tool("make_shards", box.path("store/data"), "train", "1", "1", "plain", "512")  # without data that fit no run begins


def begun(box, extra=""):
    configure(box, extra)
    return box.must("kiln-oneshot", "begin")


def set_state(box, state):
    box.write("data/kiln/run/current/state", state + "\n")


def stored_checkpoint(box, run, step):
    """Puts a checkpoint of the network of kiln.conf into the store."""
    name = f"checkpoints/ckpt-{step:012d}.safetensors"
    box.tool("make_checkpoint", run, str(step), "500", box.path("etc/kiln/kiln.conf"))
    spooled = box.path(f"data/kiln/spool/traind/{run}/{name}")
    with open(spooled, "rb") as file:
        data = file.read()
    box.write(f"store/runs/{run}/{name}", data)
    box.write(f"store/runs/{run}/checkpoints/latest.json", json.dumps(
        {"version": 1, "step": step, "key": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "time": 1}))


def record(box):
    return json.loads(box.text("data/kiln/run/current/run.json"))


# ---- Cases: what is prepared, which verb, what is held after a failure, and how the second start ends ----

class Case:
    verb = ()
    usual = 0  # exit status without a failure
    statuses = {UNAVAILABLE}  # of a start that failed, beside the usual one
    calls_max = None  # at most so many of a start's calls fail, evenly spread; None = all
    once = False  # a start that did its work is not followed by a second one

    def prepare(self, box):
        raise NotImplementedError

    def start(self, box, fails_at=None):
        """Starts the verb, and returns its exit status and what it says. `fails_at`: as for Box.run."""
        rc, _, err = box.run(self.verb, fails_at)
        return rc, err

    def held(self, box):
        """Returns what is lost after a start that failed; "" = nothing."""
        return ""

    def again(self, box):
        """What a person does before the next start."""

    def end(self, box):
        """Returns what the last start leaves. It does not depend on failures of the start before."""
        raise NotImplementedError


class Configure(Case):
    """Files of the ESP: each is on the ESP or in its place, whole, at every moment."""
    verb = ("kiln-oneshot", "configure")

    def prepare(self, box):
        pki = f"{box.work}/pki"
        if not os.path.exists(pki):
            box.must("kiln", "pki", "init", pki)
            box.must("kiln", "pki", "issue", pki, "box-1")
        with open("config/examples/embedded.conf") as file:
            box.write("efi/config/kiln.conf", file.read())
        box.write("efi/config/credentials/store", "aws_access_key_id = ID\naws_secret_access_key = SECRET\n")
        box.write("efi/config/wired.network", "[Match]\nType=ether\n[Network]\nDHCP=yes\n")
        box.write("efi/config/authorized_keys", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me\n")
        for name, source in (("control-ca", "ca.crt"), ("control-crt", "box-1.crt"), ("control-key", "box-1.key"),
                             ("store-ca.pem", "ca.crt")):
            with open(f"{pki}/{source}") as file:
                box.write(f"efi/config/{name}", file.read())
        box.write("data/etc/placeholder", "")

    def contents(self, box):
        return {hashlib.sha256(box.text(name)).hexdigest() for name in box.files()}

    def prepared(self, box):
        self.files = {hashlib.sha256(box.text(name)).hexdigest(): name for name in box.files("efi/config")}

    def held(self, box):
        lost = [name for digest, name in self.files.items() if digest not in self.contents(box)]
        return f"neither on the ESP nor on the box: {lost}" if lost else ""

    def end(self, box):
        return [(name, hashlib.sha256(box.text(name)).hexdigest()) for name in box.files()]


class Begin(Case):
    """A new run: afterwards there is one, whole, here and in the store."""
    verb = ("kiln-oneshot", "begin")

    def prepare(self, box):
        configure(box)

    def end(self, box):
        run = record(box)
        stored = json.loads(box.text(f"store/runs/{run['id']}/run.json"))
        return {"state": box.text("data/kiln/run/current/state"), "stored": stored["state"], "machine": run["machine"],
                "same": stored["id"] == run["id"], "asked": box.has("data/kiln/run/next.json"), "epochs": run.get("overrides"),
                "encoder": box.text(f"data/kiln/spool/traind/{run['id']}/model/encoder.bin")}


class BeginWithValues(Begin):
    """A run that was asked for with values of its own: they count once."""

    def prepare(self, box):
        configure(box)
        box.write("data/kiln/run/next.json", '{"version": 1, "overrides": {"run.epochs": 7, "run.seed": 3}}')


class BeginAgain(Begin):
    """A run that goes on keeps its id."""

    def prepare(self, box):
        self.id = begun(box)
        set_state(box, "expired")

    def held(self, box):
        return "" if record(box)["id"] == self.id else f"the run is {record(box)['id']}, it was {self.id}"

    def end(self, box):
        return super().end(box) | {"id": record(box)["id"]}


class BeginOnNewDisk(Begin):
    """The record and the newest checkpoint come from the store."""

    def prepare(self, box):
        self.id = begun(box)
        stored_checkpoint(box, self.id, 3)
        stored_checkpoint(box, self.id, 7)
        shutil.rmtree(box.path("data"))

    def end(self, box):
        spool = f"data/kiln/spool/traind/{self.id}/checkpoints"
        return super().end(box) | {"id": record(box)["id"], "checkpoints": [n for n in box.files(spool) if n.endswith(".safetensors")]}


class BeginLatest(Begin):
    """A run that starts with the weights of the run before."""

    def prepare(self, box):
        self.id = begun(box)
        stored_checkpoint(box, self.id, 7)
        set_state(box, "finished")
        shutil.rmtree(box.path("data/kiln/spool"))
        configure(box)
        text = box.text("etc/kiln/kiln.conf").decode().replace('name = "t";', 'name = "t"; start_from = "latest";')
        box.write("etc/kiln/kiln.conf", text)

    def end(self, box):
        return super().end(box) | {"from": record(box)["start_run"], "start": box.has("data/kiln/run/current/start.safetensors")}


class Finished(Case):
    """A run that ended is in the archive afterwards, or still where it was."""
    verb = ("kiln-oneshot", "finished")

    def prepare(self, box):
        self.id = begun(box)
        set_state(box, "finished")
        box.write("data/kiln/run/current/finished", "")
        box.write(f"data/kiln/spool/traind/{self.id}/checkpoints/ckpt-000000000010.safetensors", "12345")

    def held(self, box):
        places = [n for n in (f"data/kiln/run/archive/{self.id}/run.json", "data/kiln/run/current/run.json") if box.has(n)]
        return "" if places else "the record is gone"

    def end(self, box):
        return [box.has(f"data/kiln/run/archive/{self.id}/run.json"), box.text(f"data/kiln/run/archive/{self.id}/state")]


class Report(Case):
    """The report of a night reaches the store; until then something is left to do."""
    verb = ("kiln-oneshot", "report")

    def prepare(self, box):
        self.id = begun(box)
        set_state(box, "failed")
        box.must("kiln-oneshot", "finished")

    def end(self, box):
        report = json.loads(box.text(f"store/runs/{self.id}/report.json"))
        return [report["outcome"], report["run"]["id"], [n for n in box.files("data/kiln/run/reports") if not n.endswith((".json", ".txt", ".html"))]]


class ClockServers(Case):
    verb = ("kiln-oneshot", "clock-servers")

    def prepare(self, box):
        configure(box, 'clock: { ntp_servers = "ntp-1.lan 192.0.2.7"; };')

    def end(self, box):
        return box.text("run/systemd/timesyncd.conf.d/50-kiln.conf")


class KeepConfig(Case):
    """The last good file is whole at every moment."""
    verb = ("kiln-oneshot", "keep-config")

    def prepare(self, box):
        configure(box)
        box.must(*self.verb)
        configure(box, "order: { window_shards = 3; };")

    def held(self, box):
        return "" if b"run:" in box.text("etc/kiln/kiln.conf.good") else "no whole kiln.conf.good"

    def end(self, box):
        return box.text("etc/kiln/kiln.conf.good") == box.text("etc/kiln/kiln.conf")


class BootPages(Case):
    verb = ("kiln-oneshot", "boot-pages")

    def prepare(self, box):
        configure(box)
        text = box.text("etc/kiln/kiln.conf").decode().replace("small_pages = true;", 'pages = "1GiB";')
        box.write("etc/kiln/kiln.conf", text)
        box.write("efi/kiln/pages.env", "")

    def end(self, box):
        return box.text("efi/kiln/pages.env")


class CheckStore(Case):
    verb = ("kiln-oneshot", "check-store")

    def prepare(self, box):
        configure(box)
        box.write("store/runs/x", "x")

    def end(self, box):
        return box.files("store")


class Repeat(Begin):
    """A repeat of a run makes a run of its own; the run before it stays. While the repeat runs, no second one begins."""
    once = True

    def prepare(self, box):
        self.id = begun(box)
        self.verb = ("kiln-oneshot", "begin", "--from", box.path("run.json"))
        set_state(box, "finished")
        box.write(f"store/runs/{self.id}/plan", "plan")
        box.write(f"store/runs/{self.id}/model/encoder.bin", "encoder")
        run = record(box) | {"plan_sha256": hashlib.sha256(b"plan").hexdigest(), "state": "finished"}
        box.write("run.json", json.dumps(run))

    def held(self, box):
        kept = box.has(f"data/kiln/run/archive/{self.id}/run.json") or record(box)["id"] == self.id
        return "" if kept else "the run before is gone"

    def again(self, box):
        """A failure after the record is complete leaves the repeat as a run in progress; kiln abandon makes it failed."""
        for folder in ("data/kiln/run/current", "data/kiln/run/next"):
            if box.has(f"{folder}/state") and json.loads(box.text(f"{folder}/run.json"))["id"] != self.id:
                box.write(f"{folder}/state", "failed\n")

    def end(self, box):
        run = record(box)
        return super().end(box) | {"repeats": run["repeats"], "plan": box.text(f"store/runs/{run['id']}/plan")}


class RunFailed(Case):
    """Without systemd nothing tells which service ended; the run rests all the same."""
    verb = ("kiln-oneshot", "run-failed")

    def prepare(self, box):
        self.id = begun(box)

    def end(self, box):
        return [box.text("data/kiln/run/current/state"), record(box)["id"], "which service ended" in record(box)["reason"]]


class Interrupts(Case):
    """The run goes on whether or not interrupts can be moved; a note says what was found."""
    verb = ("kiln-oneshot", "interrupts")

    def prepare(self, box):
        begun(box, 'fetch: { nic = "eth0"; };')
        box.write("sys/class/net/eth0/device/local_cpulist", "0\n")
        for number in range(30, 32):
            box.write(f"sys/class/net/eth0/device/msi_irqs/{number}", "msix\n")
            box.write(f"proc/irq/{number}/smp_affinity_list", "0-1\n")
        for queue in ("rx-0/rps_cpus", "rx-1/rps_cpus", "tx-0/xps_cpus", "tx-1/xps_cpus"):
            box.write(f"sys/class/net/eth0/queues/{queue}", "0\n")

    def end(self, box):
        return [n for n in box.files("run") if not n.endswith(".tmp")]


class UpdateFetch(Case):
    """A bundle is there whole, or not at all."""
    verb = ("kiln-oneshot", "update-fetch")

    def prepare(self, box):
        configure(box)
        box.write("media/x.raucb", "bundle" * 1000)
        box.write("data/kiln/update/placeholder", "")
        box.write("run/kiln/update/note.json", json.dumps({"state": "asked", "url": f"file://{box.root}/media/x.raucb", "text": "", "started_s": 1, "bytes": 0,
                                                    "bytes_done": 0}))

    def held(self, box):
        path = "data/kiln/update/bundle.raucb"
        whole = not box.has(path) or box.text(path) == b"bundle" * 1000
        return "" if whole else "a part of the bundle has the name of the whole"

    def end(self, box):
        return box.text("data/kiln/update/bundle.raucb") == b"bundle" * 1000


class Drain(Case):
    """A file of the spool stays there until the store has it, and the uploader tries again."""
    verb = ("kiln-uploadd", "--drain")

    def prepare(self, box):
        self.id = begun(box)
        stored_checkpoint(box, self.id, 3)
        shutil.rmtree(box.path(f"store/runs/{self.id}/checkpoints"))
        box.write(self.spool("logs/train/events.out.tfevents.1.x.v2"), "curve" * 100)
        box.write(self.spool("model/model.safetensors"), "weights" * 100)
        set_state(box, "finished")
        box.write("data/kiln/run/current/finished", "")

    def spool(self, name=""):
        return f"data/kiln/spool/traind/{self.id}/{name}"

    def prepared(self, box):
        self.files = {hashlib.sha256(box.text(name)).hexdigest(): name for name in box.files(self.spool())}

    def held(self, box):
        kept = {hashlib.sha256(box.text(name)).hexdigest() for below in (self.spool(), "store") for name in box.files(below)}
        lost = [name for digest, name in self.files.items() if digest not in kept]
        return f"neither in the spool nor in the store: {lost}" if lost else ""

    def end(self, box):
        return [box.files(f"store/runs/{self.id}"), json.loads(box.text(f"store/runs/{self.id}/run.json"))["state"], box.files(self.spool())]


class Controld(Case):
    """The daemon answers a client, perhaps with an error, and the next client too; kiln.conf is whole at every moment. Its calls
    depend a little on the clock, and most of them are those of a parser that other cases hold as well."""
    verb = ("kiln-controld",)
    calls_max = 1000

    def prepare(self, box):
        configure(box)
        self.old = box.text("etc/kiln/kiln.conf")
        self.new = self.old.replace(b"epochs = 3", b"epochs = 5")
        self.requests = [("config.check", {"text": self.new.decode()}), ("config.apply", {"text": self.new.decode()}), ("status", {})]

    def dial(self, box):
        """Connects to the daemon; None where it ends or listens no more."""
        until = time.monotonic() + SECONDS_MAX
        while self.daemon.poll() is None and time.monotonic() < until:
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(SECONDS_MAX)
            try:
                client.connect(box.path("run/kiln/control.sock"))
                return client
            except OSError:
                client.close()
                time.sleep(0.005)
        return None

    def ask(self, box, method, params):
        """Returns the answer's object; None where the daemon ends or drops the connection."""
        client = self.dial(box)
        if client is None:
            return None
        with client:
            try:
                client.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
                return json.loads(client.makefile().readline() or "null")
            except OSError:
                return None

    def start(self, box, fails_at=None):
        self.daemon = box.begin(self.verb, fails_at)
        answers = [self.ask(box, *request) for request in self.requests]
        self.answers = ["result" in answer if answer else None for answer in answers]
        self.last = [self.ask(box, "config.check", {}) for _ in range(2)]
        self.daemon.terminate()
        try:
            _, err = self.daemon.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            raise
        return self.daemon.returncode, err

    def held(self, box):
        if box.text("etc/kiln/kiln.conf") not in (self.old, self.new):
            return "kiln.conf is neither the old nor the new one"
        if self.daemon.returncode == 0 and not any(answer and "result" in answer for answer in self.last):
            return f"the daemon goes on, and does not answer: {self.last}"
        return ""

    def end(self, box):
        # config.apply is refused: the new file is in place, but nobody answers who reloads the units.
        return [self.answers, box.text("etc/kiln/kiln.conf") == self.new]


class PkiIssue(Case):
    """A certificate comes with its key, and nothing that was there is overwritten."""
    statuses = {0, 1}

    def prepare(self, box):
        folder = box.path("rack")
        box.must("kiln", "pki", "init", folder)
        self.verb = ("kiln", "pki", "issue", folder, "box-1")
        self.authority = box.text("rack/ca.crt") + box.text("rack/ca.key")

    def held(self, box):
        if box.text("rack/ca.crt") + box.text("rack/ca.key") != self.authority:
            return "the authority changed"
        return "a certificate without its key" if box.has("rack/box-1.crt") and not box.has("rack/box-1.key") else ""

    def again(self, box):
        for name in ("rack/box-1.key", "rack/box-1.crt"):  # which a failure may leave: pki.h
            if box.has(name):
                os.unlink(box.path(name))

    def end(self, box):
        return box.files("rack")


class PkiRevoke(Case):
    """Who was revoked stays revoked."""
    statuses = {0, 1}

    def prepare(self, box):
        folder = box.path("rack")
        box.must("kiln", "pki", "init", folder)
        for name in ("one", "two"):
            box.must("kiln", "pki", "issue", folder, name, "--role", "view")
        box.must("kiln", "pki", "revoke", folder, "one")
        self.verb = ("kiln", "pki", "revoke", folder, "two")

    def held(self, box):
        return "" if b"# one\n" in box.text("rack/revoked") else "the first is not revoked any more"

    def end(self, box):
        return box.text("rack/revoked")


# ---- Running them ----

def differs(case, box, before, rc):
    """Starts the verb without a failure, and compares how it ends with `before`. `rc`: exit status of the start before."""
    if not case.once or rc != before[0]:
        case.again(box)
        rc, err = case.start(box)
    if rc != before[0]:
        return f"the next start ends with {rc}, expected {before[0]}: {err[-300:]}"
    try:
        end = case.end(box)
    except (OSError, ValueError, KeyError) as error:
        return f"the next start leaves no such end: {error!r}"
    return "" if end == before[1] else f"the next start leaves {end}, expected {before[1]}"


def finding(case, box, at, before):
    """Lets call number `at` fail; returns what is wrong then, or None where there is no such call any more."""
    box.renew()
    rc, err = case.start(box, at)
    _, failed = box.plan.read()
    if not failed:
        return None
    if rc not in {before[0]} | case.statuses | (STATUSES if failed in MEMORY else set()):
        return f"{failed}: exit status {rc}: {err[-300:]}"
    if rc not in (before[0], -signal.SIGABRT) and not SAID.search(err):
        return f"{failed}: exit status {rc} without a sentence: {err[-300:]!r}"
    wrong = case.held(box)
    if not wrong and failed not in MEMORY:
        wrong = differs(case, box, before, rc)
    return f"{failed}: {wrong}" if wrong else ""


def run_case(case, box, every, first):
    shutil.rmtree(box.root, ignore_errors=True)
    case.prepare(box)
    if hasattr(case, "prepared"):
        case.prepared(box)
    box.keep()
    box.renew()
    rc, err = case.start(box, 0)
    calls, _ = box.plan.read()
    if rc != case.usual or not calls:
        return calls, [f"without a failure: exit status {rc}, expected {case.usual}; {calls} calls: {err[-300:]}"]
    before = (rc, case.end(box))
    findings = []
    step = max(1, min(every, calls // CALLS_MIN), calls // (case.calls_max or calls))
    for at in range(1 + first % step, calls + 1, step):
        wrong = finding(case, box, at, before)
        if wrong is None:
            break
        if wrong:
            findings.append(f"call {at}, {wrong}")
    return calls, findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--only")
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    box = Box(args.dir, args)
    for number, kind in enumerate(CASES):
        if args.only and kind.__name__ != args.only:
            continue
        case = kind()
        calls, findings = run_case(case, box, args.every, number)
        name = f"{kind.__name__}: {' '.join(case.verb)}: calls of the C library fail".replace(args.dir, "DIR")
        print(f"{'not ok' if findings else 'ok'} {name}\n# {calls} calls", flush=True)
        for text in findings[:SHOWN]:
            print("# " + text.replace("\n", "\n#   "), flush=True)
        if len(findings) > SHOWN:
            print(f"# and {len(findings) - SHOWN} more", flush=True)


CASES = [Configure, Begin, BeginWithValues, BeginAgain, BeginOnNewDisk, BeginLatest, Repeat, Finished, RunFailed, Report, ClockServers,
         KeepConfig, BootPages, Interrupts, CheckStore, UpdateFetch, Drain, Controld, PkiIssue, PkiRevoke]
if __name__ == "__main__":
    main()
