/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model where people keep it: a run's model folder or the model.safetensors in it; a path, or below
 * s3:// or file:///. What the verbs that take one have in common.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"
#include "model/formats/safetensors.h"

#include <getopt.h>
#include <stdbool.h>

struct trained {
	const char *name, *config_file; /* as given */
	bool json;
	struct config_store where; /* endpoint, region, credential, ca_file */
	struct store *folder;      /* that it lies in */
	char *data;                /* the model's file */
	struct safetensors *file;
	struct config given;  /* of --config; `where` points into it */
	struct config config; /* it was trained with, in float32 */
	struct gpu *gpu;      /* by trained_open_model() */
	struct model *model;
};

/* clang-format off */
#define TRAINED_EMPTY { .where = { .url = "", .endpoint = "", .region = "", .credential = "", .ca_file = "" } }
/* clang-format on */

/* The last rows of a getopt table, and what --help says of them but for --json. */
enum {
	TRAINED_CONFIG = 512,
	TRAINED_ENDPOINT,
	TRAINED_REGION,
	TRAINED_CREDENTIAL,
	TRAINED_CA,
	TRAINED_JSON,
	TRAINED_HELP
};
#define TRAINED_OPTIONS                                                                               \
	{ "config", 1, NULL, TRAINED_CONFIG }, { "endpoint", 1, NULL, TRAINED_ENDPOINT },             \
		{ "region", 1, NULL, TRAINED_REGION }, { "credential", 1, NULL, TRAINED_CREDENTIAL }, \
		{ "ca-file", 1, NULL, TRAINED_CA }, { "json", 0, NULL, TRAINED_JSON },                \
		{ "help", 0, NULL, TRAINED_HELP },                                                    \
	{                                                                                             \
		NULL, 0, NULL, 0                                                                      \
	}
#define TRAINED_USAGE                                                                                  \
	"  --config FILE          take endpoint, region and credential from this kiln.conf's `sink`\n" \
	"  --endpoint URL, --region NAME, --credential NAME, --ca-file FILE\n"                         \
	"                         of the store; as in kiln.conf\n"

/* A verb's arguments: MODEL, options of its own and TRAINED_OPTIONS. */
struct trained_verb {
	const char *name, *usage;
	const struct option *options;
	bool more; /* names behind MODEL are its own: argv[optind] and on */
	/* One of its own options: CLI_OK, or what cli_usage() gives. */
	int (*take)(void *context, int code, const char *value);
	void *context;
};
/* CLI_OK, or the exit code to end with; *ret_done says that help was asked for and printed. */
int trained_parse(struct trained *trained, const struct trained_verb *verb, int argc, char **argv,
		  bool *ret_done);

/* Read the model called `trained->name` and its configuration. Errors: those of a store; -EBADMSG and -EINVAL
 * name the file and what is wrong with it. */
MUST_CHECK int trained_load(struct trained *trained, struct error *err);
/* Put it on the device its configuration names, or where there is none such, on another. `training`: it can
 * say its loss, too (model_evaluate). */
MUST_CHECK int trained_open_model(struct trained *trained, bool training, struct error *err);
void trained_done(struct trained *trained);

/* A path or URL as the store that holds it and the key in there. */
MUST_CHECK int trained_open_place(const struct trained *trained, const char *name, struct store **ret_store,
				  const char **ret_key, struct error *err);
