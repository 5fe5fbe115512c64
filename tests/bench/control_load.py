# SPDX-License-Identifier: Apache-2.0
"""Measures one client that asks for status while other clients misbehave: control_load.py SOCKET PID [SECONDS].

500 idle connections stay open all the time. Beside them, as fast as the daemon lets them: lines of 1 MiB, lines of bad
UTF-8, 100000 brackets, half-closed sockets, 64 clients that send a byte every 100 ms, and 256 that hold back the end of a
line of 250 KiB. The good client measures whole calls, connection included.
Prints the median of its calls in ms, and the daemon's peak resident memory in MiB.
"""
import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time

path, pid = sys.argv[1], sys.argv[2]
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n'


def dial():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)  # waits for its turn
    s.settimeout(30)
    return s


def drain(s):
    while s.recv(1 << 16):
        pass


def attack(data, half=False):
    while True:
        try:
            with dial() as s:
                s.sendall(data)
                if half:
                    s.shutdown(socket.SHUT_WR)
                drain(s)
        except OSError:
            pass


def line(data):  # one connection, many bad lines
    while True:
        try:
            with dial() as s:
                while True:
                    s.sendall(data)
                    s.recv(1 << 16)
        except OSError:
            pass


def loris(count):
    held = []
    while True:
        held = held + [(dial(), iter(STATUS * 100)) for _ in range(count - len(held))]
        alive = []
        for s, data in held:
            try:
                s.send(bytes([next(data)]) if len(alive) % 2 else b" ")
                alive.append((s, data))
            except OSError:
                s.close()
        held = alive
        time.sleep(0.1)


def hold(count):
    held = []
    while True:
        try:
            s = dial()
            s.sendall(b" " * (250 << 10))
            held.append(s)
        except OSError:
            pass
        if len(held) == count:
            held.pop(0).close()


def hostile():
    attacks = [
        (attack, (b" " * (1 << 20),)),
        (line, (b'{"jsonrpc":"2.0","id":"\xff\xc0\xaf","method":"status"}\n',)),
        (line, (b'{"jsonrpc":"2.0","id":' + b"[" * 100000 + b"]" * 100000 + b"}\n",)),
        (attack, (STATUS * 3, True)),
        (attack, (STATUS[:20], True)),
        (loris, (64,)),
        (hold, (256,)),
    ]
    threads = [threading.Thread(target=f, args=a, daemon=True) for f, a in attacks]
    for thread in threads:
        thread.start()
    time.sleep(3600)


idle = [dial() for _ in range(500)]
attacker = multiprocessing.Process(target=hostile, daemon=True)
attacker.start()
time.sleep(1)
took, until = [], time.monotonic() + seconds
while time.monotonic() < until:
    began = time.monotonic()
    with dial() as s:
        s.sendall(STATUS)
        data = b""
        while not data.endswith(b"\n"):
            data += s.recv(1 << 16)
    took.append((time.monotonic() - began) * 1000)
    assert json.loads(data)["result"]["schema"] == 1
    time.sleep(0.02)
attacker.kill()
for s in idle:  # the daemon has closed none of the idle connections
    s.sendall(STATUS)
    assert s.recv(1 << 16)
with open(f"/proc/{pid}/status") as status:
    peak = next(int(l.split()[1]) for l in status if l.startswith("VmHWM")) / 1024
median = statistics.median(took)
print(json.dumps({"name": "control-load", "case": "status, median", "value": round(median, 3), "unit": "ms"}))
worst = statistics.quantiles(took, n=100)[98]
print(json.dumps({"name": "control-load", "case": "status, 99 %", "value": round(worst, 3), "unit": "ms"}))
print(json.dumps({"name": "control-load", "case": "controld, greatest resident memory", "value": round(peak, 1), "unit": "MiB"}))
sys.exit(0 if median < 50 and peak < 32 else 1)
