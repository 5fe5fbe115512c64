/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_keys.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct config, member)
#define INT53      9007199254740992.0 /* 2^53: up to here JSON and double represent integers exactly */
#define GIB        1073741824.0
#define ANY_INT    0, INT53
#define NO_BOUNDS  0, 0
/* clang-format off */
#define NO_NAMES { 0 }

/* The keys of a store. FIELD(member) gives the offset of a member of struct config_store; `what`: the help of
 * the key url. */
#define STORE_KEYS(prefix, FIELD, what)										\
	{ prefix "url", KEY_URL, "", NULL, NO_BOUNDS, NO_NAMES, FIELD(url),					\
	  what ": s3://bucket/prefix, or file:///folder for a store on the local disk" },				\
	{ prefix "endpoint", KEY_ENDPOINT, "", "", NO_BOUNDS, NO_NAMES, FIELD(endpoint),			\
	  "S3 server, https://host:port or http://host:port; empty = AWS in `region`" },			\
	{ prefix "region", KEY_REGION, "", "us-east-1", NO_BOUNDS, NO_NAMES, FIELD(region),			\
	  "region that requests are signed for" },								\
	{ prefix "credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, FIELD(credential),			\
	  "name of the credential; empty = AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY from the environment; if these are not set, requests are not signed" },	\
	{ prefix "ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, FIELD(ca_file),				\
	  "PEM file of the certificate authorities to trust; empty = the system's" },				\
	{ prefix "url_style", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "path", "virtual" }, FIELD(url_style),	\
	  "where the bucket's name goes: path = in the path, virtual = in the host name, auto = virtual for AWS, path otherwise" },			\
	{ prefix "http2", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FIELD(http2),				\
	  "allow HTTP/2; several HTTP/1.1 connections are faster with most stores" }

#define AT_SOURCE(member) AT(source[0].store.member)
#define AT_SINK(member)   AT(sink.member)
const struct config_key config_keys[] = {
	{ "run.name", KEY_NAME, "", "kiln", NO_BOUNDS, NO_NAMES, AT(run.name),
	  "first part of the run id, <name>-YYYYMMDD-HHMMSS" },
	{ "run.epochs", KEY_INT, "passes", "5", 1, 1e6, NO_NAMES, AT(run.epochs),
	  "number of passes over the training records" },
	{ "run.seed", KEY_INT, "", "44", ANY_INT, NO_NAMES, AT(run.seed),
	  "number that fixes initial weights, record order and dropout: the same seed repeats the run" },
	{ "run.batch_rows", KEY_INT, "rows", "128", 1, 65536, NO_NAMES, AT(run.batch_rows),
	  "records in each training step" },
	{ "run.start_from", KEY_ENUM, "", "scratch", NO_BOUNDS, { "scratch", "latest" }, AT(run.start_from),
	  "weights that a new run starts with: scratch = initial weights, latest = the newest checkpoint of the last run" },
	{ "run.days", KEY_DAYS, "", "mon..sun", NO_BOUNDS, NO_NAMES, AT(run.days),
	  "days on which a run starts by itself" },
	{ "run.at", KEY_TIME, "", "22:00", NO_BOUNDS, NO_NAMES, AT(run.at),
	  "local time at which the run starts; if the change to summer time skips this time, the run starts after the skipped hour" },
	{ "run.zone", KEY_ZONE, "", "UTC", NO_BOUNDS, NO_NAMES, AT(run.zone),
	  "time zone of `at` and `ends_at`" },
	{ "run.ends_at", KEY_TIME, "", "", NO_BOUNDS, NO_NAMES, AT(run.ends_at),
	  "local time at which an unfinished run stops until the next start; empty = the run goes on until it is finished" },
	{ "run.catch_up", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(run.catch_up),
	  "whether a box that was off at `at` starts the run when it boots between `at` and `ends_at`" },
	STORE_KEYS("source.", AT_SOURCE, "address of the shards"),
	{ "source.format", KEY_ENUM, "", "tfrecord", NO_BOUNDS, { "tfrecord", "objects" }, AT(source[0].format),
	  "what the source has: tfrecord = shards; objects = pictures as they are: each JPEG or PNG object is a record, and the name of its folder is its class. The schema then has one feature of dtype \"picture\", which gets the object, and the feature that model.label names, int64, which gets the number of the class in the bytewise order of the names: shape [ 1 ], or one-hot [ classes ]. A pattern of `split` such as \"train/*/*.jpg\" names the objects; a `*` matches a `/`, too" },
	STORE_KEYS("sink.", AT_SINK, "address that checkpoints, curves and the model are uploaded to"),
	{ "split.train_glob", KEY_STRING, "", "train-*", NO_BOUNDS, NO_NAMES, AT(split.train_glob),
	  "pattern of the training shards: keys below the source's url that match" },
	{ "split.validation_glob", KEY_STRING, "", "validation-*", NO_BOUNDS, NO_NAMES, AT(split.validation_glob),
	  "pattern of the validation shards, with split.by = \"prefix\"" },
	{ "split.test_glob", KEY_STRING, "", "test-*", NO_BOUNDS, NO_NAMES, AT(split.test_glob),
	  "pattern of the test shards, which are evaluated once at the end; empty = no test" },
	{ "split.by", KEY_ENUM, "", "shard", NO_BOUNDS, { "shard", "prefix", "hash" }, AT(split.by),
	  "how validation shards are chosen: hash = training shards by a hash of their key, so that a new shard does not move another one between training and validation; shard = the last training shards in key order, prefix = the shards that match validation_glob; write it into each new file: not given = shard, as in files from before there was hash. With source.format = \"objects\" hash or prefix, as the last keys are one class; not given = hash" },
	{ "split.validation_percent", KEY_INT, "%", "10", 0, 90, NO_NAMES, AT(split.validation_percent),
	  "share of the training shards that are held out for validation, with split.by = \"shard\" or \"hash\"" },
	{ "fetch.nic", KEY_STRING, "", "auto", NO_BOUNDS, NO_NAMES, AT(fetch.nic),
	  "network interface of the downloads; the CPU cores local to the interface fetch; auto = the interface of the route to the first source, else of the default route. For a bond, a VLAN or a bridge the cores local to the interfaces below it" },
	{ "fetch.cores", KEY_CPUS, "", "auto", NO_BOUNDS, NO_NAMES, AT(fetch.cores),
	  "CPU list of the network threads; auto = the local cores of the interface" },
	{ "fetch.interrupts", KEY_ENUM, "", "cores", NO_BOUNDS, { "cores", "leave" }, AT(fetch.interrupts),
	  "interrupts of the interface: cores = moved to the cores that fetch and away from those that decode, leave = not changed" },
	{ "fetch.network_threads", KEY_INT, "threads", "0", 0, CONFIG_THREADS_MAX, NO_NAMES, AT(fetch.network_threads),
	  "number of threads that download from each source; they share its connections. 0 = one, and on links faster than 25 Gbit/s one for each started 25 Gbit/s, divided among the sources, but not more than cores that fetch" },
	{ "fetch.connections", KEY_INT, "", "0", 0, 256, NO_NAMES, AT(fetch.connections),
	  "upper bound of concurrent requests; fetching starts with 8 and adds more while that is faster; 0 = as many as fetch.memory_bytes allows" },
	{ "fetch.part_bytes", KEY_INT, "bytes", "0", 0, GIB, NO_NAMES, AT(fetch.part_bytes),
	  "size of a ranged GET request, 65536 or more; 0 = chosen from fetch.memory_bytes and the size of a window" },
	{ "fetch.target_bytes_per_s", KEY_INT, "bytes/s", "0", 0, 1024 * GIB, NO_NAMES, AT(fetch.target_bytes_per_s),
	  "download rate that is enough: Kiln runs no more requests at a time than this rate needs; 0 = as fast as possible" },
	{ "fetch.hedge_percent", KEY_INT, "%", "5", 0, 100, NO_NAMES, AT(fetch.hedge_percent),
	  "share of the bytes that may be requested a second time where a range is slow; 0 = never" },
	{ "fetch.decode_workers", KEY_INT, "threads", "0", 0, 256, NO_NAMES, AT(fetch.decode_workers),
	  "number of threads that inflate, check and parse; 0 = chosen from the number of cores" },
	{ "fetch.memory_bytes", KEY_INT, "bytes", "2147483648", 1048576, 1024 * GIB, NO_NAMES, AT(fetch.memory_bytes),
	  "memory budget for inflated windows; windows ahead that do not fit are written to the cache folder" },
	{ "fetch.connect_timeout_ms", KEY_INT, "ms", "5000", 100, 600000, NO_NAMES, AT(fetch.connect_timeout_ms),
	  "longest wait for a connection" },
	{ "fetch.low_speed_bytes_per_s", KEY_INT, "bytes/s", "1024", 1, GIB, NO_NAMES, AT(fetch.low_speed_bytes_per_s),
	  "rate below which a transfer counts as slow" },
	{ "fetch.low_speed_s", KEY_INT, "s", "20", 1, 3600, NO_NAMES, AT(fetch.low_speed_s),
	  "time after which a slow transfer is cut and tried again" },
	{ "fetch.attempts_max", KEY_INT, "attempts", "10", 1, 1000, NO_NAMES, AT(fetch.attempts_max),
	  "attempts at a request before the request fails" },
	{ "fetch.bad_record", KEY_ENUM, "", "stop", NO_BOUNDS, { "stop", "skip" }, AT(fetch.bad_record),
	  "what happens at a corrupt record: stop = the run stops, skip = the row of the record stays empty and the run goes on" },
	{ "fetch.skip_records_max", KEY_INT, "records", "100", 0, INT53, NO_NAMES, AT(fetch.skip_records_max),
	  "with bad_record = \"skip\": number of records that may be skipped before the run stops" },
	{ "fetch.changed_object", KEY_ENUM, "", "stop", NO_BOUNDS, { "stop", "replan" }, AT(fetch.changed_object),
	  "what happens when an object changed after the plan was made: stop = the run stops, unless the bytes have the SHA-256 of manifest.jsonl; replan = the run goes on with the new object and cannot be repeated exactly" },
	{ "fetch.cache_bytes", KEY_INT, "bytes", "0", 0, INT53, NO_NAMES, AT(fetch.cache_bytes),
	  "disk budget of the cache of shards from s3:// sources; 0 = no cache" },
	{ "fetch.cache_spare_bytes", KEY_INT, "bytes", "1073741824", 0, INT53, NO_NAMES, AT(fetch.cache_spare_bytes),
	  "disk space to leave free for checkpoints; the cache shrinks when less space is free" },
	{ "order.mode", KEY_ENUM, "", "exact", NO_BOUNDS, { "exact", "fast" }, AT(order.mode),
	  "order of the records: exact = the same order in every run with the same seed; fast = as shards arrive, and a resumed run may repeat or miss some records" },
	{ "order.window_shards", KEY_INT, "shards", "4", 1, 65536, NO_NAMES, AT(order.window_shards),
	  "number of shards whose records are shuffled together; not used with source.format = \"objects\", which shuffles all objects" },
	{ "order.lanes", KEY_INT, "", "1", 1, CONFIG_STREAMS_MAX, NO_NAMES, AT(order.lanes),
	  "number of lanes that the shards are divided among; each lane has its own windows, so that several trainers can share a run; the number cannot change during a run; lanes times sources is at most 32" },
	{ "order.remainder", KEY_ENUM, "", "keep", NO_BOUNDS, { "keep", "drop" }, AT(order.remainder),
	  "last, smaller batch of a pass: keep = train on it, drop = leave it out" },
	{ "order.filter", KEY_FILTER, "", "", NO_BOUNDS, NO_NAMES, AT(order.filter),
	  "condition on the value of a feature, which selects the records to use; empty = all records" },
	{ "order.skip_rows", KEY_INT, "rows", "0", 0, INT53, NO_NAMES, AT(order.skip_rows),
	  "training rows to skip at the start of each epoch" },
	{ "order.take_rows", KEY_INT, "rows", "0", 0, INT53, NO_NAMES, AT(order.take_rows),
	  "largest number of training rows to use in each epoch, after skip_rows; 0 = all" },
	{ "ring.slots", KEY_INT, "batches", "8", 4, 4096, NO_NAMES, AT(ring.slots),
	  "number of batches that the ring between kiln-fetchd and kiln-traind holds" },
	{ "ring.pages", KEY_ENUM, "", "2MiB", NO_BOUNDS, { "2MiB", "1GiB" }, AT(ring.pages),
	  "size of the hugepages of the ring; on a flashed box 1GiB takes effect at the second boot after the change" },
	{ "ring.small_pages", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(ring.small_pages),
	  "whether the ring may use normal pages when there are no hugepages" },
	{ "model.input", KEY_STRING, "", "sentence", NO_BOUNDS, NO_NAMES, AT(model.input),
	  "feature that the first layer reads when it has no `inputs`" },
	{ "model.label", KEY_STRING, "", "label", NO_BOUNDS, NO_NAMES, AT(model.label),
	  "feature that holds the label: one-hot, the number of a class, or numbers, as the loss needs" },
	{ "model.loss", KEY_STRING, "", "categorical_crossentropy", NO_BOUNDS, NO_NAMES, AT(model.loss),
	  "loss function: categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy or mean_squared_error" },
	{ "model.precision", KEY_ENUM, "", "float32", NO_BOUNDS, { "float32", "mixed_bfloat16", "mixed_float16" }, AT(model.precision),
	  "format of activations and gradients in training; weights, sums and the finished model are float32" },
	{ "model.label_smoothing", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(model.label_smoothing),
	  "share of a label that is spread over all classes, with a cross-entropy loss" },
	{ "model.class_weights", KEY_NUMBERS, "", "", 0, 1e6, NO_NAMES, AT(model.class_weights),
	  "weights of the rows of class 0, 1, ... in the loss; empty = 1 for each class" },
	{ "model.sample_weight", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.sample_weight),
	  "float32 feature that holds the weight of a row in the loss; empty = 1 for each row" },
	{ "model.top_k", KEY_INT, "classes", "0", 0, 1 << 20, NO_NAMES, AT(model.top_k),
	  "K of the metric top-K accuracy, which counts a row as right when its class is among the K most probable classes; 0 = no such metric" },
	{ "model.base", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(model.base),
	  "image network whose layers come before `layers`: vgg16, vgg19, resnet18, resnet34, resnet50, mobilenet_v2 or efficientnet_lite0, without its classifier; empty = none" },
	{ "model.base_after", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(model.base_after),
	  "layer of model.layers behind which the base stands, such as the last random_flip or random_zoom, so that pictures are changed at random before the base reads them; empty = the base comes before all of them" },
	{ "model.base_trainable", KEY_BOOL, "", "true", NO_BOUNDS, NO_NAMES, AT(model.base_trainable),
	  "whether the weights of the base are trained; false = its layers are frozen, and their batch_norm uses its moving statistics" },
	{ "model.base_unfreeze_from", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.base_unfreeze_from),
	  "with base_trainable = false: layer of the base from which on its layers are trained, such as block5_conv1 of vgg16 or layer4 of resnet18; empty = none" },
	{ "model.base_pooling", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "avg", "max" }, AT(model.base_pooling),
	  "global pooling after the base, as `pooling` in Keras: avg = mean of each channel, max = its largest number" },
	{ "model.base_scaling", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "none", "caffe", "tf", "torch", "lite" }, AT(model.base_scaling),
	  "how the first layer of the base scales pixels of 0 .. 255: auto = as the base expects it (vgg16, vgg19, resnet50: caffe; mobilenet_v2: tf; resnet18, resnet34: torch; efficientnet_lite0: lite), none = not at all, others = `mode` of the layer preprocess_input" },
	{ "model.features_of", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(model.features_of),
	  "image network that computed the feature model.input, as `kiln prep --features` writes it; model.weights then names the file base.safetensors beside the shards, and the finished model has the network before `layers`, so that it reads pictures; empty = none" },
	{ "model.weights", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.weights),
	  "safetensors file with the first weights of a new run, for when run.start_from gives none; tensors are matched by name; the file is s3://bucket/key on the server of the sink, file:///path, or a key below sink.url" },
	{ "model.weights_layers", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(model.weights_layers),
	  "layers that get the weights of model.weights, such as `embedding,dense`; empty = all layers that the file has tensors for" },
	{ "model.weights_skip_mismatch", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(model.weights_skip_mismatch),
	  "whether a tensor of model.weights with another shape is skipped, so that the layer keeps its initial weights; false = such a tensor is an error" },
	{ "optimizer.name", KEY_STRING, "", "adam", NO_BOUNDS, NO_NAMES, AT(optimizer.name),
	  "optimizer: adam, adamw or sgd" },
	{ "optimizer.learning_rate", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(optimizer.learning_rate),
	  "step size; 0 = the optimizer's default: adam and adamw 0.001, sgd 0.01" },
	{ "optimizer.beta_1", KEY_FLOAT, "", "0.9", 0, 0.999999, NO_NAMES, AT(optimizer.beta_1),
	  "adam, adamw: decay of the mean of the gradient" },
	{ "optimizer.beta_2", KEY_FLOAT, "", "0.999", 0, 0.999999, NO_NAMES, AT(optimizer.beta_2),
	  "adam, adamw: decay of the mean of the squared gradient" },
	{ "optimizer.epsilon", KEY_FLOAT, "", "1e-7", 0, 1, NO_NAMES, AT(optimizer.epsilon),
	  "adam, adamw: number that is added to the root, so that nothing is divided by 0" },
	{ "optimizer.momentum", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(optimizer.momentum),
	  "sgd: momentum" },
	{ "optimizer.nesterov", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.nesterov),
	  "sgd: use Nesterov's momentum" },
	{ "optimizer.lazy", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.lazy),
	  "adam, adamw: update only the rows of an embedding that the batch uses, and their moments" },
	{ "optimizer.weight_decay", KEY_FLOAT, "", "0.0", 0, 1e3, NO_NAMES, AT(optimizer.weight_decay),
	  "share of each parameter that a step subtracts, times the learning rate; 0 = the optimizer's default: adamw 0.004, others none" },
	{ "optimizer.exclude_from_weight_decay", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(optimizer.exclude_from_weight_decay),
	  "parameters without weight decay, by parts of their names, such as `bias,gamma,beta`; empty = none" },
	{ "optimizer.schedule", KEY_STRING, "", "constant", NO_BOUNDS, NO_NAMES, AT(optimizer.schedule),
	  "how the learning rate changes from step to step: constant, step or cosine" },
	{ "optimizer.warmup_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(optimizer.warmup_steps),
	  "steps before the schedule begins, in which the rate rises to the schedule's first rate" },
	{ "optimizer.warmup_from", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(optimizer.warmup_from),
	  "rate at the first step of the warm-up" },
	{ "optimizer.decay_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(optimizer.decay_steps),
	  "schedule cosine: steps from learning_rate down to alpha times learning_rate" },
	{ "optimizer.alpha", KEY_FLOAT, "", "0.0", 0, 1, NO_NAMES, AT(optimizer.alpha),
	  "schedule cosine: last rate, as a share of learning_rate" },
	{ "optimizer.boundaries", KEY_NUMBERS, "steps", "", 0, INT53, NO_NAMES, AT(optimizer.boundaries),
	  "schedule step: the last step of each of `values` except the last, ascending" },
	{ "optimizer.values", KEY_NUMBERS, "", "", 0, 1e6, NO_NAMES, AT(optimizer.values),
	  "schedule step: the rates, one more than `boundaries`; learning_rate is not used" },
	{ "optimizer.clipvalue", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.clipvalue),
	  "largest absolute value of a number in a gradient; larger numbers are cut to this value; 0 = no limit" },
	{ "optimizer.clipnorm", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.clipnorm),
	  "largest norm of the gradient of a parameter; a gradient with a larger norm is scaled down to this norm; 0 = no limit" },
	{ "optimizer.global_clipnorm", KEY_FLOAT, "", "0.0", 0, 1e12, NO_NAMES, AT(optimizer.global_clipnorm),
	  "largest norm of all gradients together; with a larger norm all gradients are scaled down to this norm; 0 = no limit" },
	{ "optimizer.gradient_accumulation_steps", KEY_INT, "batches", "1", 1, 1e6, NO_NAMES, AT(optimizer.gradient_accumulation_steps),
	  "number of batches whose mean gradient makes one update; each batch counts as a step" },
	{ "optimizer.use_ema", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(optimizer.use_ema),
	  "whether the finished model, and the model that is tested, is a moving average of the parameters" },
	{ "optimizer.ema_momentum", KEY_FLOAT, "", "0.99", 0, 1, NO_NAMES, AT(optimizer.ema_momentum),
	  "share of the old average in the new average" },
	{ "optimizer.ema_overwrite_frequency", KEY_INT, "updates", "0", 0, INT53, NO_NAMES, AT(optimizer.ema_overwrite_frequency),
	  "updates after which the average replaces the parameters; 0 = only at the end of training" },
	{ "device.platform", KEY_STRING, "", "auto", NO_BOUNDS, NO_NAMES, AT(device.platform),
	  "part of the OpenCL platform's name; auto = the first platform with a fitting device" },
	{ "device.type", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "cpu", "gpu" }, AT(device.type),
	  "kind of OpenCL device; auto = a GPU where there is one" },
	{ "device.id", KEY_STRING, "", "auto", NO_BOUNDS, NO_NAMES, AT(device.id),
	  "which device of this platform and type: its index (\"0\" is the first), its PCI address (\"3b:00.0\"), its UUID, or a part of its name; auto = the first" },
	{ "device.cores", KEY_CPUS, "", "auto", NO_BOUNDS, NO_NAMES, AT(device.cores),
	  "CPU list of the trainer; auto = the cores near the GPU, or all cores" },
	{ "heat.cpu_throttle_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.cpu_throttle_celsius),
	  "temperature of a processor at which the trainer pauses between steps until the processor is 5 degrees cooler; 0 = 5 degrees below the critical limit of the sensor; 150 = never" },
	{ "heat.cpu_stop_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.cpu_stop_celsius),
	  "temperature of a processor that stops the run, after a checkpoint, when it lasts for 3 s; 0 = the critical limit of the sensor" },
	{ "heat.gpu_throttle_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.gpu_throttle_celsius),
	  "temperature of a GPU at which the trainer pauses between steps; 0 = 5 degrees below the critical limit of the sensor, or the maximum that the sensor reports, if that is lower" },
	{ "heat.gpu_stop_celsius", KEY_INT, "C", "0", 0, 150, NO_NAMES, AT(heat.gpu_stop_celsius),
	  "temperature of a GPU that stops the run, after a checkpoint, when it lasts for 3 s; 0 = the critical limit of the sensor" },
	{ "checkpoint.every_steps", KEY_INT, "steps", "0", 0, INT53, NO_NAMES, AT(checkpoint.every_steps),
	  "steps between checkpoints, in addition to the one at the end of each epoch; give at most one of every_steps, every_minutes and auto; 0 = none" },
	{ "checkpoint.every_minutes", KEY_FLOAT, "min", "0.0", 0, 525600, NO_NAMES, AT(checkpoint.every_minutes),
	  "minutes between checkpoints, in addition to the one at the end of each epoch; 0 = none" },
	{ "checkpoint.auto", KEY_BOOL, "", "true", NO_BOUNDS, NO_NAMES, AT(checkpoint.automatic),
	  "write checkpoints as often as possible in 1 % of the training time; not given = true, unless every_steps or every_minutes is given" },
	{ "checkpoint.keep", KEY_INT, "checkpoints", "3", 1, 10000, NO_NAMES, AT(checkpoint.keep),
	  "number of newest checkpoints that stay in the store, in addition to the best checkpoint" },
	{ "early_stopping.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(early_stopping.monitor),
	  "metric of an epoch; training ends when the metric has not improved for `patience` epochs; none = no early stop" },
	{ "early_stopping.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(early_stopping.mode),
	  "which direction is better; auto = lower for a loss, higher for an accuracy" },
	{ "early_stopping.patience", KEY_INT, "epochs", "0", 0, 1e6, NO_NAMES, AT(early_stopping.patience),
	  "epochs without an improvement before training ends" },
	{ "early_stopping.min_delta", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(early_stopping.min_delta),
	  "smallest change that counts as an improvement" },
	{ "early_stopping.restore_best", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(early_stopping.restore_best),
	  "whether the weights of the best epoch become the model, instead of the last weights" },
	{ "reduce_on_plateau.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(reduce_on_plateau.monitor),
	  "metric of an epoch; the learning rate is lowered when the metric has not improved for `patience` epochs; none = never lowered" },
	{ "reduce_on_plateau.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(reduce_on_plateau.mode),
	  "which direction is better; auto = lower for a loss, higher for an accuracy" },
	{ "reduce_on_plateau.factor", KEY_FLOAT, "", "0.1", 1e-9, 0.999999, NO_NAMES, AT(reduce_on_plateau.factor),
	  "number that the learning rate is multiplied by" },
	{ "reduce_on_plateau.patience", KEY_INT, "epochs", "10", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.patience),
	  "epochs without an improvement before the rate is lowered" },
	{ "reduce_on_plateau.min_delta", KEY_FLOAT, "", "1e-4", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.min_delta),
	  "smallest change that counts as an improvement" },
	{ "reduce_on_plateau.cooldown", KEY_INT, "epochs", "0", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.cooldown),
	  "epochs after a reduction that do not count towards patience" },
	{ "reduce_on_plateau.min_lr", KEY_FLOAT, "", "0.0", 0, 1e6, NO_NAMES, AT(reduce_on_plateau.min_lr),
	  "lowest learning rate" },
	{ "keep_best.monitor", KEY_ENUM, "", "none", NO_BOUNDS, { "none", "loss", "accuracy", "val_loss", "val_accuracy" }, AT(keep_best.monitor),
	  "metric of an epoch; the weights of the epoch with the best value become the finished model; none = off" },
	{ "keep_best.mode", KEY_ENUM, "", "auto", NO_BOUNDS, { "auto", "min", "max" }, AT(keep_best.mode),
	  "which direction is better; auto = lower for a loss, higher for an accuracy" },
	{ "tensorboard.every_steps", KEY_INT, "steps", "100", 0, INT53, NO_NAMES, AT(tensorboard.every_steps),
	  "steps between two points of the curves of loss, accuracy, learning rate, records/s and stall; 0 = one point per epoch" },
	{ "tensorboard.histogram_epochs", KEY_INT, "epochs", "1", 0, 1e6, NO_NAMES, AT(tensorboard.histogram_epochs),
	  "epochs between histograms of weights and gradients, like histogram_freq of Keras; 0 = no histograms" },
	{ "tensorboard.images", KEY_INT, "pictures", "8", 0, 256, NO_NAMES, AT(tensorboard.images),
	  "pictures of the first batch that TensorBoard shows, as the network sees them; only for a network that reads pictures; 0 = none" },
	{ "tensorboard.segment_bytes", KEY_INT, "bytes", "131072", 4096, GIB, NO_NAMES, AT(tensorboard.segment_bytes),
	  "largest size of an event file; a full file is uploaded once, the file that still grows is uploaded again and again" },
	{ "tensorboard.upload_s", KEY_INT, "s", "10", 0, 86400, NO_NAMES, AT(tensorboard.upload_s),
	  "shortest time between two uploads of an event file that grows" },
	{ "power.when_finished", KEY_ENUM, "", "nothing", NO_BOUNDS, { "nothing", "off", "suspend" }, AT(power.when_finished),
	  "what the box does after a run that the timer started: nothing, off, or suspend until shortly before the next start; the box stays on while a person is logged in, while an update is installed, or when nothing would wake it" },
	{ "power.upload_wait_min", KEY_INT, "min", "30", 0, 1440, NO_NAMES, AT(power.upload_wait_min),
	  "longest wait for uploads before the box switches off or suspends" },
	{ "power.wake_by", KEY_ENUM, "", "alarm", NO_BOUNDS, { "alarm", "other" }, AT(power.wake_by),
	  "what switches the box on again, with when_finished = \"off\": alarm = the alarm of the hardware clock, and the box stays on if none can be set; other = something else, such as a timer switch or a management board" },
	{ "power.wake_early_min", KEY_INT, "min", "10", 1, 120, NO_NAMES, AT(power.wake_early_min),
	  "time between the alarm and the next start, in which firmware, drivers and network come up" },
	{ "update.offline", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(update.offline),
	  "whether the box may have no access to its store: an updated slot then passes its trial without reaching the sink" },
	{ "notify.url", KEY_WEB, "", "", NO_BOUNDS, NO_NAMES, AT(notify.url),
	  "http:// or https:// address that each night's report is posted to as JSON, and what is wrong in the night; run.json contains this url, so it must hold no secret; empty = no report is posted" },
	{ "notify.url_credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(notify.url_credential),
	  "name of the credential whose only line is the address to post to, in place of `url`: for addresses that are secrets, such as those of Slack and Teams; empty = none" },
	{ "notify.credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(notify.credential),
	  "name of the credential whose only line is the bearer token for the address to post to; empty = none" },
	{ "notify.ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(notify.ca_file),
	  "PEM file of the certificate authorities to trust for all of `notify`; empty = the system's" },
	{ "notify.wait_min", KEY_INT, "min", "10", 0, 60, NO_NAMES, AT(notify.wait_min),
	  "longest time to try to post, mail and upload a report; a report that could not be sent is tried again with the next report" },
	{ "notify.mail_server", KEY_RELAY, "", "", NO_BOUNDS, NO_NAMES, AT(notify.mail_server),
	  "mail relay that each night's report is mailed by, and what is wrong in the night: smtp://host:port, or smtps://host:port with TLS from the first byte; empty = no mails" },
	{ "notify.mail_from", KEY_MAIL, "", "", NO_BOUNDS, NO_NAMES, AT(notify.mail_from),
	  "address that mails come from" },
	{ "notify.mail_to", KEY_MAIL, "", "", NO_BOUNDS, NO_NAMES, AT(notify.mail_to),
	  "addresses that mails go to, with a comma between two" },
	{ "notify.mail_credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(notify.mail_credential),
	  "name of the credential whose only line is USER:PASSWORD for the mail relay; it is sent over TLS only; empty = no login" },
	{ "notify.heartbeat_url", KEY_WEB, "", "", NO_BOUNDS, NO_NAMES, AT(notify.heartbeat_url),
	  "address of a monitor that notices a silent box, as healthchecks.io does: it gets posts at URL/start during a night, at URL after a good end, at URL/fail after another; empty = no heartbeats" },
	{ "notify.heartbeat_credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(notify.heartbeat_credential),
	  "name of the credential whose only line is the address of the monitor, in place of `heartbeat_url`; empty = none" },
	{ "notify.heartbeat_min", KEY_INT, "min", "5", 1, 60, NO_NAMES, AT(notify.heartbeat_min),
	  "time between two heartbeats while a night goes on; the grace time of the monitor should be a few times longer" },
	{ "tracking.url", KEY_WEB, "", "", NO_BOUNDS, NO_NAMES, AT(tracking.url),
	  "http:// or https:// address of an MLflow tracking server, which is sent each run's parameters, metrics and tags; run.json contains this url, so it must hold no secret; empty = nothing is sent" },
	{ "tracking.credential", KEY_NAME, "", "", NO_BOUNDS, NO_NAMES, AT(tracking.credential),
	  "name of the credential whose only line is USER:PASSWORD, or the bearer token, for the tracking server; empty = no login" },
	{ "tracking.ca_file", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(tracking.ca_file),
	  "PEM file of the certificate authorities to trust for the tracking server; empty = the system's" },
	{ "tracking.experiment", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(tracking.experiment),
	  "name of the MLflow experiment that the runs belong to, which is made where it is missing; empty = run.name" },
	{ "control.remote", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, AT(control.remote),
	  "whether kiln-controld also answers `kiln --host` from other machines, over mutual TLS with the credentials control-ca, control-crt and control-key" },
	{ "control.port", KEY_INT, "", "7443", 1, 65535, NO_NAMES, AT(control.port),
	  "TCP port for remote control" },
	{ "control.metrics_dir", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, AT(control.metrics_dir),
	  "folder in which kiln.prom is written every 15 s for node_exporter's textfile collector, such as /run/kiln/metrics; empty = the file is not written" },
	{ "clock.ntp_servers", KEY_HOSTS, "", "", NO_BOUNDS, NO_NAMES, AT(clock.ntp_servers),
	  "time servers of a flashed box, such as \"ntp-1.lan 192.0.2.7\", in addition to the servers from DHCP; empty = Debian's default servers" },
};
/* clang-format on */
const size_t config_keys_count = sizeof(config_keys) / sizeof(config_keys[0]);
static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEYS_MAX, "raise CONFIG_KEYS_MAX");

#define SOURCE(member)       offsetof(struct config_source, member)
#define SOURCE_STORE(member) SOURCE(store.member)
const struct config_key config_source_keys[] = {
	STORE_KEYS("", SOURCE_STORE, "address of its shards"),
	{ "weight", KEY_FLOAT, "", "1.0", 1e-6, 1e6, NO_NAMES, SOURCE(weight),
	  "share of the training rows that come from this source, relative to the other sources" },
	{ "train_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(train_glob),
	  "pattern of this source's training shards; not given = split.train_glob" },
	{ "validation_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(validation_glob),
	  "pattern of this source's validation shards, with split.by = \"prefix\"; not given = "
	  "split.validation_glob, empty = no shards" },
	{ "test_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(test_glob),
	  "pattern of this source's test shards; not given = split.test_glob, empty = no shards" },
};
const size_t config_source_keys_count = sizeof(config_source_keys) / sizeof(config_source_keys[0]);
static_assert(offsetof(struct config_source, store) == 0,
	      "the keys of a store have the same offsets in a source");

#define FEATURE(member) offsetof(struct config_feature, member)
const struct config_key config_feature_keys[] = {
	{ "name", KEY_STRING, "", NULL, NO_BOUNDS, NO_NAMES, FEATURE(name),
	  "name of the feature in tf.train.Example" },
	{ "dtype",
	  KEY_ENUM,
	  "",
	  NULL,
	  NO_BOUNDS,
	  { "float32", "int64", "bytes", "uint8", "picture" },
	  FEATURE(dtype),
	  "type of the values; uint8 = a bytes feature with one byte for each value, picture = a bytes "
	  "feature "
	  "with a JPEG or PNG file, which becomes uint8 values of `shape`, [ height, width, channels ]" },
	{ "missing",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "default" },
	  FEATURE(missing),
	  "what happens when a record lacks the feature: error = the record is bad, default = the values are "
	  "`fill`" },
	{ "fill", KEY_FLOAT, "", "0.0", -FLT_MAX, FLT_MAX, NO_NAMES, FEATURE(fill),
	  "value of a missing feature; an integer for int64 and uint8" },
	{ "values_max", KEY_INT, "", "0", 0, 1 << 28, NO_NAMES, FEATURE(values_max),
	  "for a ragged feature, instead of `shape`: largest number of values in a record; a record without "
	  "the feature has 0 values" },
	{ "bytes_max", KEY_INT, "", "65536", 1, 1 << 28, NO_NAMES, FEATURE(bytes_max),
	  "largest size of a value of dtype \"bytes\"" },
	{ "overflow",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "truncate" },
	  FEATURE(overflow),
	  "what happens to values beyond values_max or bytes_max: error = the record is bad, truncate = the "
	  "values are cut off" },
#define FEATURE_KEYS_OF_ALL 7
	{ "interpolation",
	  KEY_ENUM,
	  "",
	  "bilinear",
	  NO_BOUNDS,
	  { "nearest", "bilinear", "bicubic", "area" },
	  FEATURE(interpolation),
	  "filter that brings the picture to the height and width of `shape`" },
	{ "antialias", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(antialias),
	  "widen the filter where the picture gets smaller, so that each of its pixels counts" },
	{ "fit",
	  KEY_ENUM,
	  "",
	  "stretch",
	  NO_BOUNDS,
	  { "stretch", "crop", "pad" },
	  FEATURE(fit),
	  "what happens to a picture of other proportions: stretch = they change, crop = its edges are cut "
	  "off, pad = black bars are added" },
	{ "random_crop", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(random_crop),
	  "with fit = \"crop\": in training, each epoch cuts at another place; evaluation takes the centre" },
	{ "orientation", KEY_BOOL, "", "true", NO_BOUNDS, NO_NAMES, FEATURE(orientation),
	  "turn the picture as the orientation in its EXIF data says" },
	{ "scaled_decode", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(scaled_decode),
	  "let the decoder shrink a large JPEG by 2, 4 or 8 before the filter; faster, with other pixels" },
	{ "pixels_max", KEY_INT, "pixels", "64000000", 1, 1 << 30, NO_NAMES, FEATURE(pixels_max),
	  "largest width times height of a picture; a record with a larger picture is bad" },
};
const size_t config_feature_keys_count = sizeof(config_feature_keys) / sizeof(config_feature_keys[0]);
const size_t config_picture_keys = FEATURE_KEYS_OF_ALL;

size_t config_feature_keys_of(int dtype)
{
	return dtype == CONFIG_PICTURE ? config_feature_keys_count : config_picture_keys;
}

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
