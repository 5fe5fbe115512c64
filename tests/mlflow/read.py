# SPDX-License-Identifier: Apache-2.0
"""read.py SERVER EXPRESSION [RUN_ID]: prints a Python expression of what MLflow's own client reads from the server.

r            the MLflow run with the tag kiln.run_id = RUN_ID (None: there is none), runs: all of them
history(k)   [(step, value)] of a metric of r, as MLflow's client returns its history, all rows; history(k, run): of another run
c            the client; experiment(name)"""
import sys

from mlflow import MlflowClient

c = MlflowClient(sys.argv[1])
run_id = sys.argv[3] if len(sys.argv) > 3 else ""
ids = [e.experiment_id for e in c.search_experiments()]


def find(tag, value):
    return list(c.search_runs(ids, f"tags.`{tag}` = '{value}'"))


def history(key, run=None):
    return sorted((m.step, m.value) for m in c.get_metric_history((run or r).info.run_id, key))


def experiment(name):
    return c.get_experiment_by_name(name)


runs = find("kiln.run_id", run_id)
r = runs[0] if runs else None
print(eval(sys.argv[2]))
