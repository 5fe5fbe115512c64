# SPDX-License-Identifier: Apache-2.0
"""tracking.py WORK SERVER: time and CPU time of a step of training with tracking.url and without, in turn. Prints JSON lines:
`value` without, `peer_value` with; ratio > 1 means that tracking costs time. KILN_BENCH_ROUNDS: pairs of nights (5)."""
import json
import os
import statistics
import subprocess
import sys

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


def night(url):
    """Seconds of training, CPU seconds of trainer and uploader, and of the uploader alone, each per step; steps."""
    node = f"{work}/node"
    environment = {**os.environ, "KILN_ROOT": node}
    os.makedirs(node, exist_ok=True)
    with open(f"{work}/kiln.conf", "w") as file:
        file.write(CONFIG.format(work=work, url=url))
    log = open(f"{work}/log", "a")
    start = lambda *command: subprocess.Popen([f"{BIN}/kiln-{command[0]}", *command[1:]], env=environment, stderr=log, stdout=log)
    ended(start("oneshot", "begin", "--config", f"{work}/kiln.conf"))
    fetchd, uploadd, traind = start("fetchd"), start("uploadd", "--drain"), start("traind")
    cpu = ended(traind)
    assert traind.returncode == 0, open(f"{work}/log").read()[-2000:]
    uploader = ended(uploadd)
    fetchd.kill()
    fetchd.wait()
    record = json.load(open(f"{node}/data/kiln/run/current/run.json"))
    steps = record["epochs"][-1]["step"]
    return record["time"]["training_s"] / steps, (cpu + uploader) / steps, uploader / steps, steps


rounds = int(os.environ.get("KILN_BENCH_ROUNDS", 5))
night("")  # compiles the kernels
pairs = []
for i in range(rounds):  # which night is the first of a pair alternates
    nights = {url: night(url) for url in (("", server) if i % 2 == 0 else (server, ""))}
    pairs.append((nights[""], nights[server]))
both = statistics.median(p[0][1] for p in pairs)
print(json.dumps({"name": "experiments-tracking", "case": "CPU time that tracking adds to the uploader, share of all", "unit": "",
                  "value": round(1 + statistics.median(p[1][2] - p[0][2] for p in pairs) / both, 4), "bar": 1.01}))
for case, index in ("a step of training", 0), ("CPU time of trainer and uploader, a step", 1):
    off, on = (statistics.median(pair[i][index] for pair in pairs) for i in (0, 1))
    ratio = statistics.median(pair[1][index] / pair[0][index] for pair in pairs)
    print(json.dumps({"name": "experiments-tracking", "case": case, "value": float(f"{off * 1e3:.4g}"), "unit": "ms",
                      "peer": "with tracking.url", "peer_value": float(f"{on * 1e3:.4g}"), "ratio": round(ratio, 4),
                      "bar": 1.01, "steps": pairs[0][0][3], "rounds": [[float(f"{p[i][index] * 1e3:.4g}") for i in (0, 1)] for p in pairs]}))
