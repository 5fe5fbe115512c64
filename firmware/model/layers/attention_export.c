/* SPDX-License-Identifier: Apache-2.0 */
/* Exports multi_head_attention as the operations that write out its formula. */
#include "model/export/export_ops.h"
#include "model/layers/attention.h"

#include <stdlib.h>

/* Times the steps of a key after a query, it is subtracted from the score: the weight is 0. */
#define HIDDEN 1e9

/* The file that is written, and the layer. */
struct parts {
	struct export *out;
	const struct node *node;
	struct attention_sizes size;
};

static struct export_inner_name transposed(const struct parts *of, const char *x,
					   const int32_t order[static 4], const char *name)
{
	const struct export_inner_name result = export_inner(of->node, name);

	export_node(of->out, &(struct export_node){ .kind = EXPORT_TRANSPOSE,
						    .output = result.text,
						    .input = { x },
						    .axes = { order[0], order[1], order[2], order[3] },
						    .axis_count = 4 });
	return result;
}

static struct export_inner_name matrix(const struct parts *of, const char *a, const char *b, uint32_t rank,
				       const char *name)
{
	const struct export_inner_name result = export_inner(of->node, name);

	export_node(of->out,
		    &(struct export_node){
			    .kind = EXPORT_MATMUL, .output = result.text, .input = { a, b }, .rank = rank });
	return result;
}

/* Writes a parameter as [first, rest] or, with `first` 0, as [rest]. */
static struct export_inner_name flat(const struct parts *of, uint32_t parameter, uint64_t first,
				     const char *name)
{
	const struct tensor *tensor = export_tensor(of->out, of->node->parameter[parameter]);
	const int64_t shape[] = { (int64_t)first, -1 };
	const uint64_t rank = first ? 2 : 1;
	char shape_name[EXPORT_NAME_BYTES + 8];
	const struct export_inner_name result = export_inner(of->node, name);

	(void)snprintf(shape_name, sizeof(shape_name), "%s/shape", result.text);
	export_constant(of->out, &(struct export_constant){ .name = shape_name,
							    .dtype = DTYPE_I64,
							    .rank = 1,
							    .shape = &rank,
							    .data = first ? shape : shape + 1 });
	export_binary(of->out, EXPORT_RESHAPE, tensor->name, shape_name, result.text);
	return result;
}

/* Writes x W + b; `in` is the number of rows of W. The names of the values begin with `what`. */
static void write_projection(const struct parts *of, uint32_t parameter, const char *x, uint64_t in,
			     const char *what, const char *output)
{
	const bool has_bias = export_parameter(of->out, of->node, parameter + 1);
	char name[64];
	struct export_inner_name kernel, product, bias;

	(void)snprintf(name, sizeof(name), "%s_matrix", what);
	kernel = flat(of, parameter, in, name);
	if (!has_bias) {
		export_node(of->out, &(struct export_node){ .kind = EXPORT_MATMUL,
							    .output = output,
							    .input = { x, kernel.text },
							    .rank = 3 });
		return;
	}
	(void)snprintf(name, sizeof(name), "%s_product", what);
	product = matrix(of, x, kernel.text, 3, name);
	(void)snprintf(name, sizeof(name), "%s_summand", what);
	bias = flat(of, parameter + 1, 0, name);
	export_binary(of->out, EXPORT_ADD, product.text, bias.text, output);
}

/* Writes a projection of an input as [rows, heads, ...], with the order of dimensions `order`. */
static struct export_inner_name heads(const struct parts *of, uint32_t parameter, const char *what,
				      uint64_t steps, uint64_t size, const int32_t order[static 4])
{
	const uint32_t input = attention_input(of->node, parameter);
	const struct tensor shape = { .rank = 3, .shape = { steps, of->size.heads, size } };
	char name[64];
	struct export_inner_name all, split;

	(void)snprintf(name, sizeof(name), "%s_steps", what);
	all = export_inner(of->node, name);
	write_projection(of, parameter, export_input(of->out, of->node, input),
			 tensor_last(export_tensor(of->out, of->node->input[input])), what, all.text);
	(void)snprintf(name, sizeof(name), "%s_split", what);
	split = export_reshaped(of->out, of->node, all.text, &shape, name);
	(void)snprintf(name, sizeof(name), "%s_heads", what);
	return transposed(of, split.text, order, name);
}

/* Writes the numbers 0, 1 ... count - 1 as [count] or, with rank 2, as [count, 1]. */
static struct export_inner_name write_steps(const struct parts *of, uint64_t count, uint32_t rank,
					    const char *name)
{
	const struct export_inner_name result = export_inner(of->node, name);
	const uint64_t shape[] = { count, 1 };
	float *steps = calloc(count, sizeof(*steps));

	if (!steps)
		abort();
	for (uint64_t i = 0; i < count; i++)
		steps[i] = (float)i;
	export_constant(of->out, &(struct export_constant){ .name = result.text,
							    .dtype = DTYPE_F32,
							    .rank = rank,
							    .shape = shape,
							    .data = steps });
	free(steps);
	return result;
}

/* Writes min(i - j, 0) of query i and key j: negative where the key is after the query. Two lists of steps
 * do, so that the file grows with the steps and not with their square. */
static struct export_inner_name write_behind(const struct parts *of)
{
	const struct export_inner_name queries = write_steps(of, of->size.queries, 2, "query_number"),
				       keys = write_steps(of, of->size.keys, 1, "key_number");
	struct export_inner_name x =
		export_both(of->out, of->node, EXPORT_SUBTRACT, queries.text, keys.text, "distance");

	return export_with(of->out, of->node, EXPORT_MINIMUM, x.text, 0, "behind");
}

/* Hides the keys j after a query i. */
static struct export_inner_name write_causal(const struct parts *of, const char *scores)
{
	struct export_inner_name x = write_behind(of);

	x = export_with(of->out, of->node, EXPORT_MULTIPLY, x.text, HIDDEN, "hidden");
	return export_both(of->out, of->node, EXPORT_ADD, scores, x.text, "seen");
}

/* Writes seen * (1 where the key is not after the query, else 0). */
static struct export_inner_name with_causal(const struct parts *of, const char *seen)
{
	struct export_inner_name x = write_behind(of);

	x = export_with(of->out, of->node, EXPORT_MAXIMUM, x.text, -1, "behind_once");
	x = export_with(of->out, of->node, EXPORT_ADD, x.text, 1, "before");
	return export_both(of->out, of->node, EXPORT_MULTIPLY, seen, x.text, "masks_causal");
}

/* Writes a mask of one input as 1 or 0 in the shape of a matrix [rows, 1, ...]. */
static struct export_inner_name mask_of(const struct parts *of, uint32_t input, uint64_t a, uint64_t b,
					const char *name)
{
	const struct tensor shape = { .rank = 3, .shape = { 1, a, b } };
	char flat_name[64];
	struct export_inner_name flat;

	(void)snprintf(flat_name, sizeof(flat_name), "%s_flat", name);
	flat = export_mask(of->out, of->node, input, flat_name);
	return export_reshaped(of->out, of->node, flat.text, &shape, name);
}

/* Writes 1 where a query sees a key, else 0: the product of the masks and, with `causal`, max(min(i - j, 0),
 * -1) + 1. The name is empty where no input has a mask. */
static struct export_inner_name write_seen(const struct parts *of)
{
	const struct graph *graph = export_graph(of->out);
	const uint32_t value = attention_input(of->node, ATTENTION_VALUE),
		       key = attention_input(of->node, ATTENTION_KEY);
	const bool of_query = graph_at(graph, of->node->input[QUERY_INPUT])->mask != GRAPH_NO_TENSOR,
		   of_value = graph_at(graph, of->node->input[value])->mask != GRAPH_NO_TENSOR;
	struct export_inner_name seen = { "" }, x;

	if (of_query)
		seen = mask_of(of, QUERY_INPUT, of->size.queries, 1, "query_mask");
	if (attention_key_mask(graph, of->node) == GRAPH_NO_TENSOR)
		return of_query && of->size.causal ? with_causal(of, seen.text) : seen;
	x = mask_of(of, of_value ? value : key, 1, of->size.keys, "key_mask");
	seen = of_query ? export_both(of->out, of->node, EXPORT_MULTIPLY, seen.text, x.text, "masks") : x;
	return of->size.causal ? with_causal(of, seen.text) : seen;
}

/* Hides what is not seen: scores + HIDDEN * (seen - 1). */
static struct export_inner_name hide(const struct parts *of, const char *scores, const char *seen)
{
	struct export_inner_name x = export_with(of->out, of->node, EXPORT_SUBTRACT, seen, 1, "unseen");

	x = export_with(of->out, of->node, EXPORT_MULTIPLY, x.text, HIDDEN, "unseen_score");
	return export_both(of->out, of->node, EXPORT_ADD, scores, x.text, "all_scores");
}

void attention_export(struct export *out, const struct node *node)
{
	static const int32_t heads_first[] = { 0, 2, 1, 3 }, steps_last[] = { 0, 2, 3, 1 };
	const struct parts of = { out, node, attention_sizes_of(export_graph(out), node) };
	const struct attention_sizes *size = &of.size;
	const struct tensor context = { .rank = 2, .shape = { size->queries, size->heads * size->values } };
	const struct export_inner_name q = heads(&of, ATTENTION_QUERY, "query", size->queries, size->size,
						 heads_first),
				       k = heads(&of, ATTENTION_KEY, "key", size->keys, size->size,
						 steps_last),
				       v = heads(&of, ATTENTION_VALUE, "value", size->keys, size->values,
						 heads_first);
	const struct export_inner_name seen = write_seen(&of);
	struct export_inner_name x = matrix(&of, q.text, k.text, 4, "products");

	x = export_with(out, node, EXPORT_MULTIPLY, x.text, size->scale, "scores");
	if (seen.text[0])
		x = hide(&of, x.text, seen.text);
	else if (size->causal)
		x = write_causal(&of, x.text);
	x = export_of(out, node, EXPORT_SOFTMAX, x.text, "weights");
	if (seen.text[0]) /* a query that sees no key */
		x = export_both(out, node, EXPORT_MULTIPLY, x.text, seen.text, "seen_weights");
	x = matrix(&of, x.text, v.text, 4, "sums");
	x = transposed(&of, x.text, heads_first, "sums_steps");
	x = export_reshaped(out, node, x.text, &context, "context");
	write_projection(&of, ATTENTION_OUTPUT, x.text, size->heads * size->values, "output",
			 export_output(out, node));
}
