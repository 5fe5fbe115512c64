/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base networks (config.model.base): the layers of a known network without its classifier, so that a
 * run needs to list only its own head. Each base is a table of blocks (vgg.c, resnet.c, mobile.c, bert.c),
 * which writes its layers one by one in the form in which kiln.conf lists layers. The names of the layers and
 * all attributes are those of keras.applications (vgg16, vgg19, resnet50, mobilenet_v2), of torchvision
 * (resnet18, resnet34), and of Keras's EfficientNet for efficientnet_lite0. Layers without parameters differ
 * in two places: padding "same" replaces the layers of padding in mobilenet_v2, and torchvision's paddings
 * are layers, "NAME_pad".
 *
 * All but bert read images. Their first layer, "preprocess_input", scales pixels of 0 .. 255 as the base
 * expects them (config.model.base_scaling). It reads the layer before it: the feature config.model.input, or
 * the layer that config.model.base_after names, so that layers that change pictures at random can stand
 * before a base. bert reads ids of tokens, and has the size that config.model.bert says.
 *
 * Threads: none. Owners: what base_expand() gives to `add` is valid only during
 * the call.
 */
#pragma once

#include "core/base/mistakes.h"
#include "core/config/config.h"

#define BASE_LAYERS_MAX    (9u * CONFIG_BERT_LAYERS_MAX + 8u) /* bert has the most */
#define BASE_SIDE_MIN      32u /* height and width of the smallest picture that Keras allows for all of them */
#define BASE_CHANNELS      3u
#define BASE_NAME_BYTES    48u
#define BASE_PREPROCESSING "preprocess_input"

/* Gets one layer. `module`: the PyTorch module with the layer's parameters; "" = PyTorch has no weights for
 * it. */
typedef void base_add(void *context, const struct config_layer *layer, const char *module);

/* Returns whether the configuration has a base. */
bool base_is_given(const struct config *config);
/* Returns whether there is a base of this name. */
bool base_exists(const char *name);
/* Returns whether the base reads the ids of texts; the others read images. */
bool base_reads_texts(const char *name);
/* Returns the names of all bases: "vgg16, vgg19, ...". */
const char *base_names(void);
/* Returns the scaling that config.model.base_scaling selects: "caffe", "tf", "torch" or "lite"; NULL: none,
 * or there is no such base, or it reads texts. */
const char *base_scaling(const struct config *config);

/* The classifier that a file of PyTorch has beside the base: the beginning of the names of its tensors; "":
 * all that are not the base's; NULL: PyTorch has no network with the layers of this base. */
const char *base_torch_head(const char *name);

/* Returns whether a base of images can read this shape. */
bool base_reads(uint32_t rank, const uint64_t *shape);

/* Writes the layers of config.model.base in order; frozen ones have trainable = false. Notes mistakes: an
 * unknown base, an unknown layer in base_unfreeze_from, an input that the base cannot read. After a mistake
 * about the base or its input there are no layers. */
void base_expand(const struct config *config, base_add *add, void *context, struct mistakes *mistakes);
