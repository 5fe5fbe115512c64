/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a file of weights for a base, with names and layouts of PyTorch or Keras: shared by the unit
 * test and the fuzzer of model/convert.h. All tensors share their numbers, 0, 1, 2 ... */
#pragma once

#include "model/base/base.h"
#include "model/formats/model_tensor.h"
#include "tests/reference.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE_TENSORS 512u
#define FIXTURE_NUMBERS (512u * 512u * 9u)

struct fixture {
	bool torch;
	struct model_tensor tensor[FIXTURE_TENSORS];
	uint32_t count;
	float *numbers;
	char (*name)[128];
};

/* Adds a tensor of `rank` dimensions, whose sizes follow. */
UNUSED_OK static void fixture_add(struct fixture *fixture, const char *name, const char *dtype, uint32_t rank,
				  ...)
{
	struct model_tensor *tensor = &fixture->tensor[fixture->count];
	va_list sizes;

	if (fixture->count >= FIXTURE_TENSORS)
		abort();
	(void)snprintf(fixture->name[fixture->count], sizeof(*fixture->name), "%s", name);
	*tensor = (struct model_tensor){ .name = fixture->name[fixture->count++],
					 .dtype = dtype,
					 .rank = rank,
					 .data = fixture->numbers,
					 .bytes = !strcmp(dtype, "I64") ? 8 : 4 };
	va_start(sizes, rank);
	for (uint32_t i = 0; i < rank; i++) {
		tensor->shape[i] = (uint64_t)va_arg(sizes, int);
		tensor->bytes *= tensor->shape[i];
	}
	va_end(sizes);
	if (tensor->bytes > FIXTURE_NUMBERS * sizeof(float))
		abort();
}

/* The PyTorch modules of the layers with parameters, in order. */
struct fixture_modules {
	char name[BASE_LAYERS_MAX][BASE_NAME_BYTES];
	uint32_t count;
};

static void fixture_module(void *context, const struct config_layer *layer, const char *module)
{
	struct fixture_modules *modules = context;

	if (!strcmp(layer->op, "conv2d") || !strcmp(layer->op, "depthwise_conv2d") ||
	    !strcmp(layer->op, "batch_norm"))
		(void)snprintf(modules->name[modules->count++], BASE_NAME_BYTES, "%s", module);
}

static const char *fixture_torch_name(const char *parameter)
{
	return !strcmp(parameter, "kernel") || !strcmp(parameter, "gamma") ? "weight"
	       : !strcmp(parameter, "moving_mean")                         ? "running_mean"
	       : !strcmp(parameter, "moving_variance")                     ? "running_var"
									   : "bias";
}

static void fixture_parameter(struct fixture *fixture, const struct tensor *tensor, bool depthwise,
			      const char *module)
{
	const char *parameter = strrchr(tensor->name, '/') + 1;
	const int size[4] = { (int)tensor->shape[0], (int)tensor->shape[1], (int)tensor->shape[2],
			      (int)tensor->shape[3] };
	char name[256];

	(void)snprintf(name, sizeof(name), "%s.%s", module, fixture_torch_name(parameter));
	if (!fixture->torch)
		(void)snprintf(name, sizeof(name), "%s", tensor->name);
	if (tensor->rank == 1)
		fixture_add(fixture, name, "F32", 1, size[0]);
	else if (!fixture->torch)
		fixture_add(fixture, name, "F32", 4, size[0], size[1], size[2], size[3]);
	else if (depthwise)
		fixture_add(fixture, name, "F32", 4, size[2], size[3], size[0], size[1]);
	else
		fixture_add(fixture, name, "F32", 4, size[3], size[2], size[0], size[1]);
}

UNUSED_OK static void fixture_close(struct fixture *fixture)
{
	free(fixture->numbers);
	free(fixture->name);
	*fixture = (struct fixture){ 0 };
}

static struct fixture fixture_open(const char *base, bool torch)
{
	static struct fixture_modules modules;
	static struct config_layer head[] = { DENSE(2), SOFTMAX };
	struct config config = model_config(head, 2, 1, 2, 1);
	struct fixture fixture = { .torch = torch,
				   .numbers = malloc(FIXTURE_NUMBERS * sizeof(float)),
				   .name = calloc(FIXTURE_TENSORS, sizeof(*fixture.name)) };
	struct mistakes none = { .file = "" };
	struct graph graph;
	uint32_t at = 0;

	config.feature[0].rank = 3;
	config.feature[0].shape[0] = config.feature[0].shape[1] = 32;
	config.feature[0].shape[2] = 3;
	config.model.base = base;
	config.model.base_pooling = POOLING_AVG;
	if (!fixture.numbers || !fixture.name || graph_build(&config, false, &graph, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < FIXTURE_NUMBERS; i++)
		fixture.numbers[i] = (float)i;
	modules.count = 0;
	base_expand(&config, fixture_module, &modules, &none);
	for (uint32_t n = 0; n < graph.nodes && at < modules.count; n++) {
		const struct node *node = &graph.node[n];

		for (uint32_t p = 0; p < node->parameters; p++)
			if (node->parameter[p] != GRAPH_NO_TENSOR)
				fixture_parameter(&fixture, graph_at(&graph, node->parameter[p]),
						  !strcmp(node->op->name, "depthwise_conv2d"),
						  modules.name[at]);
		at += node->parameters > 0;
	}
	graph_done(&graph);
	return fixture;
}
