# SPDX-License-Identifier: Apache-2.0
"""Serves kiln-steer's socket: steer_stub.py SOCKET LOG ANSWERS. Notes each word; answers with the line in ANSWERS, but waits
as long as this line is "wait"."""
import os
import socket
import sys
import time

path, log, answers = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(path + ".new")
server.listen(16)
os.rename(path + ".new", path)  # by rename: the socket appears when the stub already listens
while True:
    client, _ = server.accept()
    with client, open(log, "a") as words:
        words.write(client.makefile().readline())
        words.flush()
        while (answer := open(answers, "rb").read()) == b"wait\n":
            time.sleep(0.05)
        try:
            client.sendall(answer)
        except BrokenPipeError:
            pass
