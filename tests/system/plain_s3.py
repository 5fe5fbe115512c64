#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake store: objects of one bucket, "kiln", in memory. Nobody may list the uploads of others. Prints its port; requests
are logged to s3.requests in the working folder.
"""
import hashlib
import http.server
import urllib.parse

objects = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass
    def answer(self, status, body=b"", size=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)
    def error(self, status, code):
        self.answer(status, b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code><Message>so it is</Message></Error>".encode())
    def do_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(self.command, self.path, file=open("s3.requests", "a"))
        path, _, query = self.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if bucket != "kiln":
            return self.error(404, "NoSuchBucket")
        if "uploads" in query:
            return self.error(403, "AccessDenied")
        if "list-type" in query:
            found = "".join(f"<Contents><Key>{urllib.parse.quote(k)}</Key><Size>{len(v)}</Size></Contents>"
                            for k, v in sorted(objects.items()) if k.startswith(query.get("prefix", "")))
            return self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode())
        if self.command == "PUT":
            objects[key] = body
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if self.command == "DELETE":
            objects.pop(key, None)
            return self.answer(204)
        if key not in objects:
            return self.error(404, "NoSuchKey")
        data = objects[key]
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        if self.command == "HEAD":
            return self.answer(200, size=len(data), ETag=etag)
        if not self.headers.get("Range"):
            return self.answer(200, data, ETag=etag)
        first, last = map(int, self.headers["Range"][6:].split("-"))
        return self.answer(206, data[first:last + 1], ETag=etag, Content_Range=f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}")
    do_GET = do_HEAD = do_PUT = do_DELETE = do_any

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
