# SPDX-License-Identifier: Apache-2.0
"""tracking.py WORK SERVER: what a step of training costs with tracking.url and without, in turn. Prints JSON lines.

The trainer has no code that knows of tracking, and never waits for it: what tracking costs is the CPU time of one thread of
kiln-uploadd, which runs in both cases. `a step with the tracking thread` takes that time as a part of the step, as if no core were
free for it: (CPU time of the trainer and the uploader without tracking.url, and what the thread needs more with it) / (the former).
It holds on a busy machine, because the thread's own time is counted, and not the difference of two large ones. The other lines
compare whole nights: `value` without, `peer_value` with; ratio > 1 means that tracking costs time.
KILN_BENCH_ROUNDS: pairs of nights (5)."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

work, server = sys.argv[1:]
BIN = os.environ["KILN_BIN"]
CONFIG = """
run: {{ name = "tracked"; epochs = 40; batch_rows = 128; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/runs"; }};
ring: {{ small_pages = true; }};
split: {{ test_glob = ""; validation_percent = 5; }};
tracking: {{ url = "{url}"; }};
"""


def ended(process):
    """Waits for a process; returns its CPU seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


class Threads(threading.Thread):
    """Looks every 5 ms at the CPU time of a process' threads but the first: what it misses is less than its last look was ago."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.ns = pid, {}
        self.start()

    def run(self):
        while True:
            tasks = [task for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*") if task.name != str(self.pid)]
            for task in tasks:
                try:
                    self.ns[task.name] = int((task / "schedstat").read_text().split()[0])
                except (OSError, IndexError):
                    pass
            if not tasks and self.ns:
                return
            time.sleep(0.005)

    def seconds(self):
        self.join()
        return sum(self.ns.values()) / 1e9


def night(url):
    """Seconds of training, CPU seconds of trainer and uploader, of the trainer, and of the tracking thread, each per step; steps."""
    node = f"{work}/node"
    environment = {**os.environ, "KILN_ROOT": node}
    os.makedirs(node, exist_ok=True)
    with open(f"{work}/kiln.conf", "w") as file:
        file.write(CONFIG.format(work=work, url=url))
    log = open(f"{work}/log", "a")
    start = lambda *command: subprocess.Popen([f"{BIN}/kiln-{command[0]}", *command[1:]], env=environment, stderr=log, stdout=log)
    ended(start("oneshot", "begin", "--config", f"{work}/kiln.conf"))
    fetchd, uploadd, traind = start("fetchd"), start("uploadd", "--drain"), start("traind")
    threads = Threads(uploadd.pid)
    cpu = ended(traind)
    assert traind.returncode == 0, open(f"{work}/log").read()[-2000:]
    uploader = ended(uploadd)
    fetchd.kill()
    fetchd.wait()
    record = json.load(open(f"{node}/data/kiln/run/current/run.json"))
    steps = record["epochs"][-1]["step"]
    return record["time"]["training_s"] / steps, (cpu + uploader) / steps, cpu / steps, threads.seconds() / steps, steps


rounds = int(os.environ.get("KILN_BENCH_ROUNDS", 5))
night("")  # compiles the kernels
pairs = []
for i in range(rounds):  # which night is the first of a pair alternates
    nights = {url: night(url) for url in (("", server) if i % 2 == 0 else (server, ""))}
    pairs.append((nights[""], nights[server]))

def line(case, off, on, ratio, **more):
    print(json.dumps({"name": "experiments-tracking", "case": case, "value": float(f"{off * 1e3:.4g}"), "unit": "ms",
                      "peer": "with tracking.url", "peer_value": float(f"{on * 1e3:.4g}"), "ratio": round(ratio, 4), "bar": 1.01,
                      "steps": pairs[0][0][4], **more}))


alone = statistics.median(off[1] for off, _ in pairs)
adds = [on[3] - off[3] for off, on in pairs]
line("a step with the tracking thread, CPU time", alone, alone + statistics.median(adds), 1 + statistics.median(adds) / alone,
     added_us=[float(f"{added * 1e6:.3g}") for added in adds])
for case, index in ("a step of training, wall", 0), ("CPU time of trainer and uploader, a step", 1), ("CPU time of the trainer, a step", 2):
    off, on = (statistics.median(pair[i][index] for pair in pairs) for i in (0, 1))
    line(case, off, on, statistics.median(pair[1][index] / pair[0][index] for pair in pairs),
         rounds=[[float(f"{p[i][index] * 1e3:.4g}") for i in (0, 1)] for p in pairs])
