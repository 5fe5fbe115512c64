/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers that are an affine map of a picture: augment.h describes them, and how neighbours become one
 * map. A map has six numbers: pixel (x, y) of the output is the input at (a0 x + a1 y + a2, b0 x + b1 y +
 * b2). The map of layers one after the other is the product of their maps, the first layer's on the left.
 */
#pragma once

#include "model/kernels/warp_kinds.h"
#include "model/layers/augment.h"

#define WARP_NUMBERS 6u

/* The attributes of the layers: fill_mode, interpolation, fill_value, then one or two factors. */
extern const struct attribute_spec warp_flip_attributes[1], warp_rotation_attributes[4],
	warp_zoom_attributes[5], warp_translation_attributes[5], warp_shear_attributes[5];

/* What a layer does with its draws. `range`: the ranges of its values, in the order of their draws; of a
 * flip, the lows are 1 where it flips columns and lines. */
struct warp {
	enum warp_kind kind;
	struct augment_range range[2];
};

/* How a layer takes samples. */
struct warp_sampling {
	bool any; /* random_flip: every sampling gives the same picture */
	bool bilinear;
	enum warp_fill fill;
	double value;
};

struct warp warp_of(const struct node *node);

/* Neighbours that are one map: each is the only reader of the one before. */
struct warp_group {
	const struct node *first, *last;
	struct warp_sampling sampling;
};

/* Returns the group of a node, and the node that follows `node` in its group. */
struct warp_group warp_group_of(const struct graph *graph, const struct node *node);
const struct node *warp_next(const struct graph *graph, const struct node *node);
