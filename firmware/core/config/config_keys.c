/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_keys.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct config, member)
#define INT53      9007199254740992.0 /* 2^53: exact in JSON and in double */
#define GIB        1073741824.0
#define ANY_INT    0, INT53
#define NO_BOUNDS  0, 0
/* clang-format off */
#define NO_NAMES { 0 }

/* `FIELD` gives the offset of a member of struct config_store. */
#define STORE_KEYS(prefix, FIELD, what)										\
	{ prefix "url", KEY_URL, "", NULL, NO_BOUNDS, NO_NAMES, FIELD(url),					\
	  what ": s3://bucket/prefix, or file:///folder for the embedded store" },				\
	{ prefix "endpoint", KEY_ENDPOINT, "", "", NO_BOUNDS, NO_NAMES, FIELD(endpoint),			\
	  "S3 server, https://host:port or http://host:port; empty = AWS in `region`" },			\
	{ prefix "region", KEY_REGION, "", "us-east-1", NO_BOUNDS, NO_NAMES, FIELD(region),			\
	  "region that requests are signed for" },								\
	{ prefix "credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, FIELD(credential),			\
	  "name of the credential; empty = AWS_ACCESS_KEY_ID and its kin, without them unsigned requests" },	\
	{ prefix "ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, FIELD(ca_file),				\
	  "PEM file of the certificate authorities to trust; empty = the system's" },				\
	{ prefix "url_style", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "path", "virtual" }, FIELD(url_style),	\
	  "where the bucket stands: in the path or in the host name; auto = path unless AWS" },			\
	{ prefix "http2", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FIELD(http2),				\
	  "allow HTTP/2; several HTTP/1.1 connections are faster with most stores" }

#define AT_SOURCE(member) AT(source[0].store.member)
#define AT_SINK(member)   AT(sink.member)
const struct config_key config_keys[] = {
	{ "run.name", KEY_NAME, "", "kiln", NO_BOUNDS, NO_NAMES, AT(run.name),
	  "first part of the run id, <name>-YYYYMMDD-HHMMSS" },
	{ "run.epochs", KEY_INT, "passes", "5", 1, 1e6, NO_NAMES, AT(run.epochs),
	  "passes over the training records" },
	{ "run.seed", KEY_INT, "", "44", ANY_INT, NO_NAMES, AT(run.seed),
	  "fixes initial weights, record order and dropout" },
	{ "run.batch_rows", KEY_INT, "rows", "128", 1, 65536, NO_NAMES, AT(run.batch_rows),
	  "records a training step" },
	{ "run.start_from", KEY_ENUM, "", "scratch", NO_BOUNDS, { "scratch", "latest" }, AT(run.start_from),
	  "a new run's weights: initialised, or those of the last run's newest checkpoint" },
	{ "run.days", KEY_DAYS, "", "mon..sun", NO_BOUNDS, NO_NAMES, AT(run.days),
	  "days on which a run starts by itself" },
	{ "run.at", KEY_TIME, "", "22:00", NO_BOUNDS, NO_NAMES, AT(run.at),
	  "local time at which it starts; one that clocks going forward leave out is moved past the gap" },
	{ "run.zone", KEY_ZONE, "", "UTC", NO_BOUNDS, NO_NAMES, AT(run.zone),
	  "time zone of at and ends_at" },
	{ "run.ends_at", KEY_TIME, "", "", NO_BOUNDS, NO_NAMES, AT(run.ends_at),
	  "local time at which an unfinished run rests until the next start; empty = none" },
	{ "run.catch_up", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(run.catch_up),
	  "a start that was missed, as the box was off: make up for it between at and ends_at" },
	STORE_KEYS("source.", AT_SOURCE, "where the shards are"),
	STORE_KEYS("sink.", AT_SINK, "where checkpoints, curves and the model go"),
	{ "split.train_glob", KEY_STRING, "", "train-*", NO_BOUNDS, NO_NAMES, AT(split.train_glob),
	  "training shards: keys below the source's url that match" },
	{ "split.validation_glob", KEY_STRING, "", "validation-*", NO_BOUNDS, NO_NAMES, AT(split.validation_glob),
	  "validation shards, with split.by = \"prefix\"" },
	{ "split.test_glob", KEY_STRING, "", "test-*", NO_BOUNDS, NO_NAMES, AT(split.test_glob),
	  "test shards, evaluated once at the end; empty = none" },
	{ "split.by", KEY_ENUM, "", "shard", NO_BOUNDS, { "shard", "prefix" }, AT(split.by),
	  "validation: the last train shards in key order, or those of validation_glob" },
	{ "split.validation_percent", KEY_INT, "%", "10", 0, 90, NO_NAMES, AT(split.validation_percent),
	  "share of the train shards held out for validation, with split.by = \"shard\"" },
	{ "fetch.nic", KEY_STRING, "", "auto", NO_BOUNDS, NO_NAMES, AT(fetch.nic),
	  "network interface whose local cores fetch; auto = the default route's" },
	{ "fetch.cores", KEY_CPUS, "", "auto", NO_BOUNDS, NO_NAMES, AT(fetch.cores),
	  "CPU list of the network thread; auto = the interface's local cores" },
	{ "fetch.interrupts", KEY_ENUM, "", "cores", NO_BOUNDS, { "cores", "leave" }, AT(fetch.interrupts),
	  "that interface's interrupts: on the cores that fetch, away from those that decode, or as they "
	  "are" },
	{ "fetch.connections", KEY_INT, "", "0", 0, 256, NO_NAMES, AT(fetch.connections),
	  "most requests in flight; 8 to begin with, more while that is faster; 0 = as "
	  "fetch.memory_bytes allows" },
	{ "fetch.part_bytes", KEY_INT, "bytes", "0", 0, GIB, NO_NAMES, AT(fetch.part_bytes),
	  "size of a ranged GET, 65536 at least; 0 = by fetch.memory_bytes and the size of a window" },
	{ "fetch.target_bytes_per_s", KEY_INT, "bytes/s", "0", 0, 1024 * GIB, NO_NAMES, AT(fetch.target_bytes_per_s),
	  "a rate that is enough: no more requests in flight than it takes; 0 = none is" },
	{ "fetch.hedge_percent", KEY_INT, "%", "5", 0, 100, NO_NAMES, AT(fetch.hedge_percent),
	  "of the bytes may be asked for twice where a range is slow; 0 = never" },
	{ "fetch.decode_workers", KEY_INT, "threads", "0", 0, 256, NO_NAMES, AT(fetch.decode_workers),
	  "threads that inflate, check and parse; 0 = by the number of cores" },
	{ "fetch.memory_bytes", KEY_INT, "bytes", "2147483648", 1048576, 1024 * GIB, NO_NAMES, AT(fetch.memory_bytes),
	  "budget of the windows held inflated; what does not fit of those ahead lies in the cache folder" },
	{ "fetch.connect_timeout_ms", KEY_INT, "ms", "5000", 100, 600000, NO_NAMES, AT(fetch.connect_timeout_ms),
	  "longest wait for a connection" },
	{ "fetch.low_speed_bytes_per_s", KEY_INT, "bytes/s", "1024", 1, GIB, NO_NAMES, AT(fetch.low_speed_bytes_per_s),
	  "a transfer slower than this ..." },
	{ "fetch.low_speed_s", KEY_INT, "s", "20", 1, 3600, NO_NAMES, AT(fetch.low_speed_s),
	  "... for this long is cut and retried" },
	{ "fetch.attempts_max", KEY_INT, "attempts", "10", 1, 1000, NO_NAMES, AT(fetch.attempts_max),
	  "attempts at one request before it fails" },
	{ "fetch.bad_record", KEY_ENUM, "", "stop", NO_BOUNDS, { "stop", "skip" }, AT(fetch.bad_record),
	  "corrupt records: stop the run, or leave their rows empty and go on" },
	{ "fetch.skip_records_max", KEY_INT, "records", "100", 0, INT53, NO_NAMES, AT(fetch.skip_records_max),
	  "with bad_record = \"skip\": more than this stops the run after all" },
	{ "fetch.changed_object", KEY_ENUM, "", "stop", NO_BOUNDS, { "stop", "replan" }, AT(fetch.changed_object),
	  "an object that is another one than the plan has: stop the run, unless its bytes have the "
	  "SHA-256 of manifest.jsonl, or go on with the new one, so that nobody can repeat the run" },
	{ "fetch.cache_bytes", KEY_INT, "bytes", "0", 0, INT53, NO_NAMES, AT(fetch.cache_bytes),
	  "budget of the cache on this box's disk, for s3:// sources; 0 = no cache" },
	{ "fetch.cache_spare_bytes", KEY_INT, "bytes", "1073741824", 0, INT53, NO_NAMES, AT(fetch.cache_spare_bytes),
	  "left free on that disk for checkpoints: the cache shrinks first" },
	{ "order.mode", KEY_ENUM, "", "exact", NO_BOUNDS, { "exact", "fast" }, AT(order.mode),
	  "each record in its place every time, or as its shard arrives: then a run that is resumed may "
	  "repeat or miss some" },
	{ "order.window_shards", KEY_INT, "shards", "4", 1, 65536, NO_NAMES, AT(order.window_shards),
	  "shards whose records are shuffled together" },
	{ "order.lanes", KEY_INT, "", "1", 1, CONFIG_STREAMS_MAX, NO_NAMES, AT(order.lanes),
	  "lanes that the shards are dealt to, each with windows of its own, for trainers to share; "
	  "fixed for a run, and times the sources at most 32" },
	{ "order.remainder", KEY_ENUM, "", "keep", NO_BOUNDS, { "keep", "drop" }, AT(order.remainder),
	  "the last, smaller batch of a pass: train on it or drop it" },
	{ "order.filter", KEY_FILTER, "", "", NO_BOUNDS, NO_NAMES, AT(order.filter),
	  "records that count, by the value of a feature; empty = all" },
	{ "order.skip_rows", KEY_INT, "rows", "0", 0, INT53, NO_NAMES, AT(order.skip_rows),
	  "training rows at the start of each epoch that are passed over" },
	{ "order.take_rows", KEY_INT, "rows", "0", 0, INT53, NO_NAMES, AT(order.take_rows),
	  "training rows of each epoch at most, behind those; 0 = all" },
	{ "ring.slots", KEY_INT, "batches", "8", 4, 4096, NO_NAMES, AT(ring.slots),
	  "batches between fetchd and traind" },
	{ "ring.pages", KEY_ENUM, "", "2MiB", NO_BOUNDS, { "2MiB", "1GiB" }, AT(ring.pages),
	  "pages that it lies on; 1GiB: on a flashed box, from the boot on that follows the next one" },
	{ "ring.small_pages", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(ring.small_pages),
	  "fall back to normal pages where hugepages cannot be had" },
	{ "model.input", KEY_STRING, "", "sentence", NO_BOUNDS, NO_NAMES, AT(model.input),
	  "the feature that the first layer gets, where it names no `inputs`" },
	{ "model.label", KEY_STRING, "", "label", NO_BOUNDS, NO_NAMES, AT(model.label),
	  "the feature that holds the label: one-hot, a class's number, or numbers, by the loss" },
	{ "model.loss", KEY_STRING, "", "categorical_crossentropy", NO_BOUNDS, NO_NAMES, AT(model.loss),
	  "categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy or "
	  "mean_squared_error" },
	{ "model.precision", KEY_ENUM, "", "float32", NO_BOUNDS, { "float32", "mixed_bfloat16", "mixed_float16" }, AT(model.precision),
	  "what activations and gradients are stored as while training; weights and sums are float32, "
	  "and so is the finished model" },
	{ "model.label_smoothing", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(model.label_smoothing),
	  "share of a label that is spread over all classes, with a cross-entropy" },
	{ "model.class_weights", KEY_NUMBERS, "", "", 0, 1e6, NO_NAMES, AT(model.class_weights),
	  "what a row of class 0, 1, ... counts in the loss; empty = 1 each" },
	{ "model.sample_weight", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.sample_weight),
	  "the float32 feature that says what a row counts in the loss; empty = 1 each" },
	{ "model.top_k", KEY_INT, "classes", "0", 0, 1 << 20, NO_NAMES, AT(model.top_k),
	  "count rows whose class is among so many of the most probable, too; 0 = no" },
	{ "model.weights", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.weights),
	  "safetensors that a new run starts with, by the tensors' names, where run.start_from brings "
	  "none: s3://bucket/key with the sink's keys, file:///path, or a key below sink.url" },
	{ "model.weights_layers", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.weights_layers),
	  "layers that take them, `embedding,dense`; empty = all that the file has tensors of" },
	{ "model.weights_skip_mismatch", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(model.weights_skip_mismatch),
	  "a tensor of another shape keeps its initial numbers, instead of an error" },
	{ "optimizer.name", KEY_STRING, "", "adam", NO_BOUNDS, NO_NAMES, AT(optimizer.name),
	  "adam, adamw or sgd" },
	{ "optimizer.learning_rate", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(optimizer.learning_rate),
	  "step size; 0 = the optimizer's own: adam and adamw 0.001, sgd 0.01" },
	{ "optimizer.beta_1", KEY_FLOAT, "", "0.9", 0, 0.999999, NO_NAMES, AT(optimizer.beta_1),
	  "adam: decay of the mean" },
	{ "optimizer.beta_2", KEY_FLOAT, "", "0.999", 0, 0.999999, NO_NAMES, AT(optimizer.beta_2),
	  "adam: decay of the variance" },
	{ "optimizer.epsilon", KEY_FLOAT, "", "1e-7", 0, 1, NO_NAMES, AT(optimizer.epsilon),
	  "adam: added to the root" },
	{ "optimizer.momentum", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(optimizer.momentum),
	  "sgd: momentum" },
	{ "optimizer.nesterov", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.nesterov),
	  "sgd: Nesterov's momentum" },
	{ "optimizer.lazy", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.lazy),
	  "adam, adamw: of an embedding, change only the rows that the batch names, and their moments" },
	{ "optimizer.weight_decay", KEY_FLOAT, "", "0.0", 0, 1e3, NO_NAMES, AT(optimizer.weight_decay),
	  "times the rate, subtracted from each parameter in units of itself; 0 = the optimizer's own: "
	  "adamw 0.004, others none" },
	{ "optimizer.exclude_from_weight_decay", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(optimizer.exclude_from_weight_decay),
	  "parameters that keep their weight, by parts of their names: `bias,gamma,beta`; empty = none" },
	{ "optimizer.schedule", KEY_STRING, "", "constant", NO_BOUNDS, NO_NAMES, AT(optimizer.schedule),
	  "how the rate changes from step to step: constant, step or cosine" },
	{ "optimizer.warmup_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(optimizer.warmup_steps),
	  "steps in which the rate rises to where the schedule begins, before it does" },
	{ "optimizer.warmup_from", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(optimizer.warmup_from),
	  "the rate at the first of those" },
	{ "optimizer.decay_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(optimizer.decay_steps),
	  "schedule cosine: steps from learning_rate to alpha times it" },
	{ "optimizer.alpha", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(optimizer.alpha),
	  "schedule cosine: the rate at its end, as a share of learning_rate" },
	{ "optimizer.boundaries", KEY_NUMBERS, "steps", "", 0, INT53, NO_NAMES, AT(optimizer.boundaries),
	  "schedule step: the last step of each of `values` but the last, ascending" },
	{ "optimizer.values", KEY_NUMBERS, "", "", 0, 1e6, NO_NAMES, AT(optimizer.values),
	  "schedule step: the rates, one more than `boundaries`; learning_rate is not used" },
	{ "optimizer.clipvalue", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.clipvalue),
	  "gradients beyond are cut to it, number by number; 0 = none" },
	{ "optimizer.clipnorm", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.clipnorm),
	  "a parameter tensor's gradient of a larger norm is scaled to it; 0 = none" },
	{ "optimizer.global_clipnorm", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.global_clipnorm),
	  "all gradients together are scaled to this norm where it is larger; 0 = none" },
	{ "optimizer.gradient_accumulation_steps", KEY_INT, "batches", "1", 1, 1e6, NO_NAMES, AT(optimizer.gradient_accumulation_steps),
	  "batches whose mean gradient makes one update; a step is still a batch" },
	{ "optimizer.use_ema", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.use_ema),
	  "keep a moving average of the parameters; the finished model and its test are of the average" },
	{ "optimizer.ema_momentum", KEY_FLOAT, "", "0.99", 0, 1, NO_NAMES, AT(optimizer.ema_momentum),
	  "share of the old average in the new one" },
	{ "optimizer.ema_overwrite_frequency", KEY_INT, "updates", "0", 0, INT53, NO_NAMES, AT(optimizer.ema_overwrite_frequency),
	  "put the average in the parameters' place every so many updates; 0 = at the end of training" },
	{ "device.platform", KEY_STRING, "", "auto", NO_BOUNDS, NO_NAMES, AT(device.platform),
	  "part of the OpenCL platform's name; auto = the first with a fitting device" },
	{ "device.type", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "cpu", "gpu" }, AT(device.type),
	  "kind of OpenCL device; auto = a GPU where there is one" },
	{ "device.cores", KEY_CPUS, "", "auto", NO_BOUNDS, NO_NAMES, AT(device.cores),
	  "CPU list of the trainer; auto = all" },
	{ "heat.cpu_throttle_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.cpu_throttle_celsius),
	  "a processor as hot as that: pauses between steps until it is 5 cooler; 0 = 5 below what its "
	  "sensor calls critical; 150 = never" },
	{ "heat.cpu_stop_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.cpu_stop_celsius),
	  "as hot as that for 3 s: a checkpoint, and the run stops; 0 = what its sensor calls critical" },
	{ "heat.gpu_throttle_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.gpu_throttle_celsius),
	  "the same for a GPU; 0 = 5 below critical, or the most that its sensor names, if that is less" },
	{ "heat.gpu_stop_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.gpu_stop_celsius),
	  "as for a processor" },
	{ "checkpoint.every_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(checkpoint.every_steps),
	  "besides the end of each epoch, a checkpoint every so many steps; this or one of the next two" },
	{ "checkpoint.every_minutes", KEY_FLOAT, "min", "0.0", 0, 525600, NO_NAMES, AT(checkpoint.every_minutes),
	  "a checkpoint every so many minutes; 0 = none" },
	{ "checkpoint.auto", KEY_BOOL, "", "true", NO_BOUNDS, NO_NAMES, AT(checkpoint.automatic),
	  "checkpoints as often as 1 % of the time pays for; left out: unless one of the two above is "
	  "given" },
	{ "checkpoint.keep", KEY_INT, "checkpoints", "3", 1, 10000, NO_NAMES, AT(checkpoint.keep),
	  "newest checkpoints kept in the store, besides the best" },
	{ "early_stopping.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(early_stopping.monitor),
	  "training ends when this figure of an epoch has not improved for `patience` epochs" },
	{ "early_stopping.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(early_stopping.mode),
	  "what is better; auto = lower for a loss, higher for an accuracy" },
	{ "early_stopping.patience", KEY_INT, "epochs", "0", 0, 1e6, NO_NAMES, AT(early_stopping.patience),
	  "epochs without an improvement that are waited for" },
	{ "early_stopping.min_delta", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(early_stopping.min_delta),
	  "less than this is no improvement" },
	{ "early_stopping.restore_best", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(early_stopping.restore_best),
	  "the weights of the best epoch become the model, not the last ones" },
	{ "reduce_on_plateau.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(reduce_on_plateau.monitor),
	  "the learning rate is lowered when this figure has not improved for `patience` epochs" },
	{ "reduce_on_plateau.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(reduce_on_plateau.mode),
	  "as in early_stopping" },
	{ "reduce_on_plateau.factor", KEY_FLOAT, "", "0.1", 1e-9, 0.999999, NO_NAMES, AT(reduce_on_plateau.factor),
	  "what the rate is multiplied by" },
	{ "reduce_on_plateau.patience", KEY_INT, "epochs", "10", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.patience),
	  "epochs without an improvement that are waited for" },
	{ "reduce_on_plateau.min_delta", KEY_FLOAT, "", "1e-4", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.min_delta),
	  "less than this is no improvement" },
	{ "reduce_on_plateau.cooldown", KEY_INT, "epochs", "0", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.cooldown),
	  "epochs after a reduction that are not counted" },
	{ "reduce_on_plateau.min_lr", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.min_lr),
	  "the lowest rate" },
	{ "keep_best.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(keep_best.monitor),
	  "the weights of the epoch where this figure was best become the finished model" },
	{ "keep_best.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(keep_best.mode),
	  "as in early_stopping" },
	{ "tensorboard.every_steps", KEY_INT, "steps", "100", 0, INT53, NO_NAMES, AT(tensorboard.every_steps),
	  "loss, accuracy, learning rate, records/s and stall every so many steps; 0 = once an epoch" },
	{ "tensorboard.histogram_epochs", KEY_INT, "epochs", "1", 0, 1e6, NO_NAMES, AT(tensorboard.histogram_epochs),
	  "histograms of weights and gradients every so many epochs, Keras's histogram_freq; 0 = none" },
	{ "tensorboard.segment_bytes", KEY_INT, "bytes", "131072", 4096, GIB, NO_NAMES, AT(tensorboard.segment_bytes),
	  "largest event file: a full one is uploaded once, the one being written again and again" },
	{ "tensorboard.upload_s", KEY_INT, "s", "10", 0, 86400, NO_NAMES, AT(tensorboard.upload_s),
	  "an event file that grows is uploaded again at most so often" },
	{ "power.when_finished", KEY_ENUM, "", "nothing", NO_BOUNDS, { "nothing", "off", "suspend" }, AT(power.when_finished),
	  "after a run that the timer started: go on, power off, or suspend until shortly before the "
	  "next start; the box stays on while somebody is logged in or an update is installed, and where "
	  "nothing would wake it" },
	{ "power.upload_wait_min", KEY_INT, "min", "30", 0, 1440, NO_NAMES, AT(power.upload_wait_min),
	  "longest wait for uploads before that" },
	{ "power.wake_by", KEY_ENUM, "", "alarm", NO_BOUNDS, { "alarm", "other" }, AT(power.wake_by),
	  "with when_finished = \"off\": the hardware clock's alarm switches the box on again, and where "
	  "none can be set it stays on; or something else does, a timer switch or a management board" },
	{ "power.wake_early_min", KEY_INT, "min", "10", 1, 120, NO_NAMES, AT(power.wake_early_min),
	  "the alarm goes off so long before the next start: firmware, drivers and network come up" },
	{ "update.offline", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(update.offline),
	  "the box may be without its store: an updated slot counts as good without reaching the sink" },
	{ "notify.url", KEY_WEB, "", "", NO_BOUNDS, NO_NAMES, AT(notify.url),
	  "where each night's report is posted as JSON, http:// or https://; run.json has this url, so "
	  "no secret may be in it; empty = nowhere" },
	{ "notify.credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(notify.credential),
	  "name of the credential whose one line is the bearer token for it; empty = none" },
	{ "notify.ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(notify.ca_file),
	  "PEM file of the certificate authorities to trust there; empty = the system's" },
	{ "notify.wait_min", KEY_INT, "min", "10", 0, 60, NO_NAMES, AT(notify.wait_min),
	  "longest time that posting a report is tried, and uploading it; what is left is tried again "
	  "with the next one" },
	{ "control.remote", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(control.remote),
	  "answer `kiln --host` by mutual TLS, too; the credentials control-ca, control-crt, control-key" },
	{ "control.port", KEY_INT, "", "7443", 1, 65535, NO_NAMES, AT(control.port),
	  "TCP port for it" },
	{ "control.metrics_dir", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(control.metrics_dir),
	  "folder that gets kiln.prom every 15 s, for node_exporter's textfile collector: "
	  "/run/kiln/metrics; empty = none" },
	{ "clock.ntp_servers", KEY_HOSTS, "", "", NO_BOUNDS, NO_NAMES, AT(clock.ntp_servers),
	  "whom a flashed box asks for the time, such as \"ntp-1.lan 192.0.2.7\", besides those that "
	  "DHCP names; empty = Debian's" },
};
/* clang-format on */
const size_t config_keys_count = sizeof(config_keys) / sizeof(config_keys[0]);
static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEYS_MAX, "raise CONFIG_KEYS_MAX");

#define SOURCE(member)       offsetof(struct config_source, member)
#define SOURCE_STORE(member) SOURCE(store.member)
const struct config_key config_source_keys[] = {
	STORE_KEYS("", SOURCE_STORE, "where its shards are"),
	{ "weight", KEY_FLOAT, "", "1.0", 1e-6, 1e6, NO_NAMES, SOURCE(weight),
	  "share of the training rows that come from it, relative to the others'" },
	{ "train_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(train_glob),
	  "its training shards; left out: as in `split`, like the two below" },
	{ "validation_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(validation_glob),
	  "its validation shards, with split.by = \"prefix\"; empty = none" },
	{ "test_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(test_glob),
	  "its test shards; empty = none" },
};
const size_t config_source_keys_count = sizeof(config_source_keys) / sizeof(config_source_keys[0]);
static_assert(offsetof(struct config_source, store) == 0, "the store's keys serve a store alone, too");

#define FEATURE(member) offsetof(struct config_feature, member)
const struct config_key config_feature_keys[] = {
	{ "name", KEY_STRING, "", NULL, NO_BOUNDS, NO_NAMES, FEATURE(name),
	  "feature name in tf.train.Example" },
	{ "dtype",
	  KEY_ENUM,
	  "",
	  NULL,
	  NO_BOUNDS,
	  { "float32", "int64", "bytes" },
	  FEATURE(dtype),
	  "type of its values" },
	{ "missing",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "default" },
	  FEATURE(missing),
	  "a record without it: an error, or filled with `fill`" },
	{ "fill", KEY_FLOAT, "", "0.0", -FLT_MAX, FLT_MAX, NO_NAMES, FEATURE(fill),
	  "value of a missing feature, for int64 an integer" },
	{ "values_max", KEY_INT, "", "0", 0, 1 << 28, NO_NAMES, FEATURE(values_max),
	  "instead of shape: a ragged feature of up to so many numbers, none where it is missing" },
	{ "bytes_max", KEY_INT, "", "65536", 1, 1 << 28, NO_NAMES, FEATURE(bytes_max),
	  "longest value of dtype \"bytes\"" },
	{ "overflow",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "truncate" },
	  FEATURE(overflow),
	  "what is beyond values_max or bytes_max: a bad record, or cut off" },
};
const size_t config_feature_keys_count = sizeof(config_feature_keys) / sizeof(config_feature_keys[0]);

const char config_default_schema[] = "schema = (\n"
				     "  { name = \"sentence\"; dtype = \"float32\"; shape = [ 512 ]; },\n"
				     "  { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; }\n"
				     ");\n";
const char config_default_layers[] = "layers = (\n"
				     "    { op = \"dense\"; units = 256; }, { op = \"relu\"; },\n"
				     "    { op = \"dropout\"; rate = 0.2; },\n"
				     "    { op = \"dense\"; units = 16; }, { op = \"relu\"; },\n"
				     "    { op = \"dropout\"; rate = 0.2; },\n"
				     "    { op = \"dense\"; units = 2; }, { op = \"softmax\"; }\n"
				     "  );\n";

bool config_key_is_replaced(const struct config_memory *memory, const struct config_key *key)
{
	return memory->sources_given && strncmp(key->name, "source.", 7) == 0;
}

bool config_opens_group(size_t row)
{
	size_t length = strcspn(config_keys[row].name, ".") + 1;

	return row == 0 || strncmp(config_keys[row].name, config_keys[row - 1].name, length) != 0;
}

bool config_closes_group(size_t row)
{
	return row + 1 == config_keys_count || config_opens_group(row + 1);
}

int config_group_length(const struct config_key *key)
{
	return (int)strcspn(key->name, ".");
}
