/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of another program in Kiln's words: the layers of model.layers, the features that they read, and
 * what cannot be had. A reader of a file format (keras/) fills it, conf.h and weights.h write it.
 *
 * Refusals are collected, so that a person sees at once everything that Kiln does not have. A network with a
 * refusal is not written.
 *
 * Order: network_open -> network_feature, network_add, network_refuse, network_note -> conf.h -> weights.h ->
 * network_close. Threads: none. Owners: the network owns its texts. Memory: a network has at most
 * CONFIG_LAYERS_MAX layers. The program ends where there is no memory for it, because the description of a
 * network needs only kilobytes. Crash: nothing is stored.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

#define NETWORK_ORIGIN_BYTES 512u
#define NETWORK_NAME_BYTES   65u
#define NETWORK_REFUSALS_MAX 4096u
/* Layers that conf.h adds to find the outputs. No layer of a network has these names. */
#define NETWORK_ROW     "row_of_outputs"
#define NETWORK_CLASSES "classes_of_outputs"

/* What a file says of the mask of a call. */
enum network_mask {
	NETWORK_MASK_PASSES /* nothing: layers pass masks by themselves */,
	NETWORK_MASK_NONE,
	NETWORK_MASK_GIVEN
};

struct network_layer {
	cJSON *keys;    /* its keys in model.layers: op, name, inputs, then the attributes: numbers, strings,
			   bools and flat lists of them */
	char *origin;   /* "out (Dense), layer 7 of 9": where the layer stands in the file */
	char *weights;  /* where its weights are in the file; NULL: it has none there */
	uint32_t first; /* number of its first weight at that place */
	float least_variance; /* smaller numbers of its weight moving_variance become this one */
	const char *name;     /* keys.name */
	enum network_mask mask;
	bool loses_mask;   /* it passes no mask in the file's program, whatever Kiln's layer does */
	bool zeros_masked; /* it gives zeros at the steps that do not count; Kiln repeats the step before */
};

struct network {
	uint32_t layers;
	struct network_layer layer[CONFIG_LAYERS_MAX];
	cJSON *features;          /* rows of the schema, without the label */
	cJSON *model, *optimizer; /* keys of these groups of kiln.conf, such as loss */
	cJSON *refusals, *notes;  /* sentences */
	cJSON *taken;             /* an object with a member for each name of a layer or feature */
};

MUST_CHECK int network_open(struct network **ret_network, struct error *err);
void network_close(struct network *network);
void network_closep(struct network **network); /* for CLEANUP() */

/* Notes that a part of the network cannot be had: "ORIGIN: TEXT". */
void network_refuse(struct network *network, const char *origin, const char *format, ...) PRINTF(3, 4);
/* Notes what a person should know, and is no reason to refuse the network. */
void network_note(struct network *network, const char *format, ...) PRINTF(2, 3);

/* Writes a name that kiln.conf allows and no layer or feature has yet: `wanted` with '_' in the place of
 * other characters, and a number behind it where it is taken. Returns `out`. */
const char *network_name(struct network *network, const char *wanted, char out[static NETWORK_NAME_BYTES]);

/* Adds a layer with the keys op and name. `weights`: NULL = it has none. Returns it; it is valid until the
 * network is closed. A layer too many is refused, and the last layer is returned. */
struct network_layer *network_add(struct network *network, const char *op, const char *name,
				  const char *origin, const char *weights);
/* Lets a layer read a layer or a feature. */
void network_read(struct network_layer *layer, const char *input);
/* Returns the layer of this name; NULL: there is none. */
const struct network_layer *network_find(const struct network *network, const char *name);
/* Returns the name of the op of a layer. */
const char *network_op(const struct network_layer *layer);
/* Returns the name of the op that gives the output: the last layer, or its activation. */
const char *network_last_op(const struct network *network);
/* Adds a feature of the schema. `shape`: a list of numbers, which the network takes. */
void network_feature(struct network *network, const char *name, const char *dtype, cJSON *shape);

/* Ends the program where `made` is NULL, which means that there is no memory. */
void *network_must(void *made);
