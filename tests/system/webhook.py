#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves POST requests on a free port. Usage: webhook.py FOLDER [CERTIFICATE KEY]
FOLDER/port gets the port. FOLDER/answers holds a status a line for the next requests, "drop" to close the connection
without an answer, "404" to repeat path, token and login in the answer, "hold" to answer 204 once FOLDER/go exists, "drip-STATUS" to answer with a
body of a byte now and then that does not end before FOLDER/go exists; after these lines the answer is 204. FOLDER/requests gets a
JSON line for each request: path, headers, body, status."""
import base64, http.server, json, os, ssl, sys, time

folder = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with open(f"{folder}/answers", "a+") as file:
            file.seek(0)
            answers = file.read().split()
        status = answers.pop(0) if answers else "204"
        with open(f"{folder}/answers", "w") as file:
            file.write("\n".join(answers))
        with open(f"{folder}/requests", "a") as file:
            print(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body, "status": status}), file=file)
        if status == "drop":
            self.close_connection = True
            return
        if status == "hold":
            while not os.path.exists(f"{folder}/go"):
                time.sleep(0.05)
            status = "204"
        if status.startswith("drip-"):
            self.send_response(int(status[5:]))
            self.send_header("Content-Length", "60000")
            self.end_headers()
            while not os.path.exists(f"{folder}/go"):
                self.wfile.write(b"no")
                time.sleep(0.2)
            self.close_connection = True
            return
        text = b"" if status == "204" else b"no,\r\nnot now\x07"
        if status == "404":
            said = str(self.headers.get("Authorization"))
            login = base64.b64decode(said[6:]).decode() if said.startswith("Basic ") else ""
            text = f"{self.path} with {said} was not found here {login}".encode()
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[2:])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/port.new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
