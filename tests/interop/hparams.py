# SPDX-License-Identifier: Apache-2.0
"""A series by halving in TensorBoard's HParams page: its own backend lists the trials with the overrides, the status and the metrics
of the scalars that each trial has, in a row for each trial, one that went on after a rest, too; the events have the form of
TensorBoard's own writer."""
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
          "ema": {"optimizer.name": "adam", "optimizer.learning_rate": 0.05, "optimizer.use_ema": True},
          "sgd": {"optimizer.name": "sgd", "optimizer.learning_rate": 0.5, "optimizer.use_ema": True},
          "slow": {"optimizer.name": "sgd", "optimizer.learning_rate": 0.0001, "optimizer.use_ema": False}}
CONFIG = """
run: {{ name = "hparams"; epochs = 4; batch_rows = 16; seed = 7; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/runs"; }};
split: {{ by = "prefix"; }};
ring: {{ small_pages = true; }};
tensorboard: {{ every_steps = 1; }};
schema = ( {{ name = "sentence"; dtype = "float32"; shape = [ 512 ]; }}, {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );
model: {{ layers = ( {{ op = "dense"; units = 4; }}, {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
experiments = ( {experiments} );
series = {{ method = "halving"; reduction = 2; }};
"""


def element(trial):
    """The trial as an element of experiments."""
    keys = [f"{key.removeprefix('optimizer.')} = {json.dumps(value)};" for key, value in TRIALS[trial].items()]
    return f'{{ name = "{trial}"; overrides = {{ optimizer = {{ {" ".join(keys)} }}; }}; }}'


def series(work):
    """Trains the series. Returns its record's trials by their names."""
    os.environ["KILN_ROOT"] = f"{work}/box"
    os.mkdir(f"{work}/box")
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(work=work, experiments=", ".join(element(trial) for trial in TRIALS)))
    night = subprocess.run([BIN + "/kiln", "run", "--config", f"{work}/kiln.conf"], capture_output=True, text=True)
    subprocess.run([BIN + "/kiln-oneshot", "release"])
    ok(night.returncode == 0, "a series by halving", night.stdout + night.stderr)
    [record] = glob.glob(f"{work}/runs/series/*/series.json")
    return json.load(open(record))["id"], {trial["name"]: trial for trial in json.load(open(record))["trials"]}


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
        name, trials = series(work)
        rungs = {len(trial["rungs"]) for trial in trials.values()}
        ok({trial["state"] for trial in trials.values()} == {"finished", "pruned"} and min(rungs) == 1 and max(rungs) > 1,
           "some trials are pruned, some go on after a rest", trials)
        experiment, sessions = page(work + "/runs")
        found = {session.name.split("/")[0]: (group, session) for group, session in sessions}
        ok(len(sessions) == len(trials) and sorted(found) == sorted(trial["run"] for trial in trials.values()),
           "the page has a session for each trial", sessions)
        ok(sorted(group.name for group, _ in sessions) == sorted(f"{name}/{trial}" for trial in trials), "and a row", sessions)
        for trial, overrides in TRIALS.items():
            run = trials[trial]["run"]
            group, session = found[run]
            hparams = {key: getattr(value, value.WhichOneof("kind")) for key, value in group.hparams.items()}
            ok(hparams == overrides, f"{trial}: the overrides are its settings", hparams)
            ok(session.status == api_pb2.STATUS_SUCCESS and session.end_time_secs >= session.start_time_secs > 0,
               f"{trial}: it ended well", session)
            metrics = {(metric.name.group, metric.name.tag): metric for metric in session.metric_values}
            epochs = json.load(open(f"{work}/runs/{run}/run.json"))["epochs"]
            last = metrics[("validation", "epoch_loss")]
            ok(abs(last.value - epochs[-1]["validation_loss"]) < 1e-6 and len(epochs) == trials[trial]["epochs"]
               and ("train", "epoch_loss") in metrics and ("steps", "batch_loss") in metrics,
               f"{trial}: the scalars are its metrics, the last ones", metrics)
            forms = list(own_form(f"{work}/runs/{run}/logs"))
            ok(forms == [True] * (1 + len(trials[trial]["rungs"])),
               f"{trial}: a beginning, and an end for each rung, in the form of TensorBoard's writer", forms)
        infos = {info.name: info.type for info in experiment.hparam_infos}
        ok(infos == {"optimizer.name": api_pb2.DATA_TYPE_STRING, "optimizer.learning_rate": api_pb2.DATA_TYPE_FLOAT64,
                     "optimizer.use_ema": api_pb2.DATA_TYPE_BOOL}, "with their types", infos)
    finally:
        shutil.rmtree(work)
    return end()


sys.exit(main())
