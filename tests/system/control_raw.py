# SPDX-License-Identifier: Apache-2.0
"""Speaks the control protocol by hand, as no well-behaved client does: control_raw.py SOCKET CASE [ARGUMENT].

SOCKET may be ADDRESS:PORT instead; then it is TLS with the certificate in KILN_PKI."""
import fcntl
import json
import os
import select
import signal
import socket
import ssl
import sys
import termios
import time

path, case = sys.argv[1:3]
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n'
dialled = []


def dial():
    if ":" not in path:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(path)
        return s
    address, port = path.rsplit(":", 1)
    pki = os.environ["KILN_PKI"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(f"{pki}/ca.crt")
    context.load_cert_chain(f"{pki}/client.crt", f"{pki}/client.key")
    dialled.append(1)  # an address has a limit of connections
    source = f"127.0.0.{1 + len(dialled) // 16}"
    s = socket.create_connection((address, int(port)), timeout=30, source_address=(source, 0))
    return context.wrap_socket(s, server_hostname="box-1")


def ask(s, method, **params):
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    return lines(s, 1)[0]


def lines(s, count):
    found, data = [], b""
    while len(found) < count:
        try:
            more = s.recv(1 << 16)
        except (ConnectionError, ssl.SSLEOFError):
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
    except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        pass


def one(data, count=1):
    s = dial()
    send(s, data)
    return " ".join(words(a) for a in lines(s, count))


def one_of(s, data):
    """The answer to a request, or that there is none."""
    send(s, data)
    answers = lines(s, 1)
    return words(answers[0]) if answers else "gone"


def status_of(s):
    return one_of(s, STATUS)


def become(uid, gid, *groups):
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def dial_as(count, uid, gid, *groups):
    """Connections of another user, which a process of that user makes."""
    mine, others = socket.socketpair()
    if os.fork() == 0:
        become(uid, gid, *groups)
        held = [dial() for _ in range(count)]
        socket.send_fds(others, [b"s"], [s.fileno() for s in held])
        os._exit(0)
    sockets = [socket.socket(fileno=fd) for fd in socket.recv_fds(mine, 1, count)[1]]
    os.wait()
    for s in sockets:
        s.settimeout(30)
    return sockets


def cases():
    if case == "pipelined":
        return one(STATUS * 500, 500)  # over TLS in two records; one of the requests is split between them
    if case == "turns":  # PID: the daemon finds 300 requests of a client and one of another; their answers bear numbers
        greedy, other, pid = dial(), dial(), int(sys.argv[3])
        request = b'{"jsonrpc":"2.0","id":1,"method":"checkpoint.now"}\n'
        first = json.loads(ask(greedy, "checkpoint.now"))["result"]["checkpoint_seq"]
        ask(other, "status")
        os.kill(pid, signal.SIGSTOP)
        greedy.sendall(request * 300)
        other.sendall(request)
        os.kill(pid, signal.SIGCONT)
        waited = json.loads(lines(other, 1)[0])["result"]["checkpoint_seq"] - first
        return f"{len(lines(greedy, 300))} answers, and the other waited for {'few' if waited < 150 else 'most'}"
    if case == "notifications":  # requests without an id: they are carried out, and nothing answers them
        s = dial()
        before = json.loads(ask(s, "checkpoint.now"))["result"]["checkpoint_seq"]
        send(s, b'{"jsonrpc":"2.0","method":"checkpoint.now"}\n{"jsonrpc":"2.0","method":"no.such"}\n')
        after = json.loads(ask(s, "checkpoint.now"))
        return f"{after['result']['checkpoint_seq'] - before - 1} done, answer {after['id']} is the next"
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
    if case == "keys-many":  # more than the daemon remembers
        s = dial()
        first = json.loads(ask(s, "checkpoint.now", idempotency_key="k0"))["result"]["checkpoint_seq"]
        for i in range(1, 200):
            ask(s, "checkpoint.now", idempotency_key=f"k{i}")
        again = [json.loads(ask(s, "checkpoint.now", idempotency_key=k))["result"]["checkpoint_seq"] for k in ("k199", "k0")]
        return " ".join(str(seq - first) for seq in again)
    if case == "keys-at-work":  # kiln-steer holds its answer back as long as this file says "wait"
        answers, words_said = sys.argv[3:5]

        def said():
            with open(words_said) as file:
                return file.read().count("run.start")

        def start():
            s = dial()
            send(s, b'{"jsonrpc":"2.0","id":1,"method":"run.start","params":{"idempotency_key":"at-work"}}\n')
            return s

        before = said()
        first = start()
        while said() == before:
            time.sleep(0.05)
        found = [words(lines(start(), 1)[0])]
        first.close()
        while True:  # until the daemon has noticed that the first client left
            third = start()
            if not select.select([third], [], [], 1)[0]:
                break
            assert words(lines(third, 1)[0]) == "state"
        with open(answers + ".new", "w") as file:
            file.write("ok\n")
        os.rename(answers + ".new", answers)  # by rename: the other side reads it whole
        found.append(words(lines(third, 1)[0]))
        found.append(words(lines(start(), 1)[0]))
        return " ".join(found) + f", said {said() - before} times"
    if case == "idle":  # N connections stay silent while one sends a request; afterwards they send one, too
        idle = [dial() for _ in range(int(sys.argv[3]))]
        found = [status_of(s) for s in [dial()] + idle]
        return f"{found.count('result')} results"
    if case == "hold":  # N unfinished lines; prints how many of their senders the daemon disconnects
        held = []
        for _ in range(int(sys.argv[3])):
            held.append(dial())
            send(held[-1], b" " * (250 << 10))
        found = words(ask(dial(), "status"))
        gone = select.poll()
        for s in held:
            gone.register(s, select.POLLRDHUP)
        return f"{found}, dropped {'some' if 0 < len(gone.poll(0)) < len(held) else 'none or all'}"
    if case == "slow":  # sends requests, and reads no answer
        s, gone = dial(), select.poll()
        s.settimeout(1)
        began = time.monotonic()
        try:
            for _ in range(200):
                s.sendall(STATUS * 100)
        except OSError:
            pass
        gone.register(s, select.POLLRDHUP)
        dropped = bool(gone.poll(60000))
        return f"{'dropped' if dropped else 'kept'} after {'20-60' if time.monotonic() - began > 19 else 'other'} s"
    if case in ("many", "subscribers"):  # N connections of another user
        become(*(int(n) for n in sys.argv[3].split(",")))
        held = [dial() for _ in range(int(sys.argv[4]))]
        subscribe = b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}\n'
        found = [status_of(s) if case == "many" else one_of(s, subscribe) for s in held]
        count = found.count("result")
        rest = sorted(set(found[count:]))
        return f"{count} results" + (f", then {' '.join(rest)}" if rest else "")
    if case == "crowd":  # guests of the one group take all connections, then a member of the other comes: GROUP GROUP
        guests, gone = [dial_as(64, 65000 + i, 65000, int(sys.argv[3])) for i in range(12)], select.poll()
        for s in sum(guests, []):
            gone.register(s, select.POLLRDHUP)
        found = status_of(dial_as(1, 64999, 64999, int(sys.argv[4]))[0])
        return f"{found} for the admin, and {'a guest is' if len(gone.poll(0)) == 1 else 'not one guest is'} dropped"
    if case == "as":  # another user: uid, gid, groups
        become(*(int(n) for n in sys.argv[3].split(",")))
        s, found = dial(), []
        calls = (
            (b"status", b"{}"),
            (b"checkpoint.now", b"{}"),
            (b"config.apply", b'{"text":"x"}'),
            (b"update.install", b'{"url":"s3://b/k"}'),
            (b"factory.reset", b"{}"),
            (b"power.off", b"{}"),
        )
        for method, params in calls:
            send(s, b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' % (method, params))
            found += [words(a) for a in lines(s, 1)]
        return " ".join(found)
    if case == "subscribe":  # until N events have come: N [CURSOR]
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
                if answer["method"] == "events.lost":
                    print("lost", event["cursor"], flush=True)
                    continue
                print(event["message"], event.get("fields", {}).get("KILN_STEP"), event["cursor"], flush=True)
                left -= 1
            if left == 0:
                return "done"
        return "closed"
    if case == "stalled":  # goes on reading once standard input ends, until the event "the last"
        s, count, lost = dial(), 0, 0
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}\n')
        print("subscribed", words(lines(s, 1)[0]), flush=True)
        waiting = 0
        while waiting < 100000:
            time.sleep(0.05)
            waiting = int.from_bytes(fcntl.ioctl(s, termios.FIONREAD, bytes(4)), sys.byteorder)
        print("full", flush=True)
        sys.stdin.read()
        for line in s.makefile("rb"):
            answer = json.loads(line)
            if answer["method"] == "events.lost":
                lost += 1
            elif answer["params"]["message"] == "the last":
                return f"{lost} lost, {'some' if 0 < count < int(sys.argv[3]) else count} came"
            else:
                count += 1
        return "closed"
    raise SystemExit(f"no case {case}")


print(cases())
