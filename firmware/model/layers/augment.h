/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augmentation: layers with the names and attributes of Keras 3 that change pictures [height, width,
 * channels] at random while training, each row in its own way. The draws u0, u1, ... of a row
 * (graph/random.h) depend on the row's index in its segment, the step, the name of the layer and run.seed, so
 * they do not depend on the number of machines or on an interruption. Labels do not change. A range [ low,
 * high ] makes the value low + (high - low) * u; a single number f means [ -f, f ]. random_flip flips where
 * u0 <= 0.5; with both modes, both sides by the same draw random_rotation      u0: factor, a part of a full
 * turn random_zoom          u0: 1 + height_factor; u1: 1 + width_factor, or the same as the height
 *   random_translation   u0: height_factor, u1: width_factor, parts of height and width
 *   random_shear         u0 > 0.5 changes both signs; u1: y_factor, u2: x_factor
 *   random_contrast      u0: 1 - low ... 1 + high; a single number f means [ f, f ]
 *   random_brightness    u0: factor, a part of value_range
 *   random_crop          u0: first line, u1: first column
 * In evaluation and prediction, and in exports, the output is the input; of a crop, it is the centre.
 *
 * Flip, rotation, zoom, translation and shear are affine maps M: pixel p of the output is the input at M p.
 * Neighbours are one map, sampled once: while training, each layer passes its input on, and the last one
 * takes the samples. So a picture does not lose sharpness with each layer, and what lies beyond the edge is
 * the picture's own fill. Layers merge where the second is the only reader of the first, and interpolation,
 * fill_mode and (for "constant") fill_value of the two are equal; random_flip agrees with all.
 * What lies beyond an edge is as in TensorFlow: between the last pixel and the fill there is a step of one
 * pixel, and "wrap" begins again behind the last pixel.
 *
 * No layer here passes a gradient: its input is a feature, or depends on nothing that learns.
 */
#pragma once

#include "model/graph/random.h"
#include "model/layers/row.h"

struct augment_range {
	double low, high;
};

/* Returns the range in an attribute of ATTRIBUTE_IS_FLOATS: [ low, high ] in ascending order, or a single
 * number f as [ -f, f ], and 0 without a number. */
struct augment_range augment_range(const struct attribute *attribute);

/* Functions for op.shape: the output has the shape of the input, a picture. Errors: -EINVAL the input is no
 * picture, or has a gradient. */
int augment_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		  struct error *err);

/* Return draw k of a row of the batch, k < 4; its 24 bits; and the value that it chooses. */
double augment_draw(const struct op_reference *r, uint64_t row, uint32_t k);
uint32_t augment_bits(const struct op_reference *r, uint64_t row, uint32_t k);
double augment_value(const struct op_reference *r, uint64_t row, uint32_t k, struct augment_range range);

/* The last arguments of a kernel that draws. */
#define AUGMENT_DRAWS(plan, node)                                \
	UINT(name_hash((node)->name)), AT(STEP), AT(FIRST_ROW),  \
		UINT((uint32_t)(plan)->graph->config->run.seed), \
		UINT((uint32_t)((plan)->graph->config->run.seed >> 32))

/* The arguments of a kernel for a range. */
#define AUGMENT_RANGE(range) FLOAT((range).low), FLOAT((range).high - (range).low)

/* A function for op.export, of layers that do nothing outside training. */
void augment_export(struct export *out, const struct node *node);
