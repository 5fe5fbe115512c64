# SPDX-License-Identifier: Apache-2.0
"""Stands between kiln and kiln-controld: hostile_box.py SOCKET CONTROLD HOSTILE. Passes requests on to the socket CONTROLD, and
appends the text in the file HOSTILE to each string of the answers, and to the keys of objects whose keys are names."""
import json
import os
import socket
import sys
import threading

path, controld, hostile_file = sys.argv[1:]
hostile = open(hostile_file, encoding="utf-8", newline="").read()
NAMED = ("daemons", "fields")


def spoil(value, keys=False):
    if isinstance(value, str):
        return value + hostile
    if isinstance(value, list):
        return [spoil(v) for v in value]
    if isinstance(value, dict):
        return {key + hostile if keys else key: spoil(v, key in NAMED) for key, v in value.items()}
    return value


def answer(client):
    upstream = socket.socket(socket.AF_UNIX)
    upstream.connect(controld)
    requests, replies = client.makefile("rb"), upstream.makefile("rb")

    def back():
        for line in replies:
            reply = json.loads(line)
            for part in ("result", "params"):
                if part in reply:
                    reply[part] = spoil(reply[part])
            if "error" in reply:
                reply["error"]["message"] = spoil(reply["error"]["message"])
            try:
                client.sendall(json.dumps(reply, ensure_ascii=False).encode() + b"\n")
            except OSError:
                return
        client.close()

    threading.Thread(target=back, daemon=True).start()
    for line in requests:
        upstream.sendall(line)
    upstream.shutdown(socket.SHUT_WR)


os.makedirs(os.path.dirname(path), exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(path + ".new")
server.listen(16)
os.rename(path + ".new", path)  # by rename: the socket appears when the proxy already listens
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
