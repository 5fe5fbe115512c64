# SPDX-License-Identifier: Apache-2.0
"""Speaks TLS 1.2 by hand, as no well-behaved client does: tls_raw.py PORT.

Begins a handshake, says "at it" and then sends warnings, which carry nothing, until it is killed or cut off."""
import socket
import ssl
import sys

HELLO_DONE = bytes.fromhex("0e000000")
WARNING = bytes.fromhex("1503030002015a")  # user_canceled, RFC 5246 7.2


def hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    sent = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()


s, answer = socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.9", 0)), b""
s.sendall(hello())
while not answer.endswith(HELLO_DONE):
    answer += s.recv(65536)
print("at it", flush=True)
while True:
    try:
        s.sendall(WARNING * 8192)
    except OSError:
        break
