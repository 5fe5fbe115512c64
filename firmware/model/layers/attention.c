/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/attention.h"

#include "model/graph/random.h"
#include "model/kernels/attention_tiles.h"
#include "model/layers/projection.h"
#include "model/layers/row.h"
#include "model/plan/fuse.h"
#include "model/plan/round.h"
#include "model/plan/storage.h"

#include <inttypes.h>

static const struct attribute_spec attention_attributes[] = {
	[ATTENTION_HEADS] = { "num_heads", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			      .max = 1 << 10 },
	[ATTENTION_KEY_DIM] = { "key_dim", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
				.max = ATTENTION_SIZE_MAX },
	[ATTENTION_VALUE_DIM] = { "value_dim", ATTRIBUTE_IS_INT, .hashed = true, .max = ATTENTION_SIZE_MAX },
	[ATTENTION_DROPOUT] = { "dropout", ATTRIBUTE_IS_FLOAT, .max = 1, .max_open = true },
	[ATTENTION_USE_BIAS] = { "use_bias", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[ATTENTION_CAUSAL] = { "use_causal_mask", ATTRIBUTE_IS_BOOL, .hashed = true },
	[ATTENTION_KERNEL_INITIALIZER] = { "kernel_initializer", ATTRIBUTE_IS_NAME,
					   .names = initializer_names, .fallback_name = "glorot_uniform" },
	[ATTENTION_BIAS_INITIALIZER] = { "bias_initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,
					 .fallback_name = "zeros" },
};

/* A kernel [numbers of a step of the input, heads, size] and its bias [heads, size]. */
#define PROJECTION(at, name_of, from, ...)                                                         \
	[at] = { name_of "_kernel", ATTENTION_KERNEL_INITIALIZER, .only_if = -1,                   \
		 .shape = { INPUT_ITEM(from), ATTRIBUTE_ITEM(ATTENTION_HEADS, 0), __VA_ARGS__ } }, \
	[(at) + 1] = { name_of "_bias", ATTENTION_BIAS_INITIALIZER, .only_if = ATTENTION_USE_BIAS, \
		       .shape = { ATTRIBUTE_ITEM(ATTENTION_HEADS, 0), __VA_ARGS__ } }
#define VALUES ATTRIBUTE_OR(ATTENTION_VALUE_DIM, ATTENTION_KEY_DIM)

static const struct parameter_spec attention_parameters[] = {
	PROJECTION(ATTENTION_QUERY, "query", QUERY_INPUT, ATTRIBUTE_ITEM(ATTENTION_KEY_DIM, 0)),
	PROJECTION(ATTENTION_KEY, "key", KEY_INPUT, ATTRIBUTE_ITEM(ATTENTION_KEY_DIM, 0)),
	PROJECTION(ATTENTION_VALUE, "value", VALUE_INPUT, VALUES),
	[ATTENTION_OUTPUT] = { "attention_output_kernel", ATTENTION_KERNEL_INITIALIZER, .only_if = -1,
			       .shape = { ATTRIBUTE_ITEM(ATTENTION_HEADS, 0), VALUES, OUTPUT_LAST } },
	[ATTENTION_OUTPUT + 1] = { "attention_output_bias", ATTENTION_BIAS_INITIALIZER,
				   .only_if = ATTENTION_USE_BIAS, .shape = { OUTPUT_LAST } },
};

/* Checks that kernels can count the numbers of a query, key and value in 32 bits, and with dropout the
 * weights of a row. */
static int check_sizes(const struct graph *graph, const struct attention_sizes *size, uint64_t key_last,
		       uint64_t value_last, struct error *err)
{
	const uint64_t width = size->heads * (size->size > size->values ? size->size : size->values);
	const uint64_t in = key_last > value_last ? key_last : value_last;
	const uint64_t of_query = width > size->outputs ? width : size->outputs;
	const uint64_t of_key = width > in ? width : in;
	const uint64_t most = INT32_MAX / graph->batch_rows;

	if (of_query > most / size->queries || of_key > most / size->keys)
		return error_set(err, -EINVAL,
				 "found %" PRIu64 " queries of %" PRIu64 " numbers and %" PRIu64
				 " keys of %" PRIu64 " for %" PRIu64
				 " rows, allowed: at most %d numbers of each",
				 size->queries, of_query, size->keys, of_key, graph->batch_rows, INT32_MAX);
	if (size->dropout > 0 &&
	    attention_drop_number(size, size->heads - 1, size->queries - 1, size->keys) > UINT32_MAX)
		return error_set(err, -EINVAL,
				 "found %" PRIu64 " heads of %" PRIu64 " x %" PRIu64
				 " weights, allowed with dropout: 2^32 weights of a row",
				 size->heads, size->queries, size->keys);
	return 0;
}

static int attention_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			   struct error *err)
{
	const struct tensor *key = graph_at(graph, node->input[attention_input(node, ATTENTION_KEY)]);
	const struct tensor *value = graph_at(graph, node->input[attention_input(node, ATTENTION_VALUE)]);
	struct attention_sizes size;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < node->inputs; i++)
		r = tensor_check_sequence(graph_at(graph, node->input[i]), err);
	if (r < 0)
		return r;
	size = attention_sizes_of(graph, node);
	if (value->shape[0] != size.keys)
		return error_set(err, -EINVAL,
				 "found %" PRIu64 " steps of the value '%s' and %" PRIu64
				 " of the key '%s', allowed: the same",
				 value->shape[0], value->name, size.keys, key->name);
	/* A refused attribute is 0: its own error is enough. */
	output->mask = graph_at(graph, node->input[QUERY_INPUT])->mask;
	if (key->mask != GRAPH_NO_TENSOR && value->mask != GRAPH_NO_TENSOR && key->mask != value->mask)
		return error_set(err, -EINVAL,
				 "found the value '%s' with the mask of '%s' and the key '%s' with that of "
				 "'%s', allowed: one mask, that of the same ids",
				 value->name, graph_at(graph, value->mask)->name, key->name,
				 graph_at(graph, key->mask)->name);
	if (size.heads && size.size)
		r = check_sizes(graph, &size, tensor_last(key), tensor_last(value), err);
	return r < 0 ? r : same_shape(graph, node, output, err);
}

/* ---- Launches ---- */

static struct projection projection_of(struct plan *plan, const struct node *node, uint32_t parameter)
{
	const struct attention_sizes size = attention_sizes_of(plan->graph, node);
	const enum dtype storage = plan->graph->storage;
	const uint64_t keys = size.heads * size.size, values = size.heads * size.values;
	const uint32_t from = parameter == ATTENTION_OUTPUT ? GRAPH_NO_TENSOR
							    : node->input[attention_input(node, parameter)];
	struct projection p = { .node = node, .kernel = parameter, .bias = parameter + 1, .x = from };

	if (parameter == ATTENTION_OUTPUT)
		return (struct projection){ .node = node,
					    .kernel = parameter,
					    .bias = parameter + 1,
					    .stored = "output_stored",
					    .x = work_of_rows(plan, node, "context", storage, size.queries,
							      values),
					    .y = node->output,
					    .dy = output_of(plan, node)->gradient,
					    .steps = size.queries,
					    .in = values,
					    .out = size.outputs };
	p.in = tensor_last(graph_at(plan->graph, from));
	p.out = parameter == ATTENTION_VALUE ? values : keys;
	p.steps = parameter == ATTENTION_QUERY ? size.queries : size.keys;
	p.stored = parameter == ATTENTION_QUERY ? "query_stored"
		   : parameter == ATTENTION_KEY ? "key_stored"
						: "value_stored";
	p.y = work_of_rows(plan, node,
			   parameter == ATTENTION_QUERY ? "query"
			   : parameter == ATTENTION_KEY ? "key"
							: "value",
			   storage, p.steps, p.out);
	return p;
}

/* The arguments that all kernels of attention.cl have after their tensors; the kernels drop nothing where
 * `drops` is false. */
#define SHAPE_AND_DROPOUT(plan, size, drops, seed, node)                                                \
	INT((size).heads), INT((size).queries), INT((size).keys), INT((size).size), INT((size).values), \
		INT((size).causal), FLOAT((size).scale), FLOAT(1 / (1 - (size).dropout)),               \
		UINT((drops) ? dropout_threshold((size).dropout) : 0), UINT(name_hash((node)->name)),   \
		AT(STEP), AT(FIRST_ROW), UINT((uint32_t)(seed)), UINT((uint32_t)((seed) >> 32)),        \
		mask_argument(plan, node, QUERY_INPUT),                                                 \
		argument_optional(attention_key_mask((plan)->graph, node), ARGUMENT_IN)

/* Returns the groups that take `steps` queries or keys of each head, and on GPUs `columns` tiles of columns.
 */
static void set_groups(const struct plan *plan, struct launch *launch, uint64_t heads, uint64_t steps,
		       uint64_t columns)
{
	const uint64_t tiles = divide_up(steps, plan->cpu ? ATTENTION_LANES : ATTENTION_TILE);

	launch->groups[0] = (struct extent){ .per_row = heads * tiles, .tile = 1 };
	if (!plan->cpu)
		launch->groups[1] = (struct extent){ .fixed = columns, .tile = 1 };
}

static uint64_t columns_of(uint64_t numbers)
{
	return divide_up(numbers, ATTENTION_COLUMNS);
}

static uint32_t log_sums_of(struct plan *plan, const struct node *node, const struct attention_sizes *size)
{
	return work_of_rows(plan, node, "log_sums", DTYPE_F32, size->heads, size->queries);
}

static void attention_forward(struct plan *plan, const struct node *node, bool training)
{
	static const uint32_t inputs[] = { ATTENTION_QUERY, ATTENTION_KEY, ATTENTION_VALUE };
	const struct attention_sizes size = attention_sizes_of(plan->graph, node);
	const struct projection output = projection_of(plan, node, ATTENTION_OUTPUT);
	const uint64_t seed = plan->graph->config->run.seed;
	const uint32_t log_sums = training ? log_sums_of(plan, node, &size) : GRAPH_NO_TENSOR;
	struct projection p[3];

	for (uint32_t i = 0; i < 3; i++) {
		p[i] = projection_of(plan, node, inputs[i]);
		projection_forward(plan, &p[i]);
	}
	struct launch launch = { .kernel = plan->cpu ? "attention" : "attention_group",
				 ARGUMENTS(IN(p[0].y), IN(p[1].y), IN(p[2].y), OUT(output.x),
					   argument_optional(log_sums, ARGUMENT_OUT),
					   SHAPE_AND_DROPOUT(plan, size, training && size.dropout > 0, seed,
							     node)) };

	set_groups(plan, &launch, size.heads, size.queries, columns_of(size.values));
	plan_emit(plan, &launch);
	projection_forward(plan, &output);
}

/* Appends the launches that compute the gradients of queries, keys and values from that of the context. */
static void emit_heads_backward(struct plan *plan, const struct node *node, const struct projection *q,
				const struct projection *k, const struct projection *v,
				const struct projection *context)
{
	const struct attention_sizes size = attention_sizes_of(plan->graph, node);
	const uint64_t seed = plan->graph->config->run.seed;
	const bool drops = size.dropout > 0;
	const uint32_t log_sums = log_sums_of(plan, node, &size),
		       deltas = work_of_rows(plan, node, "deltas", DTYPE_F32, size.heads, size.queries);
	struct launch queries = { .kernel = plan->cpu ? "attention_query_gradients"
						      : "attention_query_gradients_group",
				  ARGUMENTS(IN(q->y), IN(k->y), IN(v->y), IN(context->y), IN(context->dy),
					    IN(log_sums), OUT(deltas), OUT(q->dy),
					    SHAPE_AND_DROPOUT(plan, size, drops, seed, node)) },
		      keys = { .kernel = plan->cpu ? "attention_key_gradients"
						   : "attention_key_gradients_group",
			       ARGUMENTS(IN(q->y), IN(k->y), IN(v->y), IN(context->dy), IN(log_sums),
					 IN(deltas), OUT(k->dy), OUT(v->dy),
					 SHAPE_AND_DROPOUT(plan, size, drops, seed, node)) };

	set_groups(plan, &queries, size.heads, size.queries, columns_of(size.size));
	set_groups(plan, &keys, size.heads, size.keys, columns_of(size.values) + columns_of(size.size));
	plan_emit(plan, &queries);
	plan_emit(plan, &keys);
}

static void attention_backward(struct plan *plan, const struct node *node)
{
	static const uint32_t inputs[] = { ATTENTION_QUERY, ATTENTION_KEY, ATTENTION_VALUE };
	static const char *const names[] = { "dquery", "dkey", "dvalue" };
	const enum dtype storage = plan->graph->storage;
	const struct projection output = projection_of(plan, node, ATTENTION_OUTPUT);
	struct projection p[3], context = { .y = output.x };

	for (uint32_t i = 0; i < 3; i++) {
		p[i] = projection_of(plan, node, inputs[i]);
		p[i].dy = work_of_rows(plan, node, names[i], storage, p[i].steps, p[i].out);
	}
	context.dy = work_of_rows(plan, node, "dcontext", storage, output.steps, output.in);
	projection_gradients(plan, &output);
	projection_input_gradient(plan, &output, context.dy, false);
	emit_heads_backward(plan, node, &p[0], &p[1], &p[2], &context);
	for (uint32_t i = 0; i < 3; i++) {
		bool add = false;
		uint32_t dx;

		projection_gradients(plan, &p[i]);
		dx = plan_gradient(plan, p[i].x, &add);
		if (dx != GRAPH_NO_TENSOR)
			projection_input_gradient(plan, &p[i], dx, add);
	}
}

const struct op op_multi_head_attention = {
	.name = "multi_head_attention",
	.inputs = 1,
	.inputs_max = 3,
	.masking = MASKING_OWN,
	.attributes = COUNT(attention_attributes),
	.attribute = attention_attributes,
	.parameters = COUNT(attention_parameters),
	.parameter = attention_parameters,
	.shape = attention_shape,
	.forward = attention_forward,
	.backward = attention_backward,
	.reference = attention_reference,
	.export = attention_export,
};
