/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the layers of a base: shared by the files of this folder. Names are copied; attributes are
 * constants. */
#pragma once

#include "core/base/nearest.h"
#include "model/base/base.h"

struct base_writer {
	base_add *add;
	void *context;
	const struct config *config;
	unsigned line;             /* of model.base in the file */
	bool frozen;               /* the next layers are not trained */
	const char *unfreeze_from; /* from this layer on, layers are trained; "" = none */
	struct nearest nearest;    /* among all names, for a mistake */
};

/* `input`: name of the layer that is read; NULL = the layer before. `module`: as in base_add. */
struct base_conv {
	uint32_t filters, kernel, stride; /* filters 0: a depthwise convolution */
	const char *padding;              /* "same" or "valid" */
	bool bias;
	const char *activation, *initializer; /* NULL = the default */
	const char *input, *module;
};

struct base_norm {
	double momentum, epsilon;
	const char *input, *module;
};

void base_conv(struct base_writer *writer, const char *name, const struct base_conv *conv);
void base_norm(struct base_writer *writer, const char *name, const struct base_norm *norm);
/* A layer without attributes, such as an activation. */
void base_plain(struct base_writer *writer, const char *op, const char *name);
void base_sum(struct base_writer *writer, const char *name, const char *a, const char *b);
void base_pad(struct base_writer *writer, const char *name, int64_t padding);
void base_max_pool(struct base_writer *writer, const char *name, int64_t size, int64_t stride);
void base_scale(struct base_writer *writer, const char *mode);
/* `name` is that of the PyTorch module, too. */
void base_embedding(struct base_writer *writer, const char *name, uint64_t ids, uint64_t columns);
void base_positions(struct base_writer *writer, const char *name, uint64_t steps);
void base_attention(struct base_writer *writer, const char *name, uint64_t heads, uint64_t size,
		    double dropout);
void base_layer_norm(struct base_writer *writer, const char *name, double epsilon);
/* `activation`: NULL = none. */
void base_dense(struct base_writer *writer, const char *name, uint64_t units, const char *activation);
void base_dropout(struct base_writer *writer, const char *name, double rate);

/* Joins a prefix and a name, "layer1.0." and "conv1". */
struct base_name {
	char text[BASE_NAME_BYTES];
};
struct base_name base_name(const char *prefix, const char *name);

void base_write_vgg(struct base_writer *writer, const char *name);
void base_write_resnet50(struct base_writer *writer, const char *name);
void base_write_torch_resnet(struct base_writer *writer, const char *name);
void base_write_mobilenet_v2(struct base_writer *writer, const char *name);
void base_write_efficientnet_lite0(struct base_writer *writer, const char *name);
void base_write_bert(struct base_writer *writer, const char *name);
