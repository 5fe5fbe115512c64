#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves this machine's time by SNTP (RFC 4330) on loopback's port 123, which a virtual machine reaches as 10.0.2.2. Several
of these servers may run at once, except with --at SECONDS, a Unix time from which the clock starts. Prints "ready"; ends
when killed, or with 1 if the port is not available."""
import socket
import struct
import sys
import time

EPOCH = 2208988800  # seconds from 1900 to 1970

ahead = int(sys.argv[2]) - time.time() if len(sys.argv) == 3 else 0
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if len(sys.argv) == 1:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind(("127.0.0.1", 123))
print("ready", flush=True)
while True:
    asked, sender = server.recvfrom(512)
    if len(asked) < 48:
        continue
    now = int((time.time() + ahead + EPOCH) * 2**32)
    # No leap second, version 4, a stratum 1 server with a precision of 2^-20 s; echoes the client's transmit time.
    head = struct.pack("!BBbb II 4s", 0x24, 1, 6, -20, 0, 0, b"LOCL")
    server.sendto(head + struct.pack("!Q", now) + asked[40:48] + struct.pack("!QQ", now, now), sender)
