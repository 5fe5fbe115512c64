# SPDX-License-Identifier: Apache-2.0
"""kiln-steer's side of its socket: steer_stub.py SOCKET LOG ANSWERS. Notes each word; answers the line in ANSWERS,
but waits as long as that is "wait"."""
import os
import socket
import sys
import time

path, log, answers = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(path + ".new")
server.listen(16)
os.rename(path + ".new", path)  # who sees it finds it listening
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
