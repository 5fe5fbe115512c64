# SPDX-License-Identifier: Apache-2.0
"""Two trials of a series in TensorBoard's HParams page: its own backend lists them with the overrides, the status and the metrics of
the scalars that each trial has, in a row for each trial; the events have the form of TensorBoard's own writer."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups, metadata

from lib.tap import BIN, BUILD, ROOT, end, ok

TRIALS = {"adam": {"optimizer.name": "adam", "optimizer.learning_rate": 0.005, "optimizer.use_ema": False},
          "sgd": {"optimizer.name": "sgd", "optimizer.learning_rate": 0.5, "optimizer.use_ema": True}}
CONFIG = """
run: {{ name = "{trial}"; epochs = 2; batch_rows = 16; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/runs"; }};
split: {{ by = "prefix"; }};
ring: {{ small_pages = true; }};
power: {{ upload_wait_min = 0; }};
tensorboard: {{ every_steps = 1; }};
schema = ( {{ name = "sentence"; dtype = "float32"; shape = [ 512 ]; }}, {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );
model: {{ layers = ( {{ op = "dense"; units = 4; }}, {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""


def programs(work, trial, overrides):
    """A folder of Kiln's programs, whose kiln-oneshot begin makes the run a trial: it adds to run.json what that of a series writes."""
    folder = f"{work}/{trial}.bin"
    os.mkdir(folder)
    for path in glob.glob(BIN + "/kiln*"):
        os.symlink(path, folder + "/" + os.path.basename(path))
    os.unlink(folder + "/kiln-oneshot")
    with open(folder + "/kiln-oneshot", "w") as out:
        out.write(f"""#!{sys.executable}
import glob, json, os, subprocess, sys
code = subprocess.run(["{BIN}/kiln-oneshot", *sys.argv[1:]]).returncode
for path in glob.glob(os.environ["KILN_ROOT"] + "/**/current/run.json", recursive=True) if sys.argv[1] == "begin" else []:
    record = json.load(open(path))
    json.dump({{**record, "overrides": {overrides}, "series": {{"id": "a-series", "trial": "{trial}"}}}}, open(path, "w"))
sys.exit(code)
""")
    os.chmod(folder + "/kiln-oneshot", 0o755)
    return folder


def train(work, trial, overrides):
    os.environ["KILN_ROOT"] = f"{work}/{trial}"
    config = f"{work}/{trial}.conf"
    with open(config, "w") as out:
        out.write(CONFIG.format(work=work, trial=trial))
    night = subprocess.run([ROOT + "/tools/night", programs(work, trial, overrides), config], capture_output=True, text=True)
    subprocess.run([BIN + "/kiln-oneshot", "release"])
    ok(night.returncode == 0, f"a night: {trial}", night.stdout + night.stderr)
    return open(f"{work}/{trial}/run/kiln/night/run-id").read().strip()


def page(logdir):
    multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(logdir)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, logdir)
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = context.RequestContext()
    experiment = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    wanted = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=10, allowed_statuses=range(4))
    wanted.col_params.extend(api_pb2.ColParams(metric=info.name) for info in experiment.metric_infos)
    groups = list_session_groups.Handler(request, backend, "", wanted).run().session_groups
    return experiment, [(group, session) for group in groups for session in group.sessions]


def own_form(logs):
    """Tells for each event whether it is as TensorBoard's writer makes it of the same content, but for the order of the settings."""
    for path in sorted(glob.glob(logs + "/events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(path):
            for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value:
                content = metadata.plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
                theirs = metadata.create_summary_metadata(content)
                yield len(value.metadata.SerializeToString()) == len(theirs.SerializeToString()) and \
                    value.metadata.plugin_data.plugin_name == theirs.plugin_data.plugin_name and \
                    value.tensor.SerializeToString() == metadata.NULL_TENSOR.SerializeToString()


def main():
    work = tempfile.mkdtemp(prefix="kiln-interop-")
    try:
        for split in ("train", "validation", "test"):
            subprocess.run([BUILD + "/system/make_shards", work + "/data", split, "1", "40", "plain", "512"], check=True,
                           stdout=subprocess.DEVNULL)
        runs = {trial: train(work, trial, overrides) for trial, overrides in TRIALS.items()}
        experiment, sessions = page(work + "/runs")
        found = {session.name.split("/")[0]: (group, session) for group, session in sessions}
        ok(sorted(found) == sorted(runs.values()), "the page has a session for each trial", sessions)
        ok(sorted(group.name for group, _ in sessions) == ["a-series/adam", "a-series/sgd"], "and a row", sessions)
        for trial, overrides in TRIALS.items():
            group, session = found[runs[trial]]
            hparams = {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()}
            ok(hparams == overrides, f"{trial}: the overrides are its settings", hparams)
            ok(session.status == api_pb2.STATUS_SUCCESS, f"{trial}: it ended well", session)
            metrics = {(metric.name.group, metric.name.tag): metric.value for metric in session.metric_values}
            record = json.load(open(f"{work}/runs/{runs[trial]}/run.json"))
            ok(abs(metrics[("validation", "epoch_loss")] - record["epochs"][-1]["validation_loss"]) < 1e-6
               and ("train", "epoch_loss") in metrics and ("steps", "batch_loss") in metrics,
               f"{trial}: the scalars are its metrics, the last ones", metrics)
            forms = list(own_form(f"{work}/runs/{runs[trial]}/logs"))
            ok(forms == [True, True], f"{trial}: a beginning and an end, in the form of TensorBoard's writer", forms)
        infos = {info.name: info.type for info in experiment.hparam_infos}
        ok(infos == {"optimizer.name": api_pb2.DATA_TYPE_STRING, "optimizer.learning_rate": api_pb2.DATA_TYPE_FLOAT64,
                     "optimizer.use_ema": api_pb2.DATA_TYPE_BOOL}, "with their types", infos)
    finally:
        shutil.rmtree(work)
    return end()


sys.exit(main())
