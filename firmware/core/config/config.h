/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config: the one configuration file, kiln.conf, parsed and checked. Every key is one row of the table
 * in config_keys.c; the parser, `kiln config check`, `kiln config show` and the reference in config/kiln.conf
 * all read this table.
 *
 * A file goes through these steps. Each step notes its mistakes, so that a person sees all of them at once:
 *
 *     config_scan.c      the raw text: what libconfig would read wrongly
 *     libconfig          the syntax; a mistake here ends the list
 *     config_value.c     each value against its row; config_forms.c has the forms of strings
 *     config_lists.c     `sources` and `schema`; config_layers.c has model.layers
 *     config_together.c  keys that depend on each other
 *     the caller         what only a higher floor knows, such as the layers of the model
 *
 * Order: config_load -> read -> config_done. Owns: strings and arrays belong to the config and live until
 * config_done(). No threads and no state: a loaded config is never changed, and any thread may read it.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/mistakes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SOURCES_MAX    32u
#define CONFIG_FEATURES_MAX   32u
#define CONFIG_SHAPE_MAX      8u
#define CONFIG_STREAMS_MAX    32u /* lanes times sources: the cursor has a place for each */
#define CONFIG_LAYERS_MAX     256u
#define CONFIG_INPUTS_MAX     8u
#define CONFIG_ATTRIBUTES_MAX 16u
#define CONFIG_NUMBERS_MAX    4096u
/* A feature names a column of the ring: bytes, with its NUL. */
#define CONFIG_FEATURE_NAME_BYTES 64u
/* Characters of a store's bucket, prefix, host and region; of all of clock.ntp_servers. */
#define CONFIG_BUCKET_MAX 255u
#define CONFIG_PREFIX_MAX 1023u
#define CONFIG_HOST_MAX   255u
#define CONFIG_REGION_MAX 63u
#define CONFIG_HOSTS_MAX  1023u
/* Characters of notify.url. */
#define CONFIG_WEB_MAX 2048

enum config_start_from { START_SCRATCH, START_LATEST };
enum config_split_by { SPLIT_BY_SHARD, SPLIT_BY_PREFIX };
enum config_pages { PAGES_2MIB, PAGES_1GIB };
enum config_interrupts { INTERRUPTS_CORES, INTERRUPTS_LEAVE };
enum config_bad_record { BAD_RECORD_STOP, BAD_RECORD_SKIP };
enum config_changed { CHANGED_STOP, CHANGED_REPLAN };
enum config_remainder { REMAINDER_KEEP, REMAINDER_DROP };
enum config_order_mode { ORDER_EXACT, ORDER_FAST };
enum config_url_style { URL_STYLE_AUTO, URL_STYLE_PATH, URL_STYLE_VIRTUAL };
enum config_dtype { CONFIG_FLOAT32, CONFIG_INT64, CONFIG_BYTES };
enum config_missing { MISSING_ERROR, MISSING_DEFAULT };
enum config_overflow { OVERFLOW_ERROR, OVERFLOW_TRUNCATE };
enum config_monitor { MONITOR_NONE, MONITOR_LOSS, MONITOR_ACCURACY, MONITOR_VAL_LOSS, MONITOR_VAL_ACCURACY };
enum config_mode { MODE_AUTO, MODE_MIN, MODE_MAX };
enum config_power { POWER_NOTHING, POWER_OFF, POWER_SUSPEND };
enum config_wake { WAKE_BY_ALARM, WAKE_BY_OTHER };
enum config_precision { PRECISION_FLOAT32, PRECISION_MIXED_BFLOAT16, PRECISION_MIXED_FLOAT16 };
enum config_device { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };

/* A list of numbers, [ 0.1, 2 ]. */
struct config_numbers {
	uint32_t count;
	const double *at;
};

/* The location of an object store; every source and the sink have these keys. */
struct config_store {
	const char *url;      /* s3://bucket/prefix or file:///dir */
	const char *endpoint; /* https://host:port; "" = AWS by region */
	const char *region;
	const char *credential; /* a name, looked up as drivers/store/store.h says; "" = the environment,
				   or unsigned requests */
	const char *ca_file;    /* "" = the system's */
	int url_style;          /* enum config_url_style */
	bool http2;
};

/* A source of shards. */
struct config_source {
	struct config_store store;
	double weight;                                        /* share of the training rows, relative */
	const char *train_glob, *validation_glob, *test_glob; /* keys below store.url; "" = none */
};

struct config_feature {
	const char *name;
	int dtype; /* enum config_dtype */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	int missing;                    /* enum config_missing */
	uint64_t values_max, bytes_max; /* values_max: 0 = the shape says how many, else ragged */
	int overflow;                   /* enum config_overflow */
	double fill; /* value of a missing feature where `missing` allows one; for int64 an integer */
};

/* An attribute of a layer. Which ops and attributes exist is checked by the model, which has their table. */
struct config_attribute {
	const char *key;
	/* UNREAD: a value with a mistake, which is noted already. No loaded config has this type. */
	enum {
		ATTRIBUTE_INT,
		ATTRIBUTE_FLOAT,
		ATTRIBUTE_BOOL,
		ATTRIBUTE_STRING,
		ATTRIBUTE_INTS,
		ATTRIBUTE_UNREAD
	} type;
	int64_t i;
	double f;
	const char *s;
	uint32_t items; /* INTS: [ 3, 3 ] */
	int64_t item[CONFIG_SHAPE_MAX];
	unsigned line;
};

struct config_layer {
	const char *op;
	const char *name; /* "" = made from op and position, as Keras does: dense, dense_1, ... */
	uint32_t inputs;  /* 0 = the layer before is the input */
	const char *input[CONFIG_INPUTS_MAX];
	uint32_t attributes;
	struct config_attribute attribute[CONFIG_ATTRIBUTES_MAX];
	unsigned line;
};

struct config {
	const char *file; /* the path it was loaded from */
	struct {
		const char *name;
		uint64_t epochs, seed, batch_rows;
		int start_from;                         /* enum config_start_from */
		const char *days, *at, *zone, *ends_at; /* core/config/local_time.h */
		bool catch_up;
	} run;
	/* The list `sources`, or the group `source` with the globs of `split` as a list of one. */
	uint32_t sources;
	struct config_source source[CONFIG_SOURCES_MAX];
	struct config_store sink;
	struct {
		const char *train_glob, *validation_glob,
			*test_glob;          /* for sources without globs of their own */
		int by;                      /* enum config_split_by */
		uint64_t validation_percent; /* share of each source's train shards: the last ones in key
						order */
	} split;
	struct {
		const char *nic;   /* interface name, "auto" */
		const char *cores; /* CPU list, "auto" */
		int interrupts;    /* enum config_interrupts */
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
		const char *filter; /* core/config/filter.h */
		uint64_t skip_rows, take_rows;
	} order;
	struct {
		uint64_t slots;
		int pages;        /* enum config_pages */
		bool small_pages; /* true: fall back to normal pages when hugepages cannot be had */
	} ring;
	uint32_t features;
	struct config_feature feature[CONFIG_FEATURES_MAX];
	struct {
		const char *input, *label; /* feature names */
		const char *loss;
		int precision; /* enum config_precision: model/plan/storage.h */
		double label_smoothing;
		struct config_numbers class_weights; /* by class; none = each class counts 1 */
		const char *sample_weight;           /* feature name, "" = none */
		uint64_t top_k;                      /* 0 = no such metric */
		const char *weights; /* to start with: a URL or a key below the sink's url, "" = none */
		const char *weights_layers; /* names of the layers that get them; "" = all */
		bool weights_skip_mismatch;
		uint32_t layers;
		struct config_layer *layer;
	} model;
	struct {
		const char *name; /* a row of the model's table of optimizers */
		double learning_rate, beta_1, beta_2, epsilon, momentum;
		bool nesterov, lazy;
		double weight_decay;
		const char *exclude_from_weight_decay; /* substrings of parameters' names */
		const char *schedule;                  /* a row of the model's table of schedules */
		uint64_t warmup_steps;
		double warmup_from;
		uint64_t decay_steps;
		double alpha;
		struct config_numbers boundaries, values;
		double clipvalue, clipnorm, global_clipnorm; /* 0 = none */
		uint64_t gradient_accumulation_steps;
		bool use_ema;
		double ema_momentum;
		uint64_t ema_overwrite_frequency; /* 0 = never */
	} optimizer;
	struct {
		const char *platform; /* "auto" or part of the name */
		int type;             /* enum config_device */
		const char *cores;    /* CPU list, "auto" */
	} device;
	struct {
		uint64_t cpu_throttle_celsius, cpu_stop_celsius; /* 0 = the sensor's own limit */
		uint64_t gpu_throttle_celsius, gpu_stop_celsius;
	} heat;
	struct {
		/* When to write a checkpoint in the middle of an epoch: at most one of the three is set. */
		uint64_t every_steps;
		double every_minutes;
		bool automatic; /* checkpoint.auto */
		uint64_t keep;  /* checkpoints that the store keeps: the newest ones, and the best */
	} checkpoint;
	/* model/learn/callbacks.h; `monitor`: enum config_monitor, `mode`: enum config_mode */
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
	} tensorboard;
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
		const char *url; /* "" = reports are not posted */
		const char *credential, *ca_file;
		uint64_t wait_min;
	} notify;
	struct {
		bool remote;
		uint64_t port;
		const char *metrics_dir;
	} control;
	struct {
		const char *ntp_servers; /* host names and addresses, one space between them */
	} clock;
	struct config_memory *memory; /* owns everything that the pointers above point to; private */
};

/* The suffix of a copy beside kiln.conf: the last configuration that a run began with. */
#define CONFIG_GOOD_SUFFIX ".good"

/* Returns the path of the configuration: `--config FILE` of the arguments, else KILN_CONFIG of the
 * environment, else PATH_CONFIG. */
const char *config_path(int argc, char **argv);

/* Reads and checks a file. A loaded config has at least one layer, a feature of numbers for model.label, and
 * one for model.input where the first layer names no inputs.
 * Errors: -EINVAL with a line for each mistake (core/base/mistakes.h), as many as the text holds, then how
 * many more there are; -ENOENT, -EACCES and other codes where the file cannot be read. A mistake of syntax,
 * an @include or an integer beyond 64 bits ends the list. */
MUST_CHECK int config_load(const char *path, struct config *ret_config, struct error *err);

/* Checks a file and prints all mistakes to `out`, however many there are. `check` adds the mistakes that only
 * a higher floor can see. It runs also after earlier mistakes: strings that could not be read are NULL then,
 * and a schema with a mistake has no features. Returns 0 or a negative errno. */
MUST_CHECK int config_check(const char *path,
			    void (*check)(const struct config *config, struct mistakes *mistakes), FILE *out);

/* Checks the forms of url, endpoint and region of a store that comes from the command line instead of a file.
 * endpoint and region may be NULL or empty. Errors: -EINVAL with the key, what was found and what is
 * allowed. */
MUST_CHECK int config_store_check(const struct config_store *store, struct error *err);

/* Returns the feature of `schema` with this name; NULL where there is none, or where `name` is NULL. */
const struct config_feature *config_feature_named(const struct config *config, const char *name);

/* Returns the bytes of memory, in addition to the windows, for shards that wait to be written to the
 * cache. */
uint64_t config_fetch_cache_backlog_bytes(const struct config *config);

/* Finds the next name of a list with commas: moves *list to the name's start and returns the name's length, 0
 * at the end of the list. The caller goes on at *list + length. */
size_t config_next_name(const char **list);

/* Returns the key "GROUP.monitor" of the first callback that watches a figure of the validation, or NULL. */
const char *config_validation_monitor(const struct config *config);

/* Tells whether the user asks for something with this key: the value differs from the default, or the file
 * gives the key without giving the key `beside`. A file that spells out all keys gives both, and asks for
 * nothing with a default. `beside` may be NULL. Writes the key's value to `out`. */
#define CONFIG_VALUE_BYTES 128u
bool config_asks(const struct config *config, const char *key, const char *beside,
		 char out[static CONFIG_VALUE_BYTES]);

/* Returns the line of a key, "group.key", in the file; where the key is missing the line of its group, or
 * 1. */
unsigned config_line(const struct config *config, const char *key);

/* Memory of a connection in addition to its range: libcurl's buffer, and about as much in the kernel. */
#define CONFIG_CONNECTION_BYTES (UINT64_C(1) << 20)
/* Return the upper bound of concurrent requests, and the bytes of a ranged GET: as configured, or by
 * fetch.memory_bytes where the key is 0. */
uint64_t config_fetch_connections(const struct config *config);
uint64_t config_fetch_part_bytes(const struct config *config);

/* Frees everything that the config owns; accepts a zeroed config. */
void config_done(struct config *config);

/* Prints every key with the value in effect, as text that loads again as the same configuration. Keys that
 * the file does not give carry "# default". */
void config_print(const struct config *config, FILE *out);
MUST_CHECK int config_show(const char *path, FILE *out, struct error *err);

/* Prints the configuration in effect as one JSON object: a member {value, default} for each key, and
 * "layers", "schema" and, where given, "sources" as lists. The caller frees the text. */
MUST_CHECK int config_show_json(const char *path, char **ret_text, struct error *err);

/* Prints the documented kiln.conf: every key with unit, default, bounds and help. config/kiln.conf is this
 * output. */
MUST_CHECK int config_reference(FILE *out, struct error *err);
