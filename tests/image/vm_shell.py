#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one command in a booted image: through systemd's debug shell on the machine's second serial port, which QEMU shows
as a Unix socket. Prints what the command prints and ends with its exit status; 124 when no answer comes in time.
Usage: vm_shell.py SOCKET SECONDS COMMAND"""
import base64
import os
import re
import socket
import sys
import time


def main():
    path, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    end = time.monotonic() + seconds
    mark = "mark" + os.urandom(6).hex()
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    half = len(mark) // 2
    spoken = f"m={mark[:half]}; m=${{m}}{mark[half:]}"  # in two halves: an echo of the command must not look like the answer

    def until(pattern):
        answer = b""
        while not (found := re.search(pattern, answer, re.S)):
            wire.settimeout(max(end - time.monotonic(), 0.001))
            try:
                piece = wire.recv(65536)
            except TimeoutError:
                piece = b""
            if not piece:
                sys.stdout.write(answer.decode(errors="replace"))
                sys.exit(124)
            answer += piece
        return found

    # Turn off the line editor of the shell.
    wire.sendall(f"\nexec sh\n stty -echo; {spoken}; echo \"<$m>\"\n".encode())
    until(f"<{mark}>".encode())
    # Send in pieces: a terminal's line holds 4095 characters.
    code = base64.b64encode(command.encode()).decode()
    wire.sendall(b"c=\n")
    for i in range(0, len(code), 1000):
        wire.sendall(f"c=${{c}}{code[i:i + 1000]}\n".encode())
    wire.sendall('echo "<$m>"; echo $c | base64 -d | sh 2>&1; echo "<$m $?>"\n'.encode())
    found = until(rf"<{mark}>\r?\n(.*)<{mark} (\d+)>".encode())
    sys.stdout.write(found[1].decode(errors="replace").replace("\r", ""))
    return int(found[2])


sys.exit(main())
