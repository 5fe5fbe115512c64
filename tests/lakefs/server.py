# SPDX-License-Identifier: Apache-2.0
"""A contract server for lakeFS's API, over a real S3 server: requests and answers are validated against lakeFS's OpenAPI document,
and branches, commits, merges and imports do what lakeFS says they do. No lakeFS server was ever beside it: what it is held to are the
document, and lakeFS's own clients (clients.py).

    server.py FOLDER    writes FOLDER/env, to source: KILN_LAKEFS, KILN_LAKEFS_KEY, KILN_LAKEFS_SECRET; runs until it is killed

The environment has KILN_S3_ENDPOINT, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the S3 server. Tests alone call /_test/: GET log
(requests of the API), GET violations (of the contract), redirects (by the gateway), POST faults [{method, path, status, headers, body, times}], POST
hooks {repository, hooks: [{event, branch, message}]} (those that refuse; branch: a pattern of branches or tags), POST deny [actions of a policy, such as fs:DeleteBranch] that the access key may not do, POST hold
{method, path} (the first such request, of the API or the gateway, waits), GET held (whether it waits), POST release, POST lost N (so many multipart uploads are completed, and the answer is 500), POST away true or false (the API gives no answer, the gateway does), GET repository/NAME (its branches with
their commits, newest first, and uncommitted paths, its tags, and all commits),
posts (how many different POST requests there were), POST clear.
"""
import base64
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

import boto3
from botocore.config import Config
from contract import Contract, Request, Response
from gateway import Gateway
from repository import Refused, Repository, typed

API = "/api/v1"
PER_PAGE = 100

# The actions that a request needs (lakeFS's policies): method, pattern of the path below the repository.
ACTIONS = [("GET", "branches/[^/]+", "fs:ReadBranch"), ("POST", "branches", "fs:CreateBranch"), ("DELETE", "branches/[^/]+", "fs:DeleteBranch"),
           ("GET", "commits/[^/]+", "fs:ReadCommit"), ("GET", "refs/[^/]+/commits", "fs:ReadBranch"),
           ("POST", "branches/[^/]+/commits", "fs:CreateCommit"), ("POST", "refs/[^/]+/merge/[^/]+", "fs:CreateCommit"),
           ("GET", "branches/[^/]+/diff", "fs:ListObjects"), ("GET", "refs/[^/]+/diff/[^/]+", "fs:ListObjects"),
           ("GET", "tags/[^/]+", "fs:ReadTag"), ("POST", "tags", "fs:CreateTag"), ("GET", "", "fs:ReadRepository"),
           ("GET", "branches/[^/]+/import", "fs:ReadBranch"),
           *(("POST", "branches/[^/]+/import", action) for action in ("fs:ImportFromStorage", "fs:WriteObject", "fs:CreateCommit")),
           ("PUT", "settings/branch_protection", "branches:SetBranchProtectionRules")]


def text_of(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


class Server:
    def __init__(self):
        self.key, self.secret = "AKIAKILNLAKEFSTEST01", "lakefsTestSecret/With+Signs01234567890ab"
        self.s3 = boto3.client("s3", endpoint_url=os.environ["KILN_S3_ENDPOINT"], region_name="us-east-1",
                               config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
        self.redirects, self.away, self.denied = 0, False, []
        self.holding, self.held, self.release = None, False, threading.Event()
        self.repositories, self.log, self.violations, self.faults = {}, [], [], []
        self.contract, self.gateway, self.lock = Contract(), Gateway(self), threading.Lock()
        self.authorization = "Basic " + base64.b64encode(f"{self.key}:{self.secret}".encode()).decode()

    # ---- One call of the API ----

    def fault(self, method, path):
        with self.lock:
            for fault in self.faults:
                if fault["times"] > 0 and fault["method"] == method and re.search(fault["path"], path):
                    fault["times"] -= 1
                    return fault
        return None

    def api(self, host, method, target, headers, body):
        if self.away:
            return 0, {}, b""
        request = Request(host, method, target, headers, body)
        path = request.path
        with self.lock:
            self.log.append([method, target, json.loads(body) if body else None])
        wrong = self.contract.request_fault(request)
        if wrong:
            self.violations.append(f"request {method} {target} {body}: {wrong}")
            return 400, {}, text_of({"message": f"the contract does not allow this request: {wrong}"})
        fault = self.fault(method, path)
        if fault and not fault.get("after"):
            status, answer, more = fault["status"], text_of(fault["body"]), fault.get("headers", {})
        else:
            status, answer = self.route(method, path, dict(request.parameters.query), headers, body)
            more = {}
            if fault:  # carried out, and the answer is lost
                status, answer, more = fault["status"], text_of(fault["body"]), fault.get("headers", {})
        kind = "text/html" if isinstance(answer, bytes) and answer[:1] != b"{" else "application/json"
        data = b"" if status == 204 else text_of(answer)
        wrong = self.contract.response_fault(request, Response(status, kind, data))
        if wrong and not more.get("X-Foreign"):
            self.violations.append(f"answer to {method} {target}: {status} {data[:300]}: {wrong}")
        return status, {"Content-Type": kind, **more}, data

    def route(self, method, path, query, headers, body):
        if headers.get("authorization") != self.authorization:
            return 401, {"message": "error authenticating request"}
        parts = [urllib.parse.unquote(p) for p in path[len(API) + 1:].split("/")]
        sent = json.loads(body) if body else {}
        try:
            if parts == ["repositories"]:
                return self.create_repository(sent)
            repository = self.repositories.get(parts[1])
            if not repository:
                raise Refused(404, f"repository {parts[1]}: not found")
            self.check_permission(method, parts[2:])
            with repository.lock:
                return self.of_repository(repository, method, parts[2:], query, sent)
        except Refused as e:
            # of a merge that conflicts the document still has an empty MergeResult
            return e.status, {"reference": ""} if e.status == 409 and "merge" in parts else {"message": e.message}

    def check_permission(self, method, parts):
        path = "/".join(parts)
        if any(m == method and re.fullmatch(pattern, path) and action in self.denied for m, pattern, action in ACTIONS):
            raise Refused(401, "insufficient permissions")

    def hold(self, method, path):
        """Lets a request wait, where a test wants it to."""
        with self.lock:
            wanted = self.holding
            if not wanted or wanted["method"] != method or not re.search(wanted["path"], path):
                return
            self.holding, self.held = None, True
        self.release.wait(120)
        self.held = False

    def create_repository(self, sent):
        name = sent["name"]
        if name in self.repositories:
            raise Refused(409, "error creating repository: not unique")
        self.repositories[name] = Repository(name, sent["storage_namespace"], sent.get("default_branch") or "main")
        return 201, self.repositories[name].json()

    def of_repository(self, repository, method, parts, query, sent):
        match method, parts:
            case "GET", []:
                return 200, repository.json()
            case "GET", ["branches"]:
                return 200, page(repository.branch_list(query.get("prefix", "")), query)
            case "POST", ["branches"]:
                return 201, repository.create_branch(sent["name"], sent["source"]).encode()
            case "GET", ["branches", name]:
                return 200, repository.branch_head(name)
            case "DELETE", ["branches", name]:
                repository.delete_branch(name)
                return 204, b""
            case "POST", ["branches", name, "commits"]:
                return 201, repository.commit(name, sent["message"], sent.get("metadata", {}), sent.get("allow_empty"))
            case "GET", ["branches", name, "diff"]:
                return 200, page(typed(repository.uncommitted(name)), query)
            case "GET", ["refs", ref, "commits"]:
                return 200, repository.log(ref, query)
            case "GET", ["commits", ref]:
                return 200, repository.commit_json(ref)
            case "POST", ["refs", source, "merge", branch]:
                return 200, {"reference": repository.merge(source, branch, sent.get("message"), sent.get("metadata", {}),
                                                           sent.get("allow_empty"), sent.get("strategy"))}
            case "GET", ["refs", left, "diff", right]:
                return 200, page(repository.diff(left, right, query.get("type") == "two_dot"), query)
            case "POST", ["tags"]:
                return 201, repository.create_tag(sent["id"], sent["ref"])
            case "GET", ["tags", name]:
                return 200, repository.tag(name)
            case "POST", ["branches", name, "import"]:
                return self.start_import(repository, name, sent)
            case "GET", ["branches", name, "import"]:
                if query["id"] not in repository.imports:
                    raise Refused(404, "import not found")
                return 200, repository.imports[query["id"]]
            case "GET", ["settings", "branch_protection"]:
                return 200, [{"pattern": pattern} for pattern in repository.protected]
            case "PUT", ["settings", "branch_protection"]:
                repository.protected = [rule["pattern"] for rule in sent]
                return 204, b""
            case _:
                raise Refused(404, "invalid API endpoint")

    # ---- Import ----

    def start_import(self, repository, branch, sent):
        repository.branch_head(branch)
        number = f"import{len(repository.imports):016d}"
        repository.imports[number] = {"completed": False, "update_time": now(), "ingested_objects": 0}
        threading.Thread(target=self.run_import, args=(repository, branch, number, sent), daemon=True).start()
        return 202, {"id": number}

    def run_import(self, repository, branch, number, sent):
        state, entries = repository.imports[number], {}
        try:
            for path in sent["paths"]:
                bucket, _, prefix = path["path"][len("s3://"):].partition("/")
                for found in self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
                    for o in found.get("Contents", []):
                        entries[path["destination"] + o["Key"][len(prefix):]] = {
                            "bucket": bucket, "key": o["Key"], "etag": o["ETag"].strip('"'), "size": o["Size"],
                            "mtime": int(o["LastModified"].timestamp())}
                    state.update(ingested_objects=len(entries), update_time=now())
            if not entries:
                raise ValueError(f"{sent['paths'][0]['path']}: no objects")
            with repository.lock:
                commit = repository.import_tree(branch, entries, sent["paths"][0]["destination"], sent["commit"]["message"],
                                                sent["commit"].get("metadata", {}))
            state.update(commit=commit, metarange_id=commit["meta_range_id"], completed=True, update_time=now())
        except Exception as e:
            state.update(error={"message": str(e)}, completed=True, update_time=now())

    # ---- For tests ----

    def test(self, name, body):
        sent = json.loads(body) if body else None
        if name == "faults":
            self.faults = sent
        elif name == "hooks":
            self.repositories[sent["repository"]].hooks = sent["hooks"]
        elif name == "deny":
            self.denied = sent
        elif name == "hold":
            self.release.clear()
            self.holding = sent
        elif name == "held":
            return self.held
        elif name == "release":
            self.release.set()
        elif name == "lost":
            self.gateway.lost = sent
        elif name == "away":
            self.away = sent
        elif name.startswith("repository/"):
            return self.repositories[name[11:]].seen()
        elif name == "posts":
            return len({json.dumps(entry) for entry in self.log if entry[0] == "POST"})
        elif name == "clear":
            self.log.clear()
        return {"log": self.log, "violations": self.violations, "redirects": self.redirects}.get(name, [])


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def page(entries, query):
    paths = sorted(p for p in entries if p > query.get("after", ""))
    amount = int(query.get("amount", PER_PAGE))
    shown = paths[:amount]
    return {"pagination": {"has_more": len(paths) > amount, "max_per_page": 1000, "results": len(shown),
                           "next_offset": shown[-1] if len(paths) > amount else ""},
            "results": [entries[p] for p in shown]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "lakeFS"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers, server = {k.lower(): v for k, v in self.headers.items()}, self.server.lakefs
        if self.path.startswith("/_test/"):
            self.send(200, {"Content-Type": "application/json"}, text_of(server.test(self.path[7:], body)))
            return
        server.hold(self.command, urllib.parse.unquote(self.path))
        if headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"):
            answer = server.gateway.handle(self.command, self.path, headers, body)
        else:
            named = {"Content-Type": self.headers.get("Content-Type", ""), "Authorization": headers.get("authorization", "")}
            answer = server.api(self.headers["Host"], self.command, self.path, {**named, **headers}, body)
        self.send(*answer)

    def send(self, status, headers, body):
        if status == 0:  # a fault: the connection is cut
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if status != 204 or name != "Content-Length":
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def log_message(self, *_):
        pass


def main():
    lakefs = Server()
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads, httpd.lakefs = True, lakefs
    env = os.path.join(sys.argv[1], "env")
    with open(env + ".new", "w", encoding="utf-8") as file:
        file.write(f"export KILN_LAKEFS=http://127.0.0.1:{httpd.server_port} KILN_LAKEFS_KEY={lakefs.key} "
                   f"KILN_LAKEFS_SECRET={lakefs.secret}\n")
    os.rename(env + ".new", env)
    httpd.serve_forever()


if __name__ == "__main__":
    main()
