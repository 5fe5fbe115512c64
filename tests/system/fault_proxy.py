#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands between Kiln and a real S3 server, and injects faults.

fault_proxy.py DIR PORT [--listen ADDRESS]... [--seed N]

Forwards to 127.0.0.1:PORT. Prints its own port, the same on every address (default 127.0.0.1), when ready. A finished
request is logged to DIR/requests, one JSON a line, with the fault that it met. Answers that no working server gives are
in faulty_s3.py; connections cut below TLS are in proxy.py.

DIR/faults holds the faults, a JSON list, which is read again whenever it changed; --seed makes a list that leaves the
records of a run as they are. Each fault is an object, and a request meets the first one that fits:

    match    regular expression for "METHOD /path?query"; default: a GET of a shard
    from     index of the first matching request that meets the fault (default 0) ...
    count    ... and how many requests meet it (default all)
    fault    status    answers `status` (503), with `retry_after` if given; `seconds`: only for so long since the first
    one
             redirect  answers 307 to the same URL, unsigned, on another port
             reset     resets the connection at byte `at` of the body
             short     closes the connection at byte `at`
             stall     sends nothing from byte `at` on, until the client leaves; `upload`: of the request's body. Makes
             DIR/stalled
             hold      sends nothing until DIR/released exists, then the whole answer. Makes DIR/held
             drip      sends `rate` bytes/s from byte `at` on
             late      passes the answer on after `ms` milliseconds
             corrupt   changes byte `at`
             range     sends a Content-Range that begins with byte 1
             etag      sends another ETag, and does not pass If-Match on
             all       does not pass Range on
             page      answers with a login page
             garbage   answers with seven bytes that are not HTTP, and closes the connection
             half      sends half of the body, as if it were the whole
             close     closes each connection after its answer
             dark      moves nothing on any connection for `seconds`; refuses none
             refuse    resets every connection and refuses new ones, for `seconds`"""
import argparse
import http.client
import json
import os
import random
import re
import select
import socket
import struct
import threading
import time
import urllib.parse

SHARD = r"^GET /[^?]*tfrecord"
CHUNK = 65536
lock = threading.Lock()
options = argparse.ArgumentParser()
options.add_argument("dir")
options.add_argument("port", type=int)
options.add_argument("--listen", action="append")
options.add_argument("--seed", type=int)
options = options.parse_args()
log = open(os.path.join(options.dir, "requests"), "a")  # a test may empty it


class Gone(Exception):
    """The client's connection is over."""


# ---- Which fault ----

def schedule(seed):
    """At most one fault after which a shard is fetched again: two such faults of one shard are an error, as they should be."""
    r = random.Random(seed)
    faults = []
    for kind in r.sample(["status", "status", "redirect", "reset", "short", "stall", "drip", "dark", "refuse", "odd"],
                         r.randint(1, 5)):
        fault = {"fault": kind, "from": r.randint(0, 40), "count": r.choice([1, 1, 2, 5, 15]), "at": r.choice([0, 1, 1000, 40000])}
        if kind == "status":
            fault |= {"status": r.choice([429, 500, 502, 503, 503, 504])} | r.choice([{}, {"retry_after": 1}])
        elif kind in ("dark", "refuse"):
            fault |= {"seconds": r.choice([0.1, 0.5, 2]), "count": 1}
        elif kind in ("stall", "drip"):
            fault |= {"rate": r.choice([100, 20000]), "count": r.choice([1, 2])}
        elif kind == "odd":
            fault |= {"fault": r.choice(["corrupt", "range"]), "count": 1}
        faults.append(fault)
    return faults


class Faults:
    def __init__(self):
        self.path, self.stamp, self.list = os.path.join(options.dir, "faults"), None, []

    def meet(self, line):
        with lock:
            try:
                stamp = os.stat(self.path).st_mtime_ns
            except FileNotFoundError:
                return {}
            if stamp != self.stamp:
                self.stamp, self.list = stamp, [fault | {"seen": 0} for fault in json.load(open(self.path))]
            met = {}
            for fault in self.list:
                if re.search(fault.get("match", SHARD), line):
                    nth, fault["seen"] = fault["seen"] - fault.get("from", 0), fault["seen"] + 1
                    if not met and 0 <= nth < fault.get("count", 1 << 62) and self.in_time(fault):
                        met = fault
            return met


    @staticmethod
    def in_time(fault):
        """Faults of all connections happen once, and end by themselves."""
        since = fault.setdefault("since", time.monotonic())
        return fault["fault"] in ("dark", "refuse") or time.monotonic() < since + fault.get("seconds", 1e9)


class Weather:
    """Faults of all connections at once."""
    dark_until = refuse_until = 0.0

    def set(self, fault):
        until = time.monotonic() + fault["seconds"]
        if fault["fault"] == "dark":
            self.dark_until = until
        else:
            self.refuse_until = until

    def pass_(self):
        while time.monotonic() < self.dark_until:
            time.sleep(0.01)
        if time.monotonic() < self.refuse_until:
            raise Reset


class Reset(Exception):
    """The client's connection is to be reset."""


faults, weather, redirected = Faults(), Weather(), {}


# ---- One connection ----

class Client:
    def __init__(self, sock, address, other_port):
        self.sock, self.address, self.other_port = sock, address, other_port
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.server = http.client.HTTPConnection("127.0.0.1", options.port)

    def receive(self):
        data = self.sock.recv(CHUNK)
        weather.pass_()
        if not data:
            raise Gone
        return data

    def send(self, data):
        weather.pass_()
        self.sock.sendall(data)

    def read_head(self):
        while b"\r\n\r\n" not in self.data:
            self.data += self.receive()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        return method, target, [tuple(line.split(": ", 1)) for line in lines if ": " in line]

    def read_body(self, length, stall):
        while length:
            if not self.data:
                self.data = self.receive()
            if stall:
                self.wait_until_gone()
            part, self.data = self.data[:length], self.data[length:]
            length -= len(part)
            yield part

    def wait_until_gone(self):
        open(os.path.join(options.dir, "stalled"), "w").close()
        while self.sock.recv(CHUNK):
            pass
        raise Gone

    def answer(self, status, reason, headers, body=b""):
        head = f"HTTP/1.1 {status} {reason}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers) + "\r\n"
        self.send(head.encode("latin-1") + body)

    # ---- Request ----

    def ask(self, method, target, headers, length, fault):
        dropped = {"etag": "if-match", "all": "range"}.get(fault.get("fault"), "")
        self.server.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() != dropped:
                self.server.putheader(name, value)
        self.server.endheaders()
        for part in self.read_body(length, fault.get("upload")):
            self.server.send(part)
        return self.server.getresponse()

    # ---- Answer ----

    def pass_body(self, reply, length, fault):
        kind, at, sent = fault.get("fault"), fault.get("at", 0), 0
        while sent < length:
            stop = at - sent if kind and sent < at else CHUNK
            part = reply.read(min(stop, CHUNK, length - sent))
            if not part:
                raise Gone
            if kind and sent >= at:
                if kind == "reset":
                    raise Reset
                if kind == "short":
                    raise Gone
                if kind == "stall":
                    self.wait_until_gone()
                if kind == "drip":
                    self.drip(part, fault["rate"])
                    sent += len(part)
                    continue
                if kind == "corrupt":
                    part, kind = bytes([part[0] ^ 0xFF]) + part[1:], None
            self.send(part)
            sent += len(part)
        return sent

    def drip(self, part, rate):
        step = max(1, rate // 50)
        for i in range(0, len(part), step):
            self.send(part[i:i + step])
            if select.select([self.sock], [], [], 0.02)[0] and not self.sock.recv(1, socket.MSG_PEEK):
                raise Gone

    def pass_reply(self, method, reply, fault):
        headers, length = reply.getheaders(), reply.getheader("Content-Length")
        body = None
        if length is None or fault.get("fault") == "half":  # chunked, or to be cut
            body = reply.read()
            body = body[:len(body) // 2] if fault.get("fault") == "half" else body
            length = len(body)
            headers = [h for h in headers if h[0].lower() not in ("transfer-encoding", "content-length")] + [("Content-Length", str(length))]
        if fault.get("fault") == "range":
            headers = [(k, re.sub(r"\d+-", "1-", v) if k.lower() == "content-range" else v) for k, v in headers]
        if fault.get("fault") == "etag":
            headers = [(k, '"another"' if k.lower() == "etag" else v) for k, v in headers]
        if fault.get("fault") == "close":
            headers.append(("Connection", "close"))
        self.answer(reply.status, reply.reason, headers)
        if method == "HEAD" or reply.status in (204, 304):
            reply.read()
            return 0
        if body is not None:
            self.send(body)
            return len(body)
        return self.pass_body(reply, int(length), fault)

    # ---- One request ----

    def redirect(self, method, target, headers):
        with lock:
            token = f"/{len(redirected)}?X-Amz-Signature=abc"
            redirected[token] = (method, target, [h for h in headers if h[0].lower() not in ("range", "if-match")])
        self.answer(307, "Temporary Redirect", [("Location", f"http://127.0.0.1:{self.other_port}{token}"), ("Content-Length", "0")])

    def refuse(self, fault):
        status, code = fault.get("status", 503), {429: "TooManyRequests", 503: "SlowDown"}.get(fault.get("status", 503), "InternalError")
        if status == 403:
            code = "AccessDenied"
        body = f"<Error><Code>{code}</Code><Message>so it is</Message></Error>".encode()
        headers = [("Content-Length", len(body)), ("Content-Type", "application/xml")]
        if "retry_after" in fault:
            headers.append(("Retry-After", fault["retry_after"]))
        self.answer(status, "Fault", headers, body)

    def no_store(self, kind):
        if kind == "garbage":
            self.send(b"no HTTP")
            raise Gone
        page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
        self.answer(200, "OK", [("Content-Length", len(page)), ("Content-Type", "text/html")], page)

    def serve(self, note):
        method, target, headers = self.read_head()
        given = {k.lower(): v for k, v in headers}
        fault = {} if target in redirected else faults.meet(f"{method} {target}")
        if target in redirected:
            method, target, signed = redirected[target]
            headers = signed + [("Range", given["range"])]
        note |= {"t": time.monotonic(), "address": self.address, "method": method, "path": urllib.parse.unquote(target),
                 "range": given.get("range"), "fault": fault.get("fault"), "bytes": 0}
        length = int(given.get("content-length", 0))
        if fault.get("fault") in ("dark", "refuse"):
            weather.set(fault)
            weather.pass_()
        if fault.get("fault") in ("status", "redirect"):
            for _ in self.read_body(length, False):
                pass
            self.refuse(fault) if fault["fault"] == "status" else self.redirect(method, target, headers)
            return
        if fault.get("fault") in ("page", "garbage"):
            self.no_store(fault["fault"])
            return
        if fault.get("fault") == "hold":
            self.hold()
        if fault.get("fault") == "late":
            time.sleep(fault["ms"] / 1000)
        reply = self.ask(method, target, headers, length, fault)
        note["status"] = reply.status
        note["bytes"] = self.pass_reply(method, reply, fault)
        if fault.get("fault") == "close":
            raise Gone

    @staticmethod
    def hold():
        open(os.path.join(options.dir, "held"), "w").close()
        while not os.path.exists(os.path.join(options.dir, "released")):
            time.sleep(0.01)

    def run(self):
        note = {}
        try:
            while True:
                note = {}
                self.serve(note)
                write(note)
        except Reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (Gone, OSError, http.client.HTTPException):
            pass
        if note:
            write(note)
        self.sock.close()
        self.server.close()


def write(note):
    with lock:
        log.write(json.dumps(note | {"end": time.monotonic()}) + "\n")
        log.flush()


# ---- Listening ----

def bind(address, port):
    """A client that connects is refused until the listener is ready."""
    while True:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address, port))
            return sock
        except OSError:  # another process has the port on this address
            sock.close()
            if not port:
                raise
            time.sleep(0.01)


def listen(address, port):
    sock = bind(address, port)
    sock.listen(128)
    return sock


def accept(listener, address, port, other_port):
    while True:
        if select.select([listener], [], [], 0.01)[0] and time.monotonic() >= weather.refuse_until:
            threading.Thread(target=Client(listener.accept()[0], address, other_port).run, daemon=True).start()
        elif time.monotonic() < weather.refuse_until:
            listener.close()
            listener = bind(address, port)
            time.sleep(max(0, weather.refuse_until - time.monotonic()))
            listener.listen(128)


if options.seed is not None:
    with open(faults.path, "w") as file:
        json.dump(schedule(options.seed), file)
addresses = options.listen or ["127.0.0.1"]
first, other = listen(addresses[0], 0), listen("127.0.0.1", 0)
ports = first.getsockname()[1], other.getsockname()[1]
threads = [(first, addresses[0], ports[0]), (other, "127.0.0.1", ports[1])]
threads += [(listen(address, ports[0]), address, ports[0]) for address in addresses[1:]]
for of in threads:
    threading.Thread(target=accept, args=(*of, ports[1]), daemon=True).start()
print(ports[0], flush=True)
threading.Event().wait()
