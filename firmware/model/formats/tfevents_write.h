/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the files of the event writer (tfevents.h) append events. Private to them:
 *
 *     tfevents.c          files, scalars, going back
 *     tfevents_tensors.c  histograms, texts, images
 *     tfevents_hparams.c  the settings of a trial
 */
#pragma once

#include "model/formats/tfevents.h"
#include "model/formats/wire.h"

/* Largest event of scalars or of a histogram; texts may be larger. */
#define TFEVENTS_EVENT_BYTES 2048u

/* Field numbers. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, TENSOR_STRING = 8 };
enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_STRING = 7 };

/* Begins an event: with its wall time and step. */
void tfevents_begin(struct wire *event, uint64_t step);
/* Appends an event as one record. Errors: -EINVAL the event is larger than its buffer. */
MUST_CHECK int tfevents_append(struct tfevents *events, const struct wire *event, struct error *err);
MUST_CHECK int tfevents_check_tag(const struct tfevents *events, const char *tag, struct error *err);

/* A value that a plugin of TensorBoard shows. */
struct tfevents_value {
	const char *tag, *plugin;
	const struct wire *content; /* the plugin's own data; NULL = none */
	const struct wire *tensor;
};
/* Adds a dimension to a tensor's shape. */
void tfevents_add_dimension(struct wire *shape, uint64_t size);
/* Returns the bytes of the event of a value, at most. */
uint64_t tfevents_value_bytes(const struct tfevents_value *value);
/* Appends a value; `buffer` has tfevents_value_bytes(). */
MUST_CHECK int tfevents_append_value(struct tfevents *events, uint64_t step,
				     const struct tfevents_value *value, uint8_t *buffer, struct error *err);
