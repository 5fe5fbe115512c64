/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a graph of Keras: what a layer reads, and with which mask. A mask of Kiln is the ids that an
 * Embedding with mask_zero reads; Keras computes it by operations of the graph, NotEqual(ids, 0).
 *
 * Order: keras_ids_read -> for each layer in the order of the file keras_mask_read or keras_call_read.
 * Threads: none. Owners: the caller owns the objects of a reading.
 */
#pragma once

#include "import/keras/layer.h"

struct reading {
	struct network *network;
	cJSON *outputs;  /* object: name of a layer of Keras -> the layer or feature of Kiln that has its
			    output */
	cJSON *counts;   /* object: class -> how many layers of it came before */
	cJSON *ids;      /* object: names of the layers whose output an Embedding with mask_zero reads */
	cJSON *masks;    /* object: name of an operation whose output is a mask -> its ids, or "" */
	cJSON *features; /* object: names of features */
	uint32_t place, layers;
};

/* Tells whether a layer of the file is a function of keras.ops. */
bool keras_is_operation(const cJSON *entry);
/* Tells whether the output of an operation is a mask. */
bool keras_is_mask(const char *class);
/* Finds the ids of all embeddings with mask_zero. */
void keras_ids_read(struct reading *reading, const cJSON *layers);
/* Reads an operation whose output is a mask. Refuses it where the mask is not that of the ids of an
 * embedding. */
void keras_mask_read(struct reading *reading, const cJSON *entry, struct keras_call *call);
/* Reads the only call of a layer. Returns false where there is not one call. */
bool keras_call_read(struct reading *reading, const cJSON *entry, struct keras_call *call);
