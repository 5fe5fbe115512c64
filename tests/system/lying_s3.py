#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An S3 server that keeps objects in memory, and lies about some of them: for the programs that write.

lying_s3.py DIR     prints its port when ready. DIR/lies is a JSON list, which is read again for each request. Each lie is an
object; a request meets the first one that fits. Requests are logged to DIR/log, a line each.

    match    regular expression for "METHOD /path?query ACCESS_KEY_ID"
    lie      half      a PUT is answered with 200 and the right ETag; the server keeps half of the body, and says so
             other     a HEAD is answered with the size and the ETag of another object
             flip      the last byte of a GET is another one
             refuse    answers `status` with the code `code`
             uploads   the list of unfinished uploads has 1 000 entries, and a next page, always the same one
    count    how many requests meet it (default all); DIR/lies must not change meanwhile"""
import hashlib
import http.server
import json
import os
import re
import socketserver
import sys
import threading
import urllib.parse

folder = sys.argv[1]
objects, uploads, met, lock = {}, {}, {}, threading.Lock()
log = open(os.path.join(folder, "log"), "a")


def lie_of(line):
    try:
        with open(os.path.join(folder, "lies")) as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    with lock:
        for i, lie in enumerate(json.loads(text)):
            if re.search(lie["match"], line) and met.get((text, i), 0) < lie.get("count", 1 << 62):
                met[text, i] = met.get((text, i), 0) + 1
                return lie
    return {}


def document(root, text):
    return f'<?xml version="1.0"?><{root}>{text}</{root}>'.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", etag=None, length=None, more=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in ([("ETag", f'"{etag}"')] if etag else []) + list(more):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, document("Error", f"<Code>{code}</Code><Message>so it is</Message>"))

    def serve(self):
        path, _, query = self.path.partition("?")
        self.key = urllib.parse.unquote(path)
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        who = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        line = f"{self.command} {self.key}?{query} {who[1] if who else ''}"
        self.lie = lie_of(line)
        with lock:
            log.write(f"{line} {self.lie.get('lie', '')}\n")
            log.flush()
        if self.lie.get("lie") == "refuse":
            return self.error(self.lie["status"], self.lie["code"])
        return {"GET": self.get, "HEAD": self.get, "PUT": self.put, "POST": self.post, "DELETE": self.delete}[self.command]()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def list_uploads(self):
        if self.lie.get("lie") != "uploads":
            return self.answer(200, document("ListMultipartUploadsResult", "<IsTruncated>false</IsTruncated>"))
        key = self.query["prefix"] + "x"
        return self.answer(200, document(
            "ListMultipartUploadsResult",
            f"<IsTruncated>true</IsTruncated><NextKeyMarker>{key}</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>"
            + f"<Upload><Key>{key}</Key><UploadId>u</UploadId></Upload>" * 1000))

    def list(self):
        bucket, prefix = self.key.strip("/"), self.query.get("prefix", "")
        with lock:
            keys = sorted(k.removeprefix(f"/{bucket}/") for k in objects if k.startswith(f"/{bucket}/{prefix}"))
            text = "".join(f"<Contents><Key>{k}</Key><Size>{len(objects[f'/{bucket}/{k}'][0])}</Size>"
                           f"<ETag>{objects[f'/{bucket}/{k}'][1]}</ETag></Contents>" for k in keys)
        return self.answer(200, document("ListBucketResult", "<IsTruncated>false</IsTruncated>" + text))

    def get(self):
        if "uploads" in self.query:
            return self.list_uploads()
        if "list-type" in self.query:
            return self.list()
        if self.key not in objects:
            return self.error(404, "NoSuchKey")
        data, etag = objects[self.key]
        if self.lie.get("lie") == "other":
            return self.answer(200, b"", "another", len(data) + 1)
        if self.lie.get("lie") == "flip":
            data = data[:-1] + bytes([data[-1] ^ 1])
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if self.command == "HEAD" or not asked:
            return self.answer(200, data, etag, len(data))
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        if first >= len(data):
            return self.error(416, "InvalidRange")
        return self.answer(206, data[first:last + 1], etag, more=[("Content-Range", f"bytes {first}-{last}/{len(data)}")])

    def put(self):
        etag = hashlib.md5(self.body).hexdigest()
        with lock:
            if "partNumber" in self.query:
                uploads[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
            else:
                keep = len(self.body) // 2 if self.lie.get("lie") == "half" else len(self.body)
                objects[self.key] = self.body[:keep], etag
        return self.answer(200, etag=etag)

    def post(self):
        with lock:
            if "uploads" in self.query:
                name = f"u{len(uploads)}"
                uploads[name] = {}
                return self.answer(200, document("InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>"))
            parts = [body for _, body in sorted(uploads[self.query["uploadId"]].items())]
            etag = hashlib.md5(b"".join(hashlib.md5(body).digest() for body in parts)).hexdigest() + f"-{len(parts)}"
            objects[self.key] = b"".join(parts), etag
        return self.answer(200, document("CompleteMultipartUploadResult", f"<ETag>{etag}</ETag>"))

    def delete(self):
        with lock:
            if "uploadId" not in self.query:
                objects.pop(self.key, None)
        return self.answer(204)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # some tests kill the client


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
