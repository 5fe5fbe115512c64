/* SPDX-License-Identifier: Apache-2.0 */
#include "model/hash.h"

#include "drivers/digest/digest.h"
#include "model/graph/op.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct text {
	char *at;
	size_t used, capacity;
};

static void append(struct text *text, const char *format, ...) PRINTF(2, 3);
static void append(struct text *text, const char *format, ...)
{
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(text->at + text->used, text->capacity - text->used, format, args);
	va_end(args);
	if (bytes > 0)
		text->used += (size_t)bytes;
	if (text->used >= text->capacity)
		abort(); /* cannot happen: capacity_of() counts the longest line of everything */
}

static void append_shape(struct text *text, const struct tensor *tensor)
{
	for (uint32_t i = 0; i < tensor->rank; i++)
		append(text, "%s%" PRIu64, i ? "x" : "", tensor->shape[i]);
}

static void append_attribute(struct text *text, const struct attribute_spec *spec,
			     const struct attribute *attribute)
{
	append(text, " %s=", spec->key);
	switch (spec->kind) {
	case ATTRIBUTE_IS_INT:
	case ATTRIBUTE_IS_BOOL:
		append(text, "%" PRId64, attribute->i);
		break;
	case ATTRIBUTE_IS_FLOAT:
		append(text, "%.17g", attribute->f);
		break;
	case ATTRIBUTE_IS_NAME:
		append(text, "%s", attribute->s);
		break;
	case ATTRIBUTE_IS_INTS:
		for (uint32_t i = 0; i < attribute->items; i++)
			append(text, "%s%" PRId64, i ? "x" : "", attribute->item[i]);
		break;
	case ATTRIBUTE_IS_FLOATS:
		for (uint32_t i = 0; i < attribute->items; i++)
			append(text, "%s%.17g", i ? "x" : "", attribute->number[i]);
		break;
	}
}

/* Returns whether an attribute with one value has its default. */
static bool is_default(const struct attribute_spec *spec, const struct attribute *attribute)
{
	switch (spec->kind) {
	case ATTRIBUTE_IS_BOOL:
		return attribute->b == (spec->fallback != 0);
	case ATTRIBUTE_IS_INT:
		return attribute->i == (int64_t)spec->fallback;
	default:
		return attribute->f == spec->fallback;
	}
}

static bool is_hashed(const struct attribute_spec *spec, const struct attribute *attribute)
{
	return spec->hashed && !(spec->hashed_if_given && is_default(spec, attribute));
}

/* Appends the line of a node. With `whole` the line also says whether the node is frozen. */
static void append_node(struct text *text, const struct graph *graph, const struct node *node, bool whole)
{
	append(text, "node %s %s", node->op->name, node->name);
	for (uint32_t i = 0; i < node->inputs; i++)
		append(text, " <%s", graph_at(graph, node->input[i])->name);
	for (uint32_t i = 0; i < node->op->attributes; i++)
		if (is_hashed(&node->op->attribute[i], &node->attribute[i]))
			append_attribute(text, &node->op->attribute[i], &node->attribute[i]);
	if (whole && !node->trainable)
		append(text, " frozen");
	append(text, " >");
	append_shape(text, graph_at(graph, node->output));
	append(text, "\n");
}

/* Appends a line for each input except the first; also for the first if it is not float32 or is ragged. The
 * values of a ragged feature have no shape in the line, because their number depends on the batch. */
static void append_other_inputs(struct text *text, const struct graph *graph)
{
	for (uint32_t i = 0; i < graph->inputs; i++) {
		const struct tensor *input = graph_at(graph, graph->input[i]);

		if (i == 0 && input->dtype == DTYPE_F32 && input->rows)
			continue;
		append(text, "input %s %s ", input->name, dtype_name(input->dtype));
		if (input->rows)
			append_shape(text, input);
		append(text, "\n");
	}
}

static void append_layers(struct text *text, const struct graph *graph, bool whole)
{
	append(text, "kiln graph 1\ninput ");
	if (graph_at(graph, graph->input[0])->rows)
		append_shape(text, graph_at(graph, graph->input[0]));
	append(text, "\n");
	append_other_inputs(text, graph);
	for (uint32_t i = 0; i < graph->nodes; i++)
		append_node(text, graph, &graph->node[i], whole);
}

/* Returns room for all lines: 4096 bytes for each, and the names of the inputs. */
static size_t capacity_of(const struct graph *graph)
{
	size_t names = graph->inputs;

	for (uint32_t i = 0; i < graph->nodes; i++)
		names += graph->node[i].inputs;
	return 4096 * ((size_t)1 + graph->nodes) + names * (GRAPH_NAME_BYTES + SHAPE_TEXT_BYTES);
}

int graph_set_hash(struct graph *graph, struct error *err)
{
	CLEANUP(free_ptr) char *memory = NULL;
	struct text text = { .capacity = capacity_of(graph) };

	text.at = memory = malloc(text.capacity);
	if (!memory)
		return error_set(err, -ENOMEM, "graph hash: out of memory");
	append_layers(&text, graph, false);
	digest_sha256(text.at, text.used, graph->layers_hash);
	text.used = 0;
	append_layers(&text, graph, true);
	append(&text, "loss %s\noptimizer %s slots %u\n", graph->loss->name, graph->optimizer->name,
	       graph->optimizer->slots(graph->config));
	digest_sha256(text.at, text.used, graph->hash);
	return 0;
}
