/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer of a Keras model becomes layers of Kiln. table.h finds the row of its class; attributes.h turns
 * its attributes; special.c has the classes that are not one layer of Kiln with the same attributes.
 */
#pragma once

#include "import/network/network.h"

#define KERAS_PLACE_BYTES 512u

/* A call of a layer in the graph. */
struct keras_call {
	struct network *network;
	const char *class, *name; /* names of Keras */
	const cJSON *config;      /* the attributes of the layer */
	char origin[NETWORK_ORIGIN_BYTES];
	char weights[KERAS_PLACE_BYTES]; /* the group of the layer in the file of weights, "layers/dense_1" */
	int arguments;                   /* places of arguments that are given */
	uint32_t inputs;
	const char *input[CONFIG_INPUTS_MAX]; /* layers and features of Kiln that it reads */
	bool input_is_feature;                /* whether the first of them is a feature */
	uint32_t rank;       /* dimensions of the first input, with the batch's; 0 = not known */
	const cJSON *number; /* a number among the arguments; NULL: none */
	bool number_first;   /* whether the number stands before the input */
	enum network_mask mask;
	bool function;      /* it is a function of keras.ops, which passes no mask */
	bool causal;        /* use_causal_mask of the call */
	const char *output; /* set by the row's function: the layer or feature whose output is the call's */
};

struct keras_row {
	const char *class;
	const char *op; /* the layer of Kiln */
	/* Values that other attributes must have, "KEY=VALUE KEY=VALUE|VALUE". Values are JSON; `last` is the
	 * last dimension, `*` any value. An attribute that is in no list, and that Kiln's op does not have,
	 * is refused. */
	const char *only;
	void (*make)(struct keras_call *call, const struct keras_row *row); /* NULL: keras_plain() */
};

/* Returns the row of a class; NULL: Kiln has no such layer. `operation`: a function, such as keras.ops.add,
 * and no layer. */
const struct keras_row *keras_row_of(const char *class, bool operation);

/* Adds the layer of a row with the attributes of the call, and lets it read the inputs of the call. */
void keras_plain(struct keras_call *call, const struct keras_row *row);
/* Adds a layer of the row's op named `name`, of the same attributes; it reads nothing yet. `weights`: its
 * group in the file of weights. */
struct network_layer *keras_add(struct keras_call *call, const struct keras_row *row, const cJSON *config,
				const char *name, const char *weights);
/* Refuses the attributes of a config that the op does not have, and adds the others to the layer. */
void keras_attributes(struct keras_call *call, const struct keras_row *row, const cJSON *config,
		      struct network_layer *layer);
/* Returns an attribute; NULL: it is absent, or null. */
const cJSON *keras_get(const cJSON *config, const char *key);
const char *keras_text(const cJSON *config, const char *key);
/* Tells whether an object of a file, such as a layer or a regularizer, is of a class of Keras's own, and not
 * of a class of the same name that a person wrote. */
bool keras_own(const cJSON *object);
#define KERAS_NOT_OWN "module and registered_name are not those of Keras: Kiln has no such layer"
/* Writes a class in small letters, as Keras does: MultiHeadAttention as multi_head_attention. Returns `out`.
 */
const char *keras_small(const char *class, char *out, size_t size);
/* Returns the name of an activation function; NULL: it is none of Keras's own functions. */
const char *keras_function(const cJSON *value);
