#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An S3 server that changes its answers, and the runs of kiln-fetchd that meet them.

hostile_s3.py DIR --fetchd FILE --reader FILE --bin FOLDER [--seed N] [--cases N] [--only CASE] [--jobs N]

DIR/data holds the shards. A run without changes comes first: its records and its memory are what each case is compared with.
A case is a copy of the begun run, by whose access key the server knows it. Seed and case decide which kinds of answers are
changed, and how; kiln-fetchd decides in which order it asks for them. With an odd seed the bucket keeps versions. Prints a line for each case, "ok NAME" or "not ok NAME" and details."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

SECONDS_MAX = 60  # of a case
MEMORY_BYTES = 16 << 20  # fetch.memory_bytes
MEMORY_MORE = 96 << 20  # more than the run without changes; the largest answer in XML is 16 MiB
LOGIN = b"<!DOCTYPE html><html><body>Please log in</body></html>"
NUMBERS = ["", "-1", "0", "1", "7", "18446744073709551615", "18446744073709551616", "9223372036854775807", "99999999999", "1e9", "0x10",
           " 5", "5 ", "five"]
TEXTS = ["", "a", "x" * 20000, "%00", "%", "%zz", "../../etc/passwd", "\x01", "é" * 600, "&amp;#0;", "'\"><", "data/train-00000-of-00004.tfrecord",
         "k" * 1025]
SANITIZERS = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|Assertion|terminate called")
OBJECT = re.compile(r"s3://kiln|train-|test-|manifest\.jsonl|/plan|fetch\.memory_bytes")


# ---- The honest answers ----

class Bucket:
    def __init__(self, folder, versions):
        self.objects, self.versions = {}, versions
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                self.objects["data/" + name] = file.read()
        lines = [json.dumps({"key": k[5:], "size": len(v), "etag": etag_of(v), "sha256": hashlib.sha256(v).hexdigest()})
                 for k, v in self.objects.items()]
        self.objects["data/manifest.jsonl"] = ("\n".join(lines) + "\n").encode()

    def answer(self, method, key, query, headers, body):
        if "list-type" in query:
            return self.page(query)
        if "versions" in query:
            return self.page_of_versions(query) if self.versions else error(501, "NotImplemented")
        if method == "PUT" and "if-none-match" in headers and key in self.objects:
            return error(412, "PreconditionFailed")
        if method == "PUT":
            self.objects[key] = body
            return Reply(200, [("ETag", f'"{etag_of(body)}"')], b"")
        if key not in self.objects:
            return error(404, "NoSuchKey")
        if query.get("versionId", self.version_of(key)) != self.version_of(key):
            return error(404, "NoSuchVersion")
        return self.get(key, headers.get("range"))

    def version_of(self, key):
        return f"v.{etag_of(self.objects[key])[:8]}" if self.versions else None

    def keys_after(self, prefix, marker):
        """The keys of a page, and whether more follow: a list has several pages."""
        keys = [k for k in sorted(self.objects) if k.startswith(prefix) and k > marker]
        return keys[:3], len(keys) > 3

    def page_of_versions(self, query):
        some, more = self.keys_after(query["prefix"], query.get("key-marker", ""))
        text = "".join(f"<Version><Key>{urllib.parse.quote(k)}</Key><VersionId>{self.version_of(k)}</VersionId><IsLatest>true</IsLatest>"
                       f"<ETag>&quot;{etag_of(self.objects[k])}&quot;</ETag><Size>{len(self.objects[k])}</Size></Version>"
                       f"<Version><Key>{urllib.parse.quote(k)}</Key><VersionId>old</VersionId><IsLatest>false</IsLatest><Size>1</Size></Version>"
                       for k in some)
        text += "<DeleteMarker><Key>data/train-~</Key><VersionId>gone</VersionId><IsLatest>true</IsLatest></DeleteMarker>" if not more else ""
        marker = f"<NextKeyMarker>{some[-1]}</NextKeyMarker><NextVersionIdMarker>old</NextVersionIdMarker>" if more else ""
        return Reply(200, [("Content-Type", "application/xml")],
                     ('<?xml version="1.0" encoding="UTF-8"?>\n<ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                      f"<Name>kiln</Name><EncodingType>url</EncodingType>{marker}"
                      f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{text}</ListVersionsResult>").encode())

    def page(self, query):
        some, more = self.keys_after(query["prefix"], query.get("continuation-token", ""))
        text = "".join(f"<Contents><Key>{urllib.parse.quote(k)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                       f"<ETag>&quot;{etag_of(self.objects[k])}&quot;</ETag><Size>{len(self.objects[k])}</Size>"
                       "<StorageClass>STANDARD</StorageClass></Contents>" for k in some)
        token = f"<NextContinuationToken>{some[-1]}</NextContinuationToken>" if more else ""
        return Reply(200, [("Content-Type", "application/xml")],
                     ('<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                      f"<Name>kiln</Name><EncodingType>url</EncodingType><KeyCount>{len(some)}</KeyCount>{token}"
                      f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{text}</ListBucketResult>").encode())

    def get(self, key, asked):
        data = self.objects[key]
        headers = [("ETag", f'"{etag_of(data)}"'), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")]
        if not asked:
            return Reply(200, headers, data)
        first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
        last = min(last, len(data) - 1)
        return Reply(206, headers + [("Content-Range", f"bytes {first}-{last}/{len(data)}")], data[first:last + 1])


def etag_of(data):
    return hashlib.md5(data).hexdigest()


def error(status, code):
    return Reply(status, [("Content-Type", "application/xml")], f"<Error><Code>{code}</Code><Message>so it is</Message></Error>".encode())


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers + [("x-amz-request-id", "1"), ("Content-Length", str(len(body)))], body

    def bytes(self, method):
        head = f"HTTP/1.1 {self.status} So\r\n" + "".join(f"{k}: {v}\r\n" for k, v in self.headers) + "\r\n"
        return head.encode("utf-8") + (b"" if method == "HEAD" else self.body)

    def set(self, name, value):
        self.headers = [(k, v) for k, v in self.headers if k.lower() != name.lower()] + ([(name, value)] if value is not None else [])


# ---- Changes: each takes the honest reply and returns the bytes to send, which may be an iterator ----

def cut(r, reply, method):
    data = reply.bytes(method)
    return data[:r.randrange(len(data))]


def flip(r, reply, method):
    data = bytearray(reply.bytes(method))
    for _ in range(r.randint(1, 4)):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)
    return bytes(data)


def flip_head(r, reply, method):
    data = bytearray(reply.bytes(method))
    for _ in range(r.randint(1, 3)):
        data[r.randrange(data.index(b"\r\n\r\n"))] = r.randrange(256)
    return bytes(data)


def splice(r, reply, method):
    data = reply.bytes(method)
    a, b, c = sorted(r.randrange(len(data) + 1) for _ in range(3))
    return r.choice([data[:a] + data[b:], data[:b] + data[a:], data[:a] + data[b:c] + data[a:b] + data[c:], data[:a] + r.randbytes(c - a) + data[a:]])


def no_http(r, reply, method):
    return r.choice([b"", b"no HTTP", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\nETag\n\n", b"\0" * 100, r.randbytes(300)])


def login(r, reply, method):
    reply = Reply(r.choice([200, 200, 302, 403, 511]), [("Content-Type", "text/html")], LOGIN)
    if reply.status == 302:
        reply.set("Location", f"http://127.0.0.1:{server.other}/login")
    return reply.bytes(method)


def status(r, reply, method):
    reply.status = r.choice([100, 101, 200, 201, 204, 206, 301, 304, 307, 400, 403, 404, 408, 409, 412, 416, 429, 500, 501, 503, 504, 999])
    return reply.bytes(method)


def an_error(r, reply, method):
    code = r.choice(["AccessDenied", "NoSuchKey", "SlowDown", "InternalError", "PreconditionFailed", "ExpiredToken", "x" * 5000, "\x1b[2J", ""])
    return error(r.choice([200, 400, 403, 404, 412, 500, 503]), code).bytes(method)


def redirect(r, reply, method):
    reply = Reply(r.choice([301, 302, 303, 307, 308]), [], b"")
    reply.set("Location", r.choice(["/", "", "http://", "file:///etc/passwd", "http://127.0.0.1:1/", "https://127.0.0.1:1/", "?x", "//", "x" * 20000,
                                    f"http://127.0.0.1:{server.other}/login"]))
    return reply.bytes(method)


def header(r, reply, method):
    """A header that is missing, twice, or of another value."""
    name, value = r.choice(reply.headers)
    length = len(reply.body)
    odd = {"Content-Length": NUMBERS + [str(length - 1), str(length + 1), str(length * 2)],
           "Content-Range": ["bytes 0-0/1", "bytes 5-4/9", "bytes */7", "bytes 0-99999999999/99999999999", "lines 1-2/3"],
           "ETag": ['""', '"other"', '"' + "e" * 500 + '"', 'W/"x"', '"a"b"', "*"]}.get(name, TEXTS)
    how = r.randrange(3)
    if how == 0:
        reply.set(name, None)
    elif how == 1:
        reply.headers.append((name, r.choice(odd)))
    else:
        reply.set(name, r.choice(odd))
    return reply.bytes(method)


def chunked(r, reply, method):
    reply.set("Content-Length", None)
    reply.set("Transfer-Encoding", "chunked")
    size = r.choice([b"%x" % len(reply.body), b"%x" % (len(reply.body) + 5), b"ffffffffffffffff", b"-1", b"", b"zz", b"0", b"%x;%s" % (len(reply.body), b"e" * 9000)])
    return reply.bytes("HEAD") + size + b"\r\n" + reply.body + b"\r\n0\r\n" + r.choice([b"", b"X: y\r\n", b"\0\r\n"]) + r.choice([b"", b"\r\n"])


def flood(r, reply, method):
    """More of something than memory could hold."""
    again, head = {"trailers": (b"X-Trailer: " + b"x" * 900 + b"\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n<\r\n0\r\n"),
                   "headers": (b"X-Header: " + b"x" * 900 + b"\r\n", b"HTTP/1.1 200 OK\r\n"),
                   "header": (b"x" * 1000, b"HTTP/1.1 200 OK\r\nX: "),
                   "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" * 30, b""),
                   "body": (b"x" * 65536, b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\n\r\n"),
                   "refusal": (b"x" * 65536, b"HTTP/1.1 403 No\r\n\r\n"),
                   "keys": (b"<Key>" + b"k" * 9000 + b"</Key>", b"HTTP/1.1 200 OK\r\n\r\n<ListBucketResult><Contents>"),
                   "entries": (b"<Contents><Key>" + b"k" * 9000 + b"</Key><Size>1</Size></Contents>", b"HTTP/1.1 200 OK\r\n\r\n<ListBucketResult>"),
                   "attributes": (b" a='" + b"x" * 9000 + b"'", b"HTTP/1.1 200 OK\r\n\r\n<ListBucketResult "),
                   "comments": (b"<!--" + b"x" * 9000 + b"-->", b"HTTP/1.1 200 OK\r\n\r\n<ListBucketResult>"),
                   "comment": (b"x" * 9000, b"HTTP/1.1 200 OK\r\n\r\n<ListBucketResult><!--")}[
        r.choice(["trailers", "headers", "header", "continue", "body", "refusal", "keys", "entries", "attributes", "comments", "comment"])]

    def pour():
        yield head
        for _ in range((1 << 30) // len(again)):
            yield again
    return pour()


def pause(r, reply, method):
    data = reply.bytes(method)
    at, seconds = r.randrange(len(data)), r.choice([0.1, 0.5, 1.7])

    def halt():
        yield data[:at]
        time.sleep(seconds)
        yield data[at:]
    return halt()


def element(r, reply, method):
    """Some element of an XML answer: gone, twice, moved, of another text; or something that S3 never sends."""
    text = reply.body.decode()
    found = list(re.finditer(r"<(\w+)>([^<]*)</\1>", text)) + list(re.finditer(r"<(Contents|Version)>.*?</\1>", text))
    if not found:
        return flip(r, reply, method)
    for _ in range(r.randint(1, 2)):
        at, other = r.choice(found), r.choice(found)
        tag = at.group().split(">")[0] + ">"
        odd = r.choice(NUMBERS if tag == "<Size>" else ["true", "false", "maybe", ""] if tag == "<IsTruncated>" else TEXTS)
        new = r.choice(["", at.group() * 2, other.group(), f"{tag}{odd}</{tag[1:]}", f"<!-- x -->{at.group()}", f"{tag}<![CDATA[{odd}]]></{tag[1:]}",
                        "<a>" * 20 + "</a>" * 20, f"<{tag[1:-1]} a='{odd}'/>", "&undefined;", "<!DOCTYPE a>", "<Contents>" * 2000, at.group() * 1001])
        text = text.replace(at.group(), new, 1)
    if r.random() < 0.1:
        text = re.sub("(</?)List(Bucket|Versions)Result", r"\1OtherResult", text)
    reply.body = text.encode() if r.random() < 0.95 else text.encode("utf-16")
    reply.set("Content-Length", str(len(reply.body)))
    return reply.bytes(method)


def lines(r, reply, method):
    """The manifest, or another body of lines."""
    some = reply.body.split(b"\n")
    at = r.randrange(len(some))
    some[at] = r.choice([b"", b"{", b"[" * 5000, b"null", some[at][:-3], some[at] * 2, b"x" * 9000, b'{"key":1,"size":"x"}',
                         b'{"key":"' + b"k" * 5000 + b'","size":1}', some[at].replace(b'"size": ', b'"size": 9')])
    body = b"\n".join(some)
    reply.body = body[:len(reply.body)].ljust(len(reply.body), b"\n")
    return reply.bytes(method)


GENERIC = [cut, flip, flip_head, splice, no_http, login, status, an_error, redirect, header, header, chunked, flood, pause]
KINDS = {"list": [element] * 8 + GENERIC, "manifest": [lines] * 4 + GENERIC, "head": [header] * 4 + GENERIC, "shard": GENERIC, "put": GENERIC}


def kind_of(method, key, query):
    if method in ("PUT", "HEAD"):
        return method.lower()
    return "list" if "list-type" in query or "versions" in query else "manifest" if key.endswith("manifest.jsonl") else "shard"


class Plan:
    """Which requests of a case are changed, and how."""
    def __init__(self, seed, case):
        self.random = random.Random(f"{seed} {case}")
        self.lock, self.seen, self.told = threading.Lock(), 0, []
        r = self.random
        self.kinds = r.sample(["list", "head", "shard", "manifest"], r.randint(1, 3)) + r.sample(["put"], r.randint(0, 1))
        self.only = r.choice([None, None, r.choice(KINDS[self.kinds[0]])])
        self.most = r.choice([1, 2, 5, 1000])
        self.share = r.choice([1, 1, 0.7, 0.3])
        self.after = r.choice([0, 0, 0, 1])

    def change(self, kind):
        """The function that changes this answer, or None; and a source of random numbers for it."""
        with self.lock:
            if kind not in self.kinds:
                return None, None
            self.seen += 1
            hit = self.seen > self.after and len(self.told) < self.most and self.random.random() < self.share
            change = self.only or self.random.choice(KINDS[kind])
            mine = random.Random(self.random.random())
            if hit:
                self.told.append(f"{kind}:{change.__name__}")
            return (change, mine) if hit else (None, None)


# ---- The server ----

class Server:
    def __init__(self, bucket):
        self.bucket, self.plans = bucket, {}
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(2)]
        self.port, self.other = (s.getsockname()[1] for s in self.listeners)
        for listener in self.listeners:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            sock = listener.accept()[0]
            threading.Thread(target=self.serve, args=(sock, listener is self.listeners[1]), daemon=True).start()

    def serve(self, sock, other):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            data = b""
            while True:
                request, data = self.read(sock, data)
                if not request or not self.reply(sock, other, *request):
                    break
        except (OSError, ValueError):
            pass
        sock.close()

    @staticmethod
    def read(sock, data):
        while b"\r\n\r\n" not in data:
            part = sock.recv(65536)
            if not part:
                return None, b""
            data += part
        head, _, data = data.partition(b"\r\n\r\n")
        first, *rows = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {k.lower(): v for k, _, v in (row.partition(": ") for row in rows)}
        length = int(headers.get("content-length", 0))
        while len(data) < length:
            part = sock.recv(65536)
            if not part:
                return None, b""
            data += part
        return (method, target, headers, data[:length]), data[length:]

    def reply(self, sock, other, method, target, headers, body):
        """Returns whether the connection stays open."""
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        key = urllib.parse.unquote(path).removeprefix("/kiln/")
        honest = Reply(200, [("Content-Type", "text/html")], LOGIN) if other else self.bucket.answer(method, key, query, headers, body)
        who = re.search(r"Credential=([^/]+)/", headers.get("authorization", ""))
        plan = self.plans.get(who.group(1)) if who else None
        change, r = plan.change(kind_of(method, key, query)) if plan else (None, None)
        if not change:
            sock.sendall(honest.bytes(method))
            return True
        data = change(r, honest, method)
        for part in [data] if isinstance(data, bytes) else data:
            sock.sendall(part)
        return r.random() < 0.3 and change not in (cut, no_http)


# ---- A run ----

class Run:
    def __init__(self, name, env):
        self.name, self.env, self.code, self.memory, self.stopped = name, env, None, 0, False
        self.log = os.path.join(options.dir, name + ".log")
        self.out = os.path.join(options.dir, name + ".out")

    def follow(self):
        """Runs fetchd and a reader until fetchd ends: by itself, or, after an error slot, by SIGTERM. Returns whether it ended in time."""
        with open(self.log, "wb") as log:
            fetchd = subprocess.Popen([options.fetchd], env=self.env, stderr=log)
        reader = self.start_reader()
        until = time.monotonic() + SECONDS_MAX
        while self.code is None and time.monotonic() < until:
            pid, status, usage = os.wait4(fetchd.pid, os.WNOHANG)
            if pid:
                self.code, self.memory = os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10
            elif reader.poll() is not None and not self.stopped:
                self.read()
                if reader.returncode and not self.error:  # there was no ring yet
                    reader = self.start_reader()
                elif self.error:
                    fetchd.send_signal(signal.SIGTERM)
                    self.stopped = True
            time.sleep(0.01)
        if self.code is None:
            fetchd.kill()
            os.wait4(fetchd.pid, 0)
        fetchd.returncode = self.code
        reader.kill()
        reader.wait()
        self.read()
        return self.code is not None

    def start_reader(self):
        with open(self.out, "wb") as out:
            return subprocess.Popen([options.reader, "--rows"], env=self.env, stdout=out, stderr=subprocess.DEVNULL)

    def read(self):
        with open(self.out, encoding="utf-8", errors="replace") as file:
            text = file.read().split("\n")[:-1]
        self.ended = "END_RUN" in text
        self.error = next((line for line in text if line.startswith("ERROR ")), None)
        self.lines = [line for line in text if not line.startswith(("ERROR ", "END_RUN"))]
        self.rows = {line.split(" ")[-1] for line in self.lines if line.startswith("ROW ")}

    def plan(self):
        try:
            with open(os.path.join(self.env["KILN_ROOT"], "data/kiln/run/current/plan"), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        except FileNotFoundError:
            return None

    def last_line(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return (file.read().strip().split("\n") or [""])[-1]


def environment(name):
    return os.environ | {"KILN_ROOT": os.path.join(options.dir, "nodes", name), "AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": "secret",
                         "ASAN_OPTIONS": "quarantine_size_mb=4:detect_leaks=1:abort_on_error=0"}


def begin():
    config = os.path.join(options.dir, "kiln.conf")
    with open(config, "w") as file:
        file.write(f'''
            run: {{ name = "t"; epochs = 1; batch_rows = 32; }};
            source: {{ url = "s3://kiln/data"; endpoint = "http://127.0.0.1:{server.port}"; }};
            sink: {{ url = "s3://kiln/runs"; endpoint = "http://127.0.0.1:{server.port}"; }};
            ring: {{ small_pages = true; slots = 8; }};
            order: {{ window_shards = 2; }};
            fetch: {{ part_bytes = 65536; memory_bytes = {MEMORY_BYTES}; attempts_max = 3; low_speed_s = 1; connect_timeout_ms = 500; }};
            schema = ( {{ name = "sentence"; dtype = "float32"; shape = [ 8 ]; }}, {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );''')
    env = environment("template")
    os.makedirs(env["KILN_ROOT"])
    subprocess.run([options.bin + "/kiln-oneshot", "begin", "--config", config], env=env, check=True, stdout=subprocess.DEVNULL)


def begun(name):
    env = environment(name)
    shutil.copytree(environment("template")["KILN_ROOT"], env["KILN_ROOT"], symlinks=True)
    return Run(name, env)


def wrong_with(run, honest):
    """Returns what a run did wrong, or None."""
    with open(run.log, encoding="utf-8", errors="replace") as file:
        log = file.read()
    if SANITIZERS.search(log):
        return "a sanitizer speaks"
    if run.code not in ([-signal.SIGTERM] if run.stopped else [0, 65, 69, 77, 78]):
        return f"kiln-fetchd ended with {run.code}"
    if run.memory > honest.memory + MEMORY_BYTES + MEMORY_MORE:
        return f"{run.memory >> 20} MiB of memory, {honest.memory >> 20} without changes"
    if not run.rows <= honest.rows:
        return "rows that are in no shard"
    if run.plan() == honest.plan() and run.lines != honest.lines[:len(run.lines)]:
        return "other rows, or another order"
    if run.code == 0 and not run.ended:
        return "exit status 0 before the end of the run"
    if run.code in (65, 69, 77, 78) and not OBJECT.search(run.last_line()):
        return f"the last line names no object: {run.last_line()}"
    if run.error and not OBJECT.search(run.error):
        return f"the error names no object: {run.error}"
    return None


def try_case(case, honest):
    name = f"case{case}"
    plan = server.plans[name] = Plan(options.seed, case)
    run = begun(name)
    wrong = wrong_with(run, honest) if run.follow() else f"does not end within {SECONDS_MAX} s"
    said = run.error or ("END_RUN" if run.ended else f"exit status {run.code}: {run.last_line()}")
    label = f"seed {options.seed} case {case}: {len(plan.told)} answers changed ({' '.join(sorted(set(plan.told)))[:150]})"
    subprocess.run([options.bin + "/kiln-oneshot", "release"], env=run.env, check=False)
    details = ""
    if wrong:
        with open(run.log, encoding="utf-8", errors="replace") as file:
            details = "".join(f"\n# {line}" for line in [wrong, said[:500]] + file.read().split("\n")[-40:])
    shutil.rmtree(run.env["KILN_ROOT"], ignore_errors=True)
    del server.plans[name]
    return f"{'not ok' if wrong else 'ok'} {label}: {said[:160]!a}{details}"


arguments = argparse.ArgumentParser()
arguments.add_argument("dir")
for file in ("fetchd", "reader", "bin"):
    arguments.add_argument("--" + file, required=True)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("--cases", type=int, default=24)
arguments.add_argument("--only", type=int)
arguments.add_argument("--jobs", type=int, default=4)
options = arguments.parse_args()
server = Server(Bucket(os.path.join(options.dir, "data"), options.seed % 2 == 1))
begin()
honest = begun("honest")
wrong = wrong_with(honest, honest) if honest.follow() else "does not end"
print(f"{'not ok' if wrong or not honest.ended else 'ok'} without changes the run ends: {len(honest.rows)} rows, "
      f"{honest.memory >> 20} MiB of memory {wrong or ''}", flush=True)
if wrong or not honest.ended:
    sys.exit(1)
with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    for text in pool.map(lambda case: try_case(case, honest), [options.only] if options.only is not None else range(options.cases)):
        print(text, flush=True)
