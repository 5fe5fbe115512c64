#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server with the part of MLflow's REST API 2.0 that Kiln uses, in memory, which fails as it is told. tests/mlflow holds the
same story against the real server.

mlflow_fake.py DIR     prints its port when ready. DIR/faults is a JSON list, which is read again for each request; a request
meets the first fault that fits. Requests are logged to DIR/log, a line each: METHOD, path, time, login. GET /dump: everything
that the server has; a metric that is logged twice with the same key, value, time and step is one row, as in MLflow's database.

    match    regular expression for "METHOD path"
    having   text that the body must have, too
    do       answer   `status`, `code` (MLflow's error code), `body` (in place of MLflow's JSON), `headers`
             hang     no answer for 100 s
             lose     does what was asked for, and cuts the connection without an answer
    count    how many requests meet it (default all)"""
import http.server
import json
import os
import re
import socketserver
import sys
import threading
import time
import urllib.parse

folder = sys.argv[1]
lock = threading.Lock()
experiments, runs, models, met = {}, {}, {}, {}
log = open(os.path.join(folder, "log"), "a")


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


def want(good, message):
    if not good:
        raise Refused(400, "INVALID_PARAMETER_VALUE", message)


def missing(what):
    return Refused(404, "RESOURCE_DOES_NOT_EXIST", f"{what} not found")


def run_of(body):
    run = runs.get(body["run_id"])
    if not run:
        raise missing(f"run {body['run_id']}")
    want(run["stage"] == "active", "The run must be in the 'active' state")
    return run


def set_tags(tags, body):
    for tag in body.get("tags", []):
        want(len(tag["key"]) <= 250 and len(tag["value"]) <= 5000, "a tag is too long")
        tags[tag["key"]] = tag["value"]


def create_experiment(body):
    if body["name"] in experiments:
        raise Refused(400, "RESOURCE_ALREADY_EXISTS", f"experiment {body['name']} exists")
    experiments[body["name"]] = str(len(experiments) + 1)
    return {"experiment_id": experiments[body["name"]]}


def experiment_by_name(query):
    name = query["experiment_name"][0]
    if name not in experiments:
        raise missing(f"experiment {name}")
    return {"experiment": {"experiment_id": experiments[name], "name": name, "lifecycle_stage": "active"}}


def create_run(body):
    want(body["experiment_id"] in experiments.values(), "no such experiment")
    run = {"id": f"{len(runs):032x}", "name": body["run_name"], "stage": "active", "status": "RUNNING", "start": body["start_time"],
           "end": None, "tags": {}, "params": {}, "rows": [], "posted": 0, "experiment": body["experiment_id"]}
    set_tags(run["tags"], body)
    runs[run["id"]] = run
    return {"run": {"info": {"run_id": run["id"]}}}


def search_runs(body):
    key, value = re.fullmatch(r"tags\.`([^`]+)` = '([^']*)'", body["filter"]).groups()
    found = [r for r in runs.values() if r["experiment"] in body["experiment_ids"] and r["stage"] == "active"
             and r["tags"].get(key) == value]
    return {"runs": [{"info": {"run_id": r["id"]}} for r in sorted(found, key=lambda r: r["id"])[:body["max_results"]]]}


def log_batch(body):
    run = run_of(body)
    metrics, params = body.get("metrics", []), body.get("params", [])
    want(len(metrics) <= 1000 and len(params) <= 100 and len(body.get("tags", [])) <= 100, "too many for one call")
    for param in params:
        want(len(param["key"]) <= 250 and len(param["value"]) <= 500, "a parameter is too long")
        want(run["params"].get(param["key"], param["value"]) == param["value"], f"{param['key']} has another value")
        run["params"][param["key"]] = param["value"]
    run["posted"] += len(metrics)
    for m in metrics:
        row = [m["key"], float(m["value"]), m["timestamp"], m["step"]]
        if row not in run["rows"]:
            run["rows"].append(row)
    set_tags(run["tags"], body)
    return {}


def update_run(body):
    run = run_of(body)
    run["status"], run["end"] = body["status"], body.get("end_time")
    return {"run_info": {"run_id": run["id"]}}


def delete_run(body):
    run_of(body)["stage"] = "deleted"
    return {}


def create_model(body):
    if body["name"] in models:
        raise Refused(400, "RESOURCE_ALREADY_EXISTS", f"model {body['name']} exists")
    models[body["name"]] = {"versions": [], "aliases": {}}
    return {"registered_model": {"name": body["name"]}}


def search_versions(query):
    name = re.fullmatch("name='(.*)'", query["filter"][0])[1]
    return {"model_versions": list(reversed(models.get(name, {"versions": []})["versions"]))}


def create_version(body):
    want(not body["source"].startswith("file:"), "Invalid model version source")
    versions = models[body["name"]]["versions"]
    versions.append({"version": str(len(versions) + 1), "source": body["source"], "run_id": body.get("run_id"),
                     "tags": body.get("tags", [])})
    return {"model_version": versions[-1]}


def set_alias(body):
    models[body["name"]]["aliases"][body["alias"]] = body["version"]
    return {}


CALLS = {"POST experiments/create": create_experiment, "GET experiments/get-by-name": experiment_by_name,
         "POST runs/create": create_run, "POST runs/search": search_runs, "POST runs/log-batch": log_batch,
         "POST runs/update": update_run, "POST runs/delete": delete_run, "POST registered-models/create": create_model,
         "GET model-versions/search": search_versions, "POST model-versions/create": create_version,
         "POST registered-models/alias": set_alias}


def fault_of(line, body):
    try:
        with open(os.path.join(folder, "faults")) as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    with lock:
        for i, fault in enumerate(json.loads(text)):
            if re.search(fault["match"], line) and fault.get("having", "").encode() in body and met.get((text, i), 0) < fault.get("count", 1 << 62):
                met[text, i] = met.get((text, i), 0) + 1
                return fault
    return {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, headers=()):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def call(self, name, argument):
        with lock:
            try:
                return 200, json.dumps(CALLS[name](argument))
            except Refused as e:
                return e.status, json.dumps({"error_code": e.code, "message": str(e)})
            except KeyError as e:
                return 404, json.dumps({"error_code": "ENDPOINT_NOT_FOUND", "message": f"{name}: {e}"})

    def handle_request(self):
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if url.path == "/dump":
            return self.answer(200, json.dumps({"runs": runs, "experiments": experiments, "models": models}))
        name = f"{self.command} {url.path.removeprefix('/api/2.0/mlflow/')}"
        with lock:
            log.write(f"{name} {time.time():.3f} {self.headers.get('Authorization', '-')}\n")
            log.flush()
        fault = fault_of(name, body)
        if fault.get("do") == "answer":
            text = fault.get("body", json.dumps({"error_code": fault.get("code"), "message": "told to"}))
            return self.answer(fault["status"], text, fault.get("headers", {}))
        if fault.get("do") == "hang":
            return time.sleep(100)
        status, text = self.call(name, json.loads(body) if self.command == "POST" else urllib.parse.parse_qs(url.query))
        if fault.get("do") == "lose":
            self.close_connection = True
            return None
        return self.answer(status, text)

    do_GET = do_POST = handle_request


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
