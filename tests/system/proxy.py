#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client proxy for tests: http requests forwarded, CONNECT tunnelled.

    proxy.py DIR [--login NAME:PASSWORD] [--refuse STATUS] [--cut]

Prints its port when ready. Requests are logged to DIR/proxied, one JSON a line, before the answer. --refuse answers every
CONNECT with this status. --cut resets each connection after some of the server's bytes have passed.
"""
import argparse
import base64
import json
import os
import socket
import struct
import threading

CUT_AFTER = (0, 300, 5000, 70000, 700000, 8000000)  # the last lets the largest part pass
options = argparse.ArgumentParser()
options.add_argument("dir")
options.add_argument("--login")
options.add_argument("--refuse", type=int)
options.add_argument("--cut", action="store_true")
options = options.parse_args()
log = open(os.path.join(options.dir, "proxied"), "w")
lock = threading.Lock()
count = 0


def read_head(client):
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(65536)
        if not data:
            return None, None, b""
        head += data
    head, _, rest = head.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return first, [line.partition(": ")[::2] for line in lines], rest


def reset(*ends):
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            end.shutdown(socket.SHUT_RDWR)  # wakes the other thread
        except OSError:
            pass
        end.close()


def forward(source, sink, allowed=None):
    try:
        while data := source.recv(65536):
            if allowed is not None and (allowed := allowed - len(data)) < 0:
                return reset(sink, source)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    return None


def join(client, server, nth):
    allowed = CUT_AFTER[nth % len(CUT_AFTER)] if options.cut else None
    up = threading.Thread(target=forward, args=(client, server), daemon=True)
    up.start()
    forward(server, client, allowed)
    up.join()
    client.close()
    server.close()


def serve(client):
    global count
    first, headers, rest = read_head(client)
    if not first:
        return
    method, target, _ = first.split(" ")
    with lock:
        nth, count = count, count + 1
        log.write(json.dumps({"method": method, "target": target, "headers": {k.lower(): v for k, v in headers}}) + "\n")
        log.flush()
    login = dict((k.lower(), v) for k, v in headers).get("proxy-authorization")
    if options.login and login != "Basic " + base64.b64encode(options.login.encode()).decode():
        client.sendall(b'HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
        return client.close()
    if method == "CONNECT":
        if options.refuse:
            client.sendall(f"HTTP/1.1 {options.refuse} No\r\nContent-Length: 0\r\n\r\n".encode())
            return client.close()
        host, _, port = target.rpartition(":")
        server = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    else:
        authority, slash, path = target.partition("://")[2].partition("/")
        host, _, port = authority.partition(":")
        server = socket.create_connection((host, int(port or 80)))
        kept = [f"{k}: {v}\r\n" for k, v in headers if not k.lower().startswith("proxy-")]
        rest = (f"{method} {slash}{path} HTTP/1.1\r\n" + "".join(kept) + "Connection: close\r\n\r\n").encode("latin-1") + rest
    server.sendall(rest)
    return join(client, server, nth)


listener = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
