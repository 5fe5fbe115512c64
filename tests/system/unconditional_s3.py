# SPDX-License-Identifier: Apache-2.0
"""An S3 server that does not know If-None-Match, as some stores do: unconditional_s3.py FILE. Keeps objects in memory, takes a
second for each PUT, and writes its port to FILE when it is ready."""
import hashlib
import http.server
import sys
import threading
import time
import urllib.parse

PUT_S = 1
objects, lock = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def key_and_query(self):
        path, _, query = self.path.partition("?")
        return urllib.parse.unquote(path).removeprefix("/bucket/"), urllib.parse.parse_qs(query, keep_blank_values=True)

    def page(self, prefix):
        with lock:
            keys = sorted(key for key in objects if key.startswith(prefix))
            rows = "".join(f"<Contents><Key>{key}</Key><Size>{len(objects[key])}</Size><ETag>&quot;{hashlib.md5(objects[key]).hexdigest()}&quot;"
                           "</ETag></Contents>" for key in keys)
        self.answer(200, f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode())

    def do_GET(self):
        key, query = self.key_and_query()
        if "list-type" in query:
            return self.page(query.get("prefix", [""])[0])
        with lock:
            data = objects.get(key)
        if data is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self.answer(200, data, ETag=f'"{hashlib.md5(data).hexdigest()}"')

    do_HEAD = do_GET

    def do_PUT(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(PUT_S)
        with lock:
            objects[self.key_and_query()[0]] = data
        self.answer(200, ETag=f'"{hashlib.md5(data).hexdigest()}"')

    def do_DELETE(self):
        with lock:
            objects.pop(self.key_and_query()[0], None)
        self.answer(204)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
