/* SPDX-License-Identifier: Apache-2.0 */
#include "model/base/writer.h"

#include <stdio.h>
#include <string.h>

static struct config_attribute *next(struct config_layer *layer, const char *key)
{
	struct config_attribute *attribute = &layer->attribute[layer->attributes++];

	attribute->key = key;
	attribute->line = layer->line;
	return attribute;
}

static void set_int(struct config_layer *layer, const char *key, int64_t value)
{
	struct config_attribute *attribute = next(layer, key);

	attribute->type = ATTRIBUTE_INT;
	attribute->i = value;
	attribute->f = (double)value;
}

static void set_float(struct config_layer *layer, const char *key, double value)
{
	struct config_attribute *attribute = next(layer, key);

	attribute->type = ATTRIBUTE_FLOAT;
	attribute->f = value;
}

static void set_text(struct config_layer *layer, const char *key, const char *value)
{
	struct config_attribute *attribute = next(layer, key);

	attribute->type = ATTRIBUTE_STRING;
	attribute->s = value;
}

static void set_bool(struct config_layer *layer, const char *key, bool value)
{
	struct config_attribute *attribute = next(layer, key);

	attribute->type = ATTRIBUTE_BOOL;
	attribute->i = value;
}

/* Returns whether `name` is the layer `from`, or a layer of the module `from`: "layer4.0.conv1" of "layer4".
 */
static bool is_from(const char *name, const char *from)
{
	const size_t length = strlen(from);

	return length && !strncmp(name, from, length) && (name[length] == '\0' || name[length] == '.');
}

static struct config_layer layer_of(struct base_writer *writer, const char *op, const char *name,
				    const char *input)
{
	struct config_layer layer = { .op = op, .name = name, .line = writer->line };

	nearest_try(&writer->nearest, name);
	if (writer->unfreeze_from && is_from(name, writer->unfreeze_from)) {
		writer->frozen = false;
		writer->unfreeze_from = NULL;
	}
	if (input) {
		layer.inputs = 1;
		layer.input[0] = input;
	}
	return layer;
}

static void give(const struct base_writer *writer, const struct config_layer *layer, const char *module)
{
	writer->add(writer->context, layer, module ? module : "");
}

/* Gives a layer with parameters. */
static void give_learning(const struct base_writer *writer, struct config_layer *layer, const char *module)
{
	if (writer->frozen)
		set_bool(layer, "trainable", false);
	give(writer, layer, module);
}

void base_conv(struct base_writer *writer, const char *name, const struct base_conv *conv)
{
	struct config_layer layer =
		layer_of(writer, conv->filters ? "conv2d" : "depthwise_conv2d", name, conv->input);

	if (conv->filters)
		set_int(&layer, "filters", conv->filters);
	set_int(&layer, "kernel_size", conv->kernel);
	set_int(&layer, "strides", conv->stride);
	set_text(&layer, "padding", conv->padding);
	set_bool(&layer, "use_bias", conv->bias);
	if (conv->initializer)
		set_text(&layer, conv->filters ? "kernel_initializer" : "depthwise_initializer",
			 conv->initializer);
	if (conv->activation)
		set_text(&layer, "activation", conv->activation);
	give_learning(writer, &layer, conv->module);
}

void base_norm(struct base_writer *writer, const char *name, const struct base_norm *norm)
{
	struct config_layer layer = layer_of(writer, "batch_norm", name, norm->input);

	set_float(&layer, "momentum", norm->momentum);
	set_float(&layer, "epsilon", norm->epsilon);
	give_learning(writer, &layer, norm->module);
}

void base_plain(struct base_writer *writer, const char *op, const char *name)
{
	const struct config_layer layer = layer_of(writer, op, name, NULL);

	give(writer, &layer, NULL);
}

void base_sum(struct base_writer *writer, const char *name, const char *a, const char *b)
{
	struct config_layer layer = layer_of(writer, "add", name, a);

	layer.input[layer.inputs++] = b;
	give(writer, &layer, NULL);
}

void base_pad(struct base_writer *writer, const char *name, int64_t padding)
{
	struct config_layer layer = layer_of(writer, "zero_padding2d", name, NULL);

	set_int(&layer, "padding", padding);
	give(writer, &layer, NULL);
}

void base_max_pool(struct base_writer *writer, const char *name, int64_t size, int64_t stride)
{
	struct config_layer layer = layer_of(writer, "max_pooling2d", name, NULL);

	set_int(&layer, "pool_size", size);
	set_int(&layer, "strides", stride);
	give(writer, &layer, NULL);
}

void base_scale(struct base_writer *writer, const char *mode)
{
	struct config_layer layer = layer_of(writer, "preprocess_input", BASE_PREPROCESSING, NULL);

	set_text(&layer, "mode", mode);
	give(writer, &layer, NULL);
}

void base_embedding(struct base_writer *writer, const char *name, uint64_t ids, uint64_t columns)
{
	struct config_layer layer = layer_of(writer, "embedding", name, NULL);

	set_int(&layer, "input_dim", (int64_t)ids);
	set_int(&layer, "output_dim", (int64_t)columns);
	set_bool(&layer, "mask_zero", true);
	give_learning(writer, &layer, name);
}

void base_positions(struct base_writer *writer, const char *name, uint64_t steps)
{
	struct config_layer layer = layer_of(writer, "position_embedding", name, NULL);

	set_int(&layer, "sequence_length", (int64_t)steps);
	give_learning(writer, &layer, name);
}

void base_attention(struct base_writer *writer, const char *name, uint64_t heads, uint64_t size,
		    double dropout)
{
	struct config_layer layer = layer_of(writer, "multi_head_attention", name, NULL);

	set_int(&layer, "num_heads", (int64_t)heads);
	set_int(&layer, "key_dim", (int64_t)size);
	set_float(&layer, "dropout", dropout);
	give_learning(writer, &layer, name);
}

void base_layer_norm(struct base_writer *writer, const char *name, double epsilon)
{
	struct config_layer layer = layer_of(writer, "layer_norm", name, NULL);

	set_float(&layer, "epsilon", epsilon);
	give_learning(writer, &layer, name);
}

void base_dense(struct base_writer *writer, const char *name, uint64_t units, const char *activation)
{
	struct config_layer layer = layer_of(writer, "dense", name, NULL);

	set_int(&layer, "units", (int64_t)units);
	if (activation)
		set_text(&layer, "activation", activation);
	give_learning(writer, &layer, name);
}

void base_dropout(struct base_writer *writer, const char *name, double rate)
{
	struct config_layer layer = layer_of(writer, "dropout", name, NULL);

	set_float(&layer, "rate", rate);
	give(writer, &layer, NULL);
}

struct base_name base_name(const char *prefix, const char *name)
{
	struct base_name joined;

	(void)snprintf(joined.text, sizeof(joined.text), "%s%s", prefix, name);
	return joined;
}
