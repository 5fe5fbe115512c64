# SPDX-License-Identifier: Apache-2.0
"""The control protocol by hand, as no well-behaved client speaks it: control_raw.py SOCKET CASE [ARGUMENT]."""
import json
import os
import socket
import sys
import time

path, case = sys.argv[1:3]
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n'


def dial():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(path)
    return s


def lines(s, count):
    found, data = [], b""
    while len(found) < count:
        try:
            more = s.recv(1 << 16)
        except ConnectionError:
            more = b""
        if not more:
            break
        data += more
        *whole, data = data.split(b"\n")
        found += whole
    return found


def words(answer):
    answer = json.loads(answer)
    return answer["error"]["data"]["name"] if "error" in answer else "result"


def send(s, data):
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


def one(data, count=1):
    s = dial()
    send(s, data)
    return " ".join(words(a) for a in lines(s, count))


def cases():
    if case == "pipelined":
        return one(STATUS * 50, 50)
    if case == "split":
        s = dial()
        for i in range(len(STATUS)):
            s.sendall(STATUS[i : i + 1])
        return words(lines(s, 1)[0])
    if case == "half-closed":
        s = dial()
        s.sendall(STATUS + STATUS)
        s.shutdown(socket.SHUT_WR)
        answers = lines(s, 3)
        return f"{len(answers)} answers, then the end"
    if case == "half-closed-cut":
        s = dial()
        s.sendall(STATUS[:20])
        s.shutdown(socket.SHUT_WR)
        return f"{len(lines(s, 1))} answers, then the end"
    if case == "1mib":
        s = dial()
        send(s, b" " * (1 << 20) + STATUS)
        return " ".join(words(a) for a in lines(s, 2)) + ", then the end"
    if case == "utf8":
        return one(b'{"jsonrpc":"2.0","id":"\xff","method":"status"}\n' + STATUS, 2)
    if case == "deep":
        return one(b'{"jsonrpc":"2.0","id":' + b"[" * 100000 + b"]" * 100000 + b"}\n" + STATUS, 2)
    if case == "loris":
        s, began = dial(), time.monotonic()
        try:
            for byte in STATUS[:-1]:
                s.sendall(bytes([byte]))
                time.sleep(0.5)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answers = lines(s, 2)
        return f"{' '.join(words(a) for a in answers)} after {'10-20' if 9 < time.monotonic() - began < 20 else 'other'} s"
    if case == "keys":
        s = dial()
        found = []
        for key in (b"a", b"a", b"b"):
            s.sendall(
                b'{"jsonrpc":"2.0","id":1,"method":"checkpoint.now","params":{"idempotency_key":"%s"}}\n' % key
            )
            found.append(str(json.loads(lines(s, 1)[0])["result"]["checkpoint_seq"]))
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"run.pause","params":{"idempotency_key":"a"}}\n')
        return " ".join(found) + " " + words(lines(s, 1)[0])
    if case == "as":  # another user: uid, gid, groups
        uid, gid, *groups = (int(n) for n in sys.argv[3].split(","))
        os.setgroups(groups)
        os.setgid(gid)
        os.setuid(uid)
        s, found = dial(), []
        calls = ((b"status", b"{}"), (b"checkpoint.now", b"{}"), (b"config.apply", b'{"text":"x"}'))
        for method, params in calls:
            send(s, b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' % (method, params))
            found += [words(a) for a in lines(s, 1)]
        return " ".join(found)
    if case == "subscribe":  # until N events came: N [CURSOR]
        s = dial()
        params = {"since": sys.argv[4]} if len(sys.argv) > 4 else {}
        request = {"jsonrpc": "2.0", "id": 1, "method": "events.subscribe", "params": params}
        s.sendall(json.dumps(request).encode() + b"\n")
        first, data = None, b""
        for line in s.makefile("rb"):
            answer = json.loads(line)
            if first is None:
                first = answer
                print("subscribed", json.dumps(first.get("result", first.get("error"))), flush=True)
                left = int(sys.argv[3])
            else:
                event = answer["params"]
                print(event["message"], event["fields"].get("STEP"), event["cursor"], flush=True)
                left -= 1
            if left == 0:
                return "done"
        return "closed"
    raise SystemExit(f"no case {case}")


print(cases())
