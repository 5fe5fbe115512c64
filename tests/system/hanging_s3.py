#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An S3 server that hangs where it is asked for a list. Usage: hanging_s3.py FOLDER never|drip
never: takes the request and says nothing. drip: sends a byte of its answer a second. Any other request is answered with 404,
so that everything but a list goes on. FOLDER/port gets the port, FOLDER/requests a line for each request."""
import http.server
import itertools
import os
import sys
import time

folder, way = sys.argv[1:]
ERROR = b"<Error><Code>NoSuchKey</Code><Message>so it is</Message></Error>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(b"")

    def do_GET(self):
        if "list-type" in self.path:
            self.hang()
        else:
            self.answer(ERROR)

    def answer(self, body):
        self.note()
        self.send_response(404)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(ERROR)))
        self.end_headers()
        self.wfile.write(body)

    def hang(self):
        self.note()
        if way == "drip":
            self.send_response(200)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", "1000000")
            self.end_headers()
        for byte in itertools.chain(b"<ListBucketResult>", itertools.repeat(32)):
            time.sleep(1)
            if way == "drip":
                self.wfile.write(bytes([byte]))
                self.wfile.flush()

    def note(self):
        with open(f"{folder}/requests", "a") as file:
            print(self.command, self.path, file=file)

    def log_message(self, *arguments):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the client left


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(f"{folder}/port.new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
