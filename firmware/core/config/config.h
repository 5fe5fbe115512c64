/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config: the one configuration file, kiln.conf, parsed and checked. Every key is one row of the table
 * in config_keys.c; the parser, `kiln config check`, `kiln config show` and the reference in config/kiln.conf
 * all read this table.
 *
 * A file goes through these steps. Each step adds its mistakes to one list, so that a person sees all
 * mistakes at once:
 *
 *     config_scan.c      the raw text: finds what libconfig would read wrongly
 *     libconfig          the syntax; after a mistake here no other step follows
 *     config_value.c     each value against its row; config_forms.c has the forms of strings
 *     config_lists.c     `sources` and `schema`; config_layers.c has model.layers
 *     config_together.c  keys that depend on each other
 *     the caller         what core/config does not know: the trials (core/series/trials.h), and the layers
 *                        of the model
 *
 * Order: config_load -> read -> config_done. Owns: strings and arrays belong to the config and live until
 * config_done(). No threads and no state: a loaded config is never changed, and any thread may read it.
 * Crash: nothing is stored; the file is only read.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/mistakes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SOURCES_MAX     32u
#define CONFIG_FEATURES_MAX    1024u
#define CONFIG_SHAPE_MAX       8u
#define CONFIG_STREAMS_MAX     32u   /* lanes times sources: the number of places in a cursor */
#define CONFIG_LAYERS_MAX      2048u /* some for each feature */
#define CONFIG_BERT_LAYERS_MAX 48u   /* layers of attention: twice those of BERT-large */
#define CONFIG_THREADS_MAX     8u    /* network threads of one source */
#define CONFIG_INPUTS_MAX      1024u /* inputs of a layer: a layer may join all features */
#define CONFIG_ATTRIBUTES_MAX  16u
#define CONFIG_NUMBERS_MAX     4096u
/* Longest name of a feature in bytes, with its NUL: the name becomes the name of a column in the ring. */
#define CONFIG_FEATURE_NAME_BYTES 64u
/* Largest height and width of a picture in a row, in pixels. */
#define CONFIG_PICTURE_SIDE_MAX 8192u
/* Longest bucket, prefix, host and region of a store, and longest clock.ntp_servers, in characters. */
#define CONFIG_BUCKET_MAX 255u
#define CONFIG_PREFIX_MAX 1023u
/* lakeFS: names of repositories (RepositoryCreation of its API), and our own bound of a ref */
#define CONFIG_REPOSITORY_MAX 63u
#define CONFIG_REF_MAX        255u
#define CONFIG_HOST_MAX       255u
#define CONFIG_REGION_MAX     63u
#define CONFIG_HOSTS_MAX      1023u
/* Longest notify.url, and longest notify.mail_to, in characters. */
#define CONFIG_WEB_MAX  2048
#define CONFIG_MAIL_MAX 800

enum config_format { FORMAT_TFRECORD, FORMAT_OBJECTS };
enum config_start_from { START_SCRATCH, START_LATEST };
enum config_split_by { SPLIT_BY_SHARD, SPLIT_BY_PREFIX, SPLIT_BY_HASH };
enum config_pages { PAGES_2MIB, PAGES_1GIB };
enum config_interrupts { INTERRUPTS_CORES, INTERRUPTS_LEAVE };
enum config_bad_record { BAD_RECORD_STOP, BAD_RECORD_SKIP };
enum config_changed { CHANGED_STOP, CHANGED_REPLAN };
enum config_remainder { REMAINDER_KEEP, REMAINDER_DROP };
enum config_order_mode { ORDER_EXACT, ORDER_FAST };
enum config_url_style { URL_STYLE_AUTO, URL_STYLE_PATH, URL_STYLE_VIRTUAL };
enum config_dtype { CONFIG_FLOAT32, CONFIG_INT64, CONFIG_BYTES, CONFIG_UINT8, CONFIG_PICTURE };
enum config_interpolation {
	INTERPOLATE_NEAREST,
	INTERPOLATE_BILINEAR,
	INTERPOLATE_BICUBIC,
	INTERPOLATE_AREA
};
enum config_fit { FIT_STRETCH, FIT_CROP, FIT_PAD };
enum config_missing { MISSING_ERROR, MISSING_DEFAULT };
enum config_overflow { OVERFLOW_ERROR, OVERFLOW_TRUNCATE };
enum config_padding { PADDING_NONE, PADDING_POST, PADDING_PRE };
enum config_monitor { MONITOR_NONE, MONITOR_LOSS, MONITOR_ACCURACY, MONITOR_VAL_LOSS, MONITOR_VAL_ACCURACY };
enum config_mode { MODE_AUTO, MODE_MIN, MODE_MAX };
enum config_method { METHOD_GRID, METHOD_RANDOM, METHOD_HALVING };
/* The metrics of a run that trials are compared by; OBJECTIVE_AUTO: model/learn/objective.h chooses. */
enum config_objective {
	OBJECTIVE_AUTO,
	OBJECTIVE_TRAIN_LOSS,
	OBJECTIVE_TRAIN_ACCURACY,
	OBJECTIVE_VALIDATION_LOSS,
	OBJECTIVE_VALIDATION_ACCURACY,
	OBJECTIVE_TEST_LOSS,
	OBJECTIVE_TEST_ACCURACY
};
enum config_keep_branches { KEEP_ALL, KEEP_WINNER, KEEP_NONE };
enum config_against { AGAINST_OFF, AGAINST_CHAMPION, AGAINST_NOTHING };
enum config_power { POWER_NOTHING, POWER_OFF, POWER_SUSPEND };
enum config_wake { WAKE_BY_ALARM, WAKE_BY_OTHER };
enum config_precision { PRECISION_FLOAT32, PRECISION_MIXED_BFLOAT16, PRECISION_MIXED_FLOAT16 };
enum config_pooling { POOLING_NONE, POOLING_AVG, POOLING_MAX };
enum config_scaling { SCALING_AUTO, SCALING_NONE, SCALING_CAFFE, SCALING_TF, SCALING_TORCH, SCALING_LITE };
enum config_device { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };
enum config_exchange { EXCHANGE_FLOAT32, EXCHANGE_BFLOAT16 };

/* A list of numbers, [ 0.1, 2 ]. */
struct config_numbers {
	uint32_t count;
	const double *at;
};

/* The location of an object store; every source and the sink have these keys. */
struct config_store {
	const char *url;      /* s3://bucket/prefix, file:///dir or lakefs://repository/ref/prefix */
	const char *endpoint; /* https://host:port; "" = AWS, chosen by region */
	const char *region;
	const char *credential; /* name of a credential, see drivers/store/store.h; "" = from the environment,
				   or unsigned requests */
	const char *ca_file;    /* "" = the certificates of the system */
	int url_style;          /* enum config_url_style */
	bool http2;
	bool presign; /* lakefs:// only: objects are read from lakeFS's own store, by pre-signed URLs */
	/* No key: the commit or branch of lakefs:// that takes the place of the one in `url`; "" = that of
	 * `url`. */
	char at[CONFIG_REF_MAX + 1];
};

/* The parts of "lakefs://repository/ref/prefix". */
struct config_lakefs {
	char repository[CONFIG_REPOSITORY_MAX + 1];
	char ref[CONFIG_REF_MAX + 1]; /* a branch, a tag or a commit */
	const char *prefix;           /* points into the url; "" = none */
};

/* A source of shards. With FORMAT_OBJECTS, which only a single source has, each object is a shard of one
 * record: a picture, whose folder is its class (data/plan.h). */
struct config_source {
	struct config_store store;
	int format;    /* enum config_format */
	double weight; /* share of the training rows, relative to the weights of the other sources */
	const char *train_glob, *validation_glob, *test_glob; /* keys below store.url; "" = none */
};

/* A text, for a feature of bytes; or `text` is NULL and `whole` an integer. */
struct config_token {
	const char *text;
	int64_t whole;
};

enum config_preprocess_op {
	PREPROCESS_STRING_LOOKUP,
	PREPROCESS_INTEGER_LOOKUP,
	PREPROCESS_HASHING,
	PREPROCESS_DISCRETIZATION,
	PREPROCESS_CATEGORY_ENCODING
};
enum config_output_mode { OUTPUT_INT, OUTPUT_ONE_HOT, OUTPUT_MULTI_HOT, OUTPUT_COUNT };

/* A row of `preprocess`: how a feature is made of another one. Names and meaning are those of Keras's
 * preprocessing layers; data/preprocess.h computes them. */
struct config_preprocess {
	int op; /* enum config_preprocess_op */
	const char *name, *input;
	uint32_t from;   /* the index of `input` in config.feature */
	int output_mode; /* enum config_output_mode */
	uint64_t num_oov_indices, num_bins, num_tokens;
	struct config_numbers bin_boundaries;
	const struct config_token *vocabulary;
	uint32_t words; /* number of words in `vocabulary` */
	bool masked, salted;
	struct config_token mask; /* mask_token or mask_value */
	uint64_t salt[2];
};

struct config_feature {
	const char *name;
	int dtype; /* enum config_dtype */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	int missing;                    /* enum config_missing */
	uint64_t values_max, bytes_max; /* values_max: 0 = the shape is the size; else a ragged feature */
	int overflow;                   /* enum config_overflow */
	int padding; /* enum config_padding; not PADDING_NONE: `shape` has one size, and a record has at most
			so many values */
	double fill; /* value of a missing feature if `missing` is MISSING_DEFAULT, and of padding; an integer
			for int64 and uint8 */
	/* CONFIG_PICTURE only, whose shape is [ height, width, 1 or 3 ]: how data/picture.h decodes. */
	int interpolation; /* enum config_interpolation */
	bool antialias;
	int fit; /* enum config_fit */
	bool random_crop, orientation, scaled_decode;
	uint64_t pixels_max;
	const struct config_preprocess *made_by; /* NULL: records have the feature */
};

/* An attribute of a layer. The model checks the names of ops and attributes, because the model has their
 * tables. */
struct config_attribute {
	const char *key;
	/* ATTRIBUTE_UNREAD: the value was wrong, and the mistake is already in the list. A loaded config has
	 * no such attribute. */
	enum {
		ATTRIBUTE_INT,
		ATTRIBUTE_FLOAT,
		ATTRIBUTE_BOOL,
		ATTRIBUTE_STRING,
		ATTRIBUTE_INTS,
		ATTRIBUTE_FLOATS,
		ATTRIBUTE_UNREAD
	} type;
	int64_t i;
	double f;
	const char *s;
	uint32_t items;                  /* of a list */
	int64_t item[CONFIG_SHAPE_MAX];  /* ATTRIBUTE_INTS, such as [ 3, 3 ] */
	double number[CONFIG_SHAPE_MAX]; /* ATTRIBUTE_FLOATS, such as [ -0.2, 0.3 ] */
	unsigned line;
};

struct config_layer {
	const char *op;
	const char *name; /* "" = made from op and position as in Keras: dense, dense_1, ... */
	uint32_t inputs;  /* 0 = the input is the output of the layer before */
	const char *input[CONFIG_INPUTS_MAX];
	uint32_t attributes;
	struct config_attribute attribute[CONFIG_ATTRIBUTES_MAX];
	unsigned line;
};

/* The size of the base "bert". The keys are model.bert_NAME, with the names of Hugging Face's config.json. */
struct config_bert {
	uint64_t hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size,
		max_position_embeddings;
	double layer_norm_eps, hidden_dropout_prob, attention_probs_dropout_prob;
};

struct config {
	const char *file; /* path of the file that was loaded */
	struct {
		const char *name;
		uint64_t epochs, seed, batch_rows;
		int start_from;                         /* enum config_start_from */
		const char *days, *at, *zone, *ends_at; /* texts, see core/config/local_time.h */
		bool catch_up;
	} run;
	/* The sources: the list `sources` or, without it, the group `source` as one source with the globs of
	 * `split`. */
	uint32_t sources;
	struct config_source source[CONFIG_SOURCES_MAX];
	struct config_store sink;
	/* Keys of the sink that no source has; of meaning on lakefs:// alone. */
	struct {
		const char *merge_into; /* branch that the winner is merged into; "" = that of sink.url */
		int keep;               /* enum config_keep_branches */
	} branches;
	struct {
		const char *train_glob, *validation_glob,
			*test_glob;          /* for sources that have no globs of their own */
		int by;                      /* enum config_split_by */
		uint64_t validation_percent; /* percentage of the train shards of each source that are held
						out, see data/hold_out.h */
	} split;
	struct {
		const char *nic;   /* name of a network interface, or "auto" */
		const char *cores; /* list of CPUs, or "auto" */
		int interrupts;    /* enum config_interrupts */
		/* network threads of each source; 0 = nic_threads_of() chooses */
		uint64_t network_threads;
		uint64_t connections, part_bytes, target_bytes_per_s, hedge_percent, decode_workers,
			memory_bytes;
		uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s, attempts_max;
		int bad_record;     /* enum config_bad_record */
		int changed_object; /* enum config_changed */
		uint64_t skip_records_max;
		uint64_t cache_bytes, cache_spare_bytes;
	} fetch;
	struct {
		int mode; /* enum config_order_mode */
		uint64_t window_shards, lanes;
		int remainder;      /* enum config_remainder */
		const char *filter; /* a condition, see core/config/filter.h */
		uint64_t skip_rows, take_rows;
	} order;
	struct {
		uint64_t slots;
		int pages;        /* enum config_pages */
		bool small_pages; /* true: fall back to normal pages when hugepages cannot be had */
	} ring;
	uint32_t features, made; /* the last `made` features are those of `preprocess` */
	struct config_feature feature[CONFIG_FEATURES_MAX];
	struct {
		const char *input, *label; /* names of features */
		const char *loss;
		int precision; /* enum config_precision; see model/plan/storage.h */
		bool tensor_float_32;
		double label_smoothing;
		double huber_delta, focal_gamma, focal_alpha;
		bool focal_balancing;
		struct config_numbers class_weights; /* one for each class; empty = all weights are 1 */
		const char *sample_weight;           /* name of a feature, "" = none */
		uint64_t top_k;                      /* 0 = without this metric */
		/* The base network below `layer`: model/base/base.h. */
		const char *base;       /* "" = none */
		const char *base_after; /* the layer of `layer` before the base; "" = the base is first */
		bool base_trainable;
		const char *base_unfreeze_from; /* a layer; "" = none */
		int base_pooling;               /* enum config_pooling */
		int base_scaling;               /* enum config_scaling */
		struct config_bert bert;
		/* The base whose output `input` is, where it was computed before: model/features.h; "" =
		 * none. */
		const char *features_of;
		const char *weights; /* initial weights: a URL or a key below the sink's url, "" = none */
		const char *weights_layers; /* names of the layers that get these weights; "" = all layers */
		bool weights_skip_mismatch;
		uint32_t layers;
		struct config_layer *layer;
	} model;
	struct {
		const char *name; /* name of a row in the model's table of optimizers */
		double learning_rate, beta_1, beta_2, epsilon, momentum, rho, initial_accumulator_value;
		bool nesterov, lazy;
		double weight_decay;
		const char *exclude_from_weight_decay; /* parts of parameter names, separated by commas */
		const char *schedule;                  /* name of a row in the model's table of schedules */
		uint64_t warmup_steps;
		double warmup_from;
		uint64_t decay_steps;
		double alpha, power, t_mul, m_mul;
		struct config_numbers boundaries, values;
		double clipvalue, clipnorm, global_clipnorm; /* 0 = no clipping */
		uint64_t gradient_accumulation_steps;
		bool use_ema;
		double ema_momentum;
		uint64_t ema_overwrite_frequency; /* 0 = never */
	} optimizer;
	struct {
		const char *platform; /* part of the name of an OpenCL platform, or "auto" */
		int type;             /* enum config_device */
		const char *id;       /* index, PCI address, UUID or part of the name, or "auto" */
		uint64_t count;       /* ranks that train the run on this box, each on a device */
		const char *cores;    /* list of CPUs, or "auto" */
	} device;
	struct {
		uint64_t cpu_throttle_celsius, cpu_stop_celsius; /* 0 = the limit that the sensor reports */
		uint64_t gpu_throttle_celsius, gpu_stop_celsius;
	} heat;
	struct {
		/* How often a checkpoint is written within an epoch: at most one of these three is set. */
		uint64_t every_steps;
		double every_minutes;
		bool automatic; /* true: checkpoint.auto */
		uint64_t keep;  /* checkpoints that the store keeps: the newest ones, and the best */
	} checkpoint;
	/* Callbacks, see model/learn/callbacks.h. `monitor`: enum config_monitor, `mode`: enum
	 * config_mode. */
	struct {
		int monitor, mode;
		uint64_t patience;
		double min_delta;
		bool restore_best;
	} early_stopping;
	struct {
		int monitor, mode;
		uint64_t patience, cooldown;
		double factor, min_delta, min_lr;
	} reduce_on_plateau;
	struct {
		int monitor, mode;
	} keep_best;
	struct {
		uint64_t every_steps, histogram_epochs; /* 0 = never */
		uint64_t segment_bytes, upload_s;
		uint64_t images; /* 0 = none */
	} tensorboard;
	/* Several trials in a night: core/series/trials.h. */
	struct {
		int method;                            /* enum config_method */
		uint64_t trials;                       /* 0 = every combination of `vary` */
		uint64_t parallel;                     /* trials at a time; 0 = one for each device */
		const char *budget;                    /* "HH:MM", "" = no limit */
		uint64_t reduction, first_rung_epochs; /* METHOD_HALVING */
		bool stop_on_failure;
	} series;
	struct {
		int objective; /* enum config_objective; model/learn/objective.h says which metric it is */
		int direction; /* enum config_mode */
		double min_gain;
		int against; /* enum config_against */
	} promote;
	struct {
		int when_finished; /* enum config_power */
		uint64_t upload_wait_min;
		int wake_by; /* enum config_wake */
		uint64_t wake_early_min;
	} power;
	struct {
		bool offline;
	} update;
	struct {
		const char *url, *url_credential; /* "" = reports are not sent to a web server */
		const char *credential, *ca_file;
		uint64_t wait_min;
		const char *mail_server; /* "" = no mails are sent */
		const char *mail_from, *mail_to, *mail_credential;
		const char *heartbeat_url, *heartbeat_credential; /* "" = no heartbeats */
		uint64_t heartbeat_min;
	} notify;
	struct {
		const char *url; /* "" = runs are not tracked */
		const char *credential, *ca_file, *experiment;
	} tracking;
	/* Training on several boxes and devices. */
	struct {
		const char *boxes; /* host names, separated by one space: the boxes beside this one */
		uint64_t boxes_min, wait_s;
		bool mixed;
		const char *network; /* core/config/cidr.h; "" = none */
		bool trusted, exact;
		int exchange; /* enum config_exchange */
		uint64_t bucket_bytes;
		uint64_t check_steps; /* 0 = never */
		uint32_t world;       /* no key: how many ranks train, as kiln-traind finds out; 0 = one */
	} ranks;
	struct {
		bool remote;
		uint64_t port;
		const char *metrics_dir;
	} control;
	struct {
		const char *ntp_servers; /* host names and addresses, separated by one space */
	} clock;
	struct config_memory *memory; /* private; owns everything to which the pointers above point */
};

/* Suffix of a copy of kiln.conf in the same folder: the last configuration with which a run began. */
#define CONFIG_GOOD_SUFFIX ".good"

/* Returns the path of the configuration: the argument `--config FILE`, or else the environment variable
 * KILN_CONFIG, or else PATH_CONFIG. */
const char *config_path(int argc, char **argv);

/* Reads and checks a file. A loaded config has at least one layer. model.label is a feature of numbers, and
 * so is model.input where the first layer has no list of inputs. Errors: -EINVAL with one line for each
 * mistake (core/base/mistakes.h): as many mistakes as fit into the text, then the number of the others;
 * -ENOENT, -EACCES and other codes where the file cannot be read. After a mistake of syntax, an @include or
 * an integer beyond 64 bits the check stops, and the list has no later mistakes. */
MUST_CHECK int config_load(const char *path, struct config *ret_config, struct error *err);

/* Checks url, endpoint and region of a store that were given on the command line. endpoint and region may be
 * NULL or empty. Errors: -EINVAL with the key, what was found and what is allowed. */
MUST_CHECK int config_store_check(const struct config_store *store, struct error *err);

/* Splits the URL of a lakefs:// store. Returns false for every other URL; *ret is then empty. The url must
 * outlive *ret. */
bool config_lakefs(const char *url, struct config_lakefs *ret);

/* Returns the first key of a store that does not fit its url, and in *ret_allowed what is allowed; NULL: all
 * fit. A string with a mistake is NULL. */
const char *config_store_misfit(const struct config_store *store, const char **ret_allowed);

/* Returns the first key in which two stores have different servers: endpoint, region, credential or ca_file.
 * NULL: requests to both stores go to the same server, and are signed with the same credential. The urls may
 * differ. */
const char *config_server_differs(const struct config_store *a, const struct config_store *b);

/* Finds the file that model.weights names. Returns its key in the store *ret_where, which is the sink, or the
 * folder of a URL, read with the sink's endpoint and credential. `url` is the space for this folder: it must
 * have room for model.weights, and live as long as *ret_where. */
const char *config_weights_key(const struct config *config, struct config_store *ret_where, char *url);

/* Whether the source has format "objects". Such a config has one picture in the schema, no filter, order.mode
 * "exact", and a label of dtype int64 with the shape [ ], [ 1 ] or [ classes ]; nothing else is in the
 * schema, and split.by is not "shard". */
bool config_reads_objects(const struct config *config);

/* Returns the feature of `schema` with this name; NULL where there is none, or where `name` is NULL. */
const struct config_feature *config_feature_named(const struct config *config, const char *name);

/* Returns the memory in bytes for shards that wait to be written to the cache. This memory is needed in
 * addition to the memory of the windows. */
uint64_t config_fetch_cache_backlog_bytes(const struct config *config);

/* Finds the next name of a list separated by commas or spaces: moves *list to the start of the name and
 * returns the length of the name, 0 at the end of the list. The caller continues at *list + length. */
size_t config_next_name(const char **list);

/* Returns the key "GROUP.monitor" of the first callback that monitors a metric of the validation; NULL: no
 * callback does. */
const char *config_validation_monitor(const struct config *config);

/* Tells whether the user wants what this key configures: the value differs from the default, or the file has
 * the key but not the key `beside`. (A file that lists all keys has both, and then the key with the default
 * value does not count.) `beside` may be NULL. Writes the key's value to `out`. */
#define CONFIG_VALUE_BYTES 128u
bool config_asks(const struct config *config, const char *key, const char *beside,
		 char out[static CONFIG_VALUE_BYTES]);

/* Tells whether the file has the list `experiments` or the group `vary`: then a night is a series
 * (core/series/trials.h). */
bool config_has_trials(const struct config *config);

/* Returns the line of a key, "group.key", in the file. Where the file does not have the key: the line of the
 * group, or 1. */
unsigned config_line(const struct config *config, const char *key);

/* Memory of one connection in addition to the buffer of its range: the buffer of libcurl, and about the same
 * amount in the kernel. */
#define CONFIG_CONNECTION_BYTES (UINT64_C(1) << 20)
/* Return the largest number of concurrent requests, and the bytes of one ranged GET: the configured value or,
 * where the key is 0, a value derived from fetch.memory_bytes. */
uint64_t config_fetch_connections(const struct config *config);
uint64_t config_fetch_part_bytes(const struct config *config);
/* Returns the largest number of concurrent requests to one source, at least 1: the sources share
 * config_fetch_connections(). */
uint64_t config_source_connections(const struct config *config);

/* Frees all memory that the config owns; accepts a zeroed config. */
void config_done(struct config *config);

/* Prints every key with the value in effect. The text is a valid configuration file with the same values.
 * Keys that are missing in the file are marked with "# default". The caller frees it. Errors: -ENOMEM. */
MUST_CHECK int config_print(const struct config *config, char **ret_text, struct error *err);
/* Does the same with a file, to `out`. Errors: those of config_load(). */
MUST_CHECK int config_show(const char *path, FILE *out, struct error *err);

/* Prints the configuration in effect as one JSON object: a member {value, default} for each key, and the
 * lists "layers", "schema" and, where the file has it, "sources". The caller frees the text. */
MUST_CHECK int config_show_json(const char *path, char **ret_text, struct error *err);
/* Returns the number of a row's lookup that the first index for unknown values has: 1 with a mask, whose
 * number is 0. */
uint64_t config_preprocess_first(const struct config_preprocess *row);
/* Returns how many numbers a row can make: 0 .. size - 1. */
uint64_t config_preprocess_size(const struct config_preprocess *row);

/* Returns the list "schema" of it; NULL: no memory. The caller deletes it. */
struct cJSON *config_schema_json(const struct config *config);

/* Prints the documented kiln.conf: every key with unit, default, bounds and help. config/kiln.conf is this
 * output. */
MUST_CHECK int config_reference(FILE *out, struct error *err);
