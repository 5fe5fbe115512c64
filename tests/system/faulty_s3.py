#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A faulty S3 server: the key names the fault. It replaces no real server (tools/store/radosgw): no working server behaves
like one of these cases.

faulty_s3.py DIR    prints "PORT OTHER_PORT TLS_PORT" when ready (TLS with DIR/server.pem and server.key). Requests are
logged to DIR/requests, one JSON a line
"""
import hashlib
import http.server
import json
import os
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time

DATA = b"0123456789"
ETAG = hashlib.md5(DATA).hexdigest()
counts, lock = {}, threading.Lock()
uploads = {}


def xml_error(code, message="so it is", extra=""):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message>{extra}</Error>'.encode()


def page(contents, extra="<IsTruncated>false</IsTruncated>", head=""):
    return (f'<?xml version="1.0"?>{head}<ListBucketResult><EncodingType>url</EncodingType>{extra}'
            + contents + "</ListBucketResult>").encode()


def entry(key):
    return f"<Contents><Key>{key}</Key><Size>1</Size><ETag>&quot;x&quot;</ETag></Contents>"


BOMB = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
LISTS = {
    "good": page(entry("l/good/a+b%2Bc%25") + entry("l/good/z")),
    "order": page(entry("l/order/b") + entry("l/order/a")),
    "twice": page(entry("l/twice/a") + entry("l/twice/a")),
    "outside": page(entry("elsewhere/a")),
    "nul": page(entry("l/nul/a%00b")),
    "escape": page(entry("l/escape/a%4")),
    "long": page(entry("l/long/" + "k" * 1025)),
    "keyless": page("<Contents><Size>1</Size></Contents>"),
    "many": page("".join(entry(f"l/many/{i:05}") for i in range(1001))),
    "endless": page("", "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
    "nowhere": page(entry("l/nowhere/a"), "<IsTruncated>true</IsTruncated>"),
    "bomb": page(entry("l/bomb/&b;"), head=BOMB),
    "malformed": page(entry("l/malformed/a"))[:-5],
    "text": page(entry("l/text/a") + "<X>" + "x" * 20000 + "</X>"),
    "deep": page("<a>" * 50 + "</a>" * 50),
    "empty": b"",
    "size": page("<Contents><Key>l/size/a</Key><Size>-1</Size></Contents>"),
    "sizeless": page("<Contents><Key>l/sizeless/a</Key></Contents>"),
    "two-keys": page("<Contents><Key>l/two-keys/a</Key><Key>l/two-keys/b</Key><Size>1</Size></Contents>"),
    "endless-page": page(entry("l/endless-page/a"), ""),
    "other-root": b"<note><to>you</to></note>",
    "web-page": b"<!DOCTYPE html>\n<html><body><h1>Please log in</h1></body></html>",
    "xhtml": b"<html><body><h1>Please log in</h1></body></html>",
}


# Answers of servers to a list of versions.
VERSIONS_GOOD = (b"<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated><Version><Key>l/v-%s/a</Key>"
                 b"<VersionId>v1</VersionId><IsLatest>true</IsLatest><Size>1</Size></Version></ListVersionsResult>")
VERSIONS = {
    "501": (501, xml_error("NotImplemented")),
    "bare-501": (501, b""),
    "400": (400, xml_error("InvalidArgument")),
    "bare-400": (400, b"what?"),
    "403": (403, xml_error("AccessDenied")),
    "bare-403": (403, b""),
    "404": (404, xml_error("NoSuchKey")),
    "405": (405, xml_error("MethodNotAllowed")),
    "ignored": (200, page(entry("l/v-ignored/a"))),
    "head": (200, VERSIONS_GOOD % b"head"),
    "good": (200, VERSIONS_GOOD % b"good"),
}


# What a server may send without end: the first bytes, then the repeated ones.
FLOODS = {
    "keys": ("<ListBucketResult><Contents>", "<Key>" + "k" * 10000 + "</Key>"),
    "entries": ("<ListBucketResult>", "<Contents><Key>" + "k" * 10000 + "</Key><Size>1</Size></Contents>"),
    "attributes": ("<ListBucketResult ", "".join(f'a%d-{i}="" ' for i in range(1000))),
    "names": ("<ListBucketResult>", "".join(f"<a%d-{i}/>" for i in range(1000))),
    "comment": ("<ListBucketResult><!-- ", "x" * 10000),
    "comments": ("<ListBucketResult>", "<!-- " + "x" * 10000 + "-->"),
    "instruction": ("<?a ", "x" * 10000),
    "trailers": (None, "X-Trailer: " + "x" * 1000 + "\r\n"),
    "headers": (None, "X-Header: " + "x" * 1000 + "\r\n"),
    "continues": (None, "HTTP/1.1 100 Continue\r\n\r\n" * 100),
}
FLOOD_BYTES = 2 << 30  # a client without a bound has lost by then
LOGIN = b"<!DOCTYPE html><html><head><title>Hotel</title></head><body>Please log in</body></html>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def note(self, fault):
        with lock:
            counts[fault, self.command] = counts.get((fault, self.command), 0) + 1
            line = {"t": time.monotonic(), "port": self.server.server_port, "method": self.command, "path": self.path,
                    "headers": {k.lower(): v for k, v in self.headers.items()}}
            self.server.log.write(json.dumps(line) + "\n")
            self.server.log.flush()
            return counts[fault, self.command]

    def answer(self, status, body=b"", **headers):
        if "Date" in headers:
            self.send_response_only(status)
        else:
            self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def good(self, body=DATA, total=len(DATA), etag=ETAG, **headers):
        headers.setdefault("Content_Range", f"bytes 0-{len(DATA) - 1}/{total}")
        self.answer(206, body, ETag=f'"{etag}"', **headers)

    def reset(self):
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def flood(self, kind):
        """Sends until the client leaves."""
        first, again = FLOODS[kind]
        self.close_connection = True
        if kind == "continues":
            head = b""
        elif kind == "headers":
            head = b"HTTP/1.1 200 OK\r\n"
        else:
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        if first:
            head += b"%x\r\n%s\r\n" % (len(first), first.encode())
        if kind == "trailers":
            head += b"3\r\n<a>\r\n0\r\n"
        try:
            self.wfile.write(head)
            for n in range(FLOOD_BYTES // len(again)):
                data = (again.replace("%d", str(n)) if "%d" in again else again).encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if first else data)
        except OSError:
            pass

    def login(self, status=200):
        self.answer(status, LOGIN, Content_Type="text/html; charset=utf-8")

    def raw(self, data):
        self.wfile.write(data)
        self.close_connection = True

    def list_once(self, fault, nth):
        """A bad answer first, then a good one."""
        good = page(entry(f"l/{fault}/a"))
        bad = {"once-login": self.login,
               "once-cut": lambda: self.answer(200, good[:-30]),
               "once-short": lambda: (self.answer(200, good[:-30], Content_Length=str(len(good))), setattr(self, "close_connection", True)),
               "once-garbage": lambda: self.raw(b"no HTTP"),
               "once-length": lambda: self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
               "once-folded": lambda: self.raw(b"HTTP/1.1 200 OK\r\n Content-Length: 7\r\n\r\nno XML!"),
               "once-511": lambda: self.login(511)}
        return bad[fault]() if nth == 1 else self.answer(200, good)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        fault = path.split("/")[-1]
        if "list-type" in query or "versions=" in query:
            fault = dict(p.split("=") for p in query.split("&"))["prefix"].split("%2F")[-2]
            if fault.startswith("v-"):
                self.note(fault)
                return self.answer(*(VERSIONS[fault[2:]] if "versions=" in query else (200, page(entry(f"l/{fault}/a")))))
            nth = self.note("list-" + fault)
            if fault in FLOODS:
                return self.flood(fault)
            if fault == "login":
                return self.login()
            return self.list_once(fault, nth) if fault.startswith("once-") else self.answer(200, LISTS[fault])
        nth = self.note(fault)
        once = nth == 1
        cases = {
            "slow-down": lambda: self.answer(503, xml_error("SlowDown"), Retry_After="1") if nth <= 2 else self.good(),
            # 429 until a client has asked for "overtakes".
            "overtaken": lambda: self.good() if counts.get(("overtakes", "GET")) else self.answer(429),
            "too-many": lambda: self.answer(429) if once else self.good(),
            "internal": lambda: self.answer(500, xml_error("InternalError")) if once else self.good(),
            "gateway": lambda: self.answer(502, b"<html>no XML at all</p>") if once else self.good(),
            "timeout-400": lambda: self.answer(400, xml_error("RequestTimeout")) if once else self.good(),
            "down": lambda: self.answer(500, xml_error("InternalError", "always")),
            "wrong-range": lambda: self.good(Content_Range="bytes 5-14/20"),
            "no-range": lambda: self.good(Content_Range="bytes five-ten/20"),
            "ignores-range": lambda: self.answer(200, DATA * 2, ETag=f'"{ETAG}"'),
            "small-200": lambda: self.answer(200, DATA, ETag=f'"{ETAG}"'),
            "ignores-if-match": lambda: self.good(etag="other"),
            "if-match": lambda: self.answer(412, xml_error("PreconditionFailed")),
            "other-size": lambda: self.good(total=11),
            "no-etag": lambda: self.answer(206, DATA, Content_Range="bytes 0-9/10"),
            "wild-etag": lambda: self.good(etag="e" * 500),
            "denied": lambda: self.answer(403, xml_error("AccessDenied", "not\nyou")),
            "expired": lambda: self.answer(400, xml_error("ExpiredToken")),
            "skew": lambda: self.answer(403, xml_error("RequestTimeTooSkewed"), Date="Fri, 24 May 2013 00:00:00 GMT"),
            "region": lambda: self.answer(301, xml_error("PermanentRedirect", extra="<Region>eu-west-9</Region>")),
            "wrong-region": lambda: self.answer(400, xml_error("AuthorizationHeaderMalformed", extra="<Region>eu-west-9</Region>")),
            "babble": lambda: self.answer(403, b"x" * (3 << 20)),
            "to-other": lambda: self.answer(307, Location=f"http://127.0.0.1:{self.server.other}/data?X-Amz-Signature=abc&k=a%2Fb"),
            "to-changing": lambda: self.answer(307, Location=f"http://127.0.0.1:{self.server.other}/changing-{nth}?X-Amz-Signature=a"),
            "to-broken": lambda: self.answer(307, Location=f"http://127.0.0.1:{self.server.other}/broken?X-Amz-Signature=a"),
            "to-plain": lambda: self.answer(307, Location=f"http://127.0.0.1:{self.server.other}/data?X-Amz-Signature=a"),
            "to-itself": lambda: self.answer(307, Location=self.path),
            "to-file": lambda: self.answer(307, Location="file:///etc/passwd"),
            "login": self.login,
            "head-404-once": lambda: self.good(DATA[:1], Content_Range="bytes 0-0/10"),
            "bare-404": lambda: self.answer(404),
            "bare-once": lambda: self.answer(403, b"no") if once else self.good(),
            "to-nowhere": lambda: self.answer(307),
            "login-403": lambda: self.login(403),
            "login-511": lambda: self.login(511),
            "login-once": lambda: self.login() if once else self.good(),
            "to-login": lambda: self.answer(302, Location=f"http://127.0.0.1:{self.server.other}/login"),
            "data": self.good,
            "changing-1": lambda: self.good(etag="first"),
            "changing-2": lambda: self.good(etag="second"),
            "broken": lambda: self.answer(503) if once else self.good(),
        }
        if fault in cases:
            return cases[fault]()
        if fault in ("upload-garbled", "upload-own-etag"):
            return self.uploaded(fault)
        if fault in ("cut", "always-cut", "reset") and (once or fault == "always-cut"):
            self.good(DATA[:5], Content_Length="10")
            if fault == "reset":
                return self.reset()
            self.close_connection = True
            return None
        if fault == "stall" and once:
            self.good(DATA[:3], Content_Length="10")
            self.wfile.flush()
            self.connection.recv(1)  # wait until the client gives up
            self.close_connection = True
            return None
        if fault == "longer":
            self.good(b"6\r\n012345\r\n9\r\n678901234\r\n0\r\n\r\n", Transfer_Encoding="chunked")
            return None
        if fault == "garbage":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
            return None
        return self.good()

    def uploaded(self, fault):
        data = b"".join(body for _, body in sorted(uploads[fault].items()))
        if fault == "upload-garbled":
            data = data[:-1] + b"x"
        first, last = map(int, self.headers["Range"][6:].split("-"))
        last = min(last, len(data) - 1)
        return self.answer(206, data[first:last + 1], ETag=f'"{"0" * 32}-{len(uploads[fault])}"', Content_Range=f"bytes {first}-{last}/{len(data)}")

    def do_HEAD(self):
        path = self.path.partition("?")[0].split("/")[-1]
        self.note(path)
        if path in ("denied", "skew") or "/v-head/" in self.path:
            return self.answer(403)
        if path == "login":
            return self.login()
        if path == "head-404-once" and counts[path, "HEAD"] == 1:
            return self.answer(404)
        if path.startswith("upload"):
            parts = [body for _, body in sorted(uploads.get(path, {}).items())]
            size = sum(map(len, parts)) - (path == "upload-short")
            etag = hashlib.md5(b"".join(hashlib.md5(body).digest() for body in parts)).hexdigest()
            if path in ("upload-old", "upload-garbled", "upload-own-etag", "upload-kms"):  # -old: never completed, the object is older
                etag = "0" * 32
            return self.answer(200, Content_Length=str(size), ETag=f'"{etag}-{len(parts)}"')
        return self.answer(200, Content_Length="10", ETag=f'"{ETAG}"')

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_PUT(self):
        body, (path, _, query) = self.read_body(), self.path.partition("?")
        fault = path.split("/")[-1]
        nth = self.note(fault)
        etag = hashlib.md5(body).hexdigest()
        if fault == "put-elsewhere":
            return self.answer(307, Location=f"http://127.0.0.1:{self.server.other}/put-stolen")
        if fault == "put-login":
            return self.answer(302, Location=f"http://127.0.0.1:{self.server.other}/login")
        if fault == "put-beside":
            return self.answer(307, Location="/bucket/l/put-there")
        if fault == "upload-denied" and "partNumber=2" in query:
            return self.answer(403, xml_error("AccessDenied"))
        if "partNumber" in query:
            with lock:
                uploads.setdefault(fault, {})[query] = body
        if fault == "other-md5" and nth == 1:
            etag = "0" * 32
        if fault in ("kms", "upload-kms"):
            return self.answer(200, ETag=f'"{"0" * 32}"', x_amz_server_side_encryption="aws:kms")
        return self.answer(200, ETag=f'"{etag}"')

    def do_POST(self):
        self.read_body()
        path, _, query = self.path.partition("?")
        fault = path.split("/")[-1]
        nth = self.note(fault + ("-begin" if query == "uploads=" else "-complete"))
        if query == "uploads=":
            return self.answer(200, b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
        if fault == "upload-late" and nth == 1:
            return self.answer(200, b" " * 5000 + xml_error("InternalError", "after all").replace(b'<?xml version="1.0"?>', b""))
        if fault == "upload-old":
            return self.answer(404, xml_error("NoSuchUpload"))
        if fault == "upload-lost":  # the upload is done, but the answer is lost
            if nth == 1:
                return self.reset()
            return self.answer(404, xml_error("NoSuchUpload"))
        return self.answer(200, b"<CompleteMultipartUploadResult><ETag>m-2</ETag></CompleteMultipartUploadResult>")

    def do_DELETE(self):
        self.note(self.path.partition("?")[0].split("/")[-1])
        return self.answer(204)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # some cases make the client disconnect


class TlsServer(Server):
    """The first connections, as many as FOLDER/portal says, meet the certificate of another server, as behind a login page."""
    folder, seen = "", 0

    def context(self):
        try:
            portal = self.seen < int(open(os.path.join(self.folder, "portal")).read())
        except FileNotFoundError:
            portal = False
        self.seen += portal
        name = "portal" if portal else "server"
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(os.path.join(self.folder, name + ".pem"), os.path.join(self.folder, name + ".key"))
        return tls

    def get_request(self):
        client, address = super().get_request()
        return self.context().wrap_socket(client, server_side=True), address


def serve(folder):
    servers = [kind(("127.0.0.1", 0), Handler) for kind in (Server, Server, TlsServer)]
    log = open(os.path.join(folder, "requests"), "w")
    for server in servers:
        server.log, server.other = log, servers[1].server_port
    servers[2].folder = folder
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(*(server.server_port for server in servers), flush=True)
    servers[0].serve_forever()


serve(sys.argv[1])
