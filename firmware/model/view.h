/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as the network sees them in training: a feature of pixels through the first layers of the network,
 * for `kiln preview` and for TensorBoard. These are the layers behind the feature that give a picture again:
 * rescaling, center_crop, random_crop and all layers that change their input only while training. The first
 * other layer ends them, and so does an output that several layers read. Each row gets the draws of the
 * training (layers/augment.h). What rescaling does to the values is undone, and the numbers are rounded to 0
 * .. 255. Such layers have no weights, so the pictures do not depend on what was learnt.
 *
 * Order: view_new -> view_layers, view_shape -> view_start -> view_draw* -> view_free. One thread. The
 * configuration and the device must outlive the view. It computes in float32, also where the training stores
 * fewer bits. Cost: memory on the device for `rows` pictures of each layer at most.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

struct gpu;
struct view;

/* Returns the index of the first feature of pictures: of dtype "picture", or of uint8 with the shape [
 * height, width, 1 or 3 ]; UINT32_MAX: there is none. */
uint32_t view_feature(const struct config *config);

struct view_shape {
	uint32_t height, width, channels;
};

/* `feature`: the index of a feature of pixels in the configuration, of shape [ height, width, 1 or 3 ].
 * `rows`: the most pictures that view_draw() gets. Errors: those of graph_build(). */
MUST_CHECK int view_new(const struct config *config, uint32_t feature, uint32_t rows, struct view **ret_view,
			struct error *err);
/* Returns the number of layers; without any, view_draw() copies, and needs no device. */
uint32_t view_layers(const struct view *view);
/* Returns the name of layer `index` < view_layers(). */
const char *view_layer(const struct view *view, uint32_t index);
/* Returns the shape of a picture behind the last layer. */
struct view_shape view_shape(const struct view *view);

/* Compiles the layers for a device. Errors: those of drivers/gpu/gpu.h. */
MUST_CHECK int view_start(struct view *view, struct gpu *gpu, struct error *err);
/* Draws the first `rows` pictures of a batch of training, at most `rows` of view_new(). `step`: the training
 * steps before the batch; `first_row`: the index of row 0 in the epoch. Blocks. */
MUST_CHECK int view_draw(struct view *view, const uint8_t *pictures, uint32_t rows, uint64_t step,
			 uint64_t first_row, uint8_t *ret_pictures, struct error *err);
void view_free(struct view *view); /* accepts NULL */
void view_freep(struct view **view);
