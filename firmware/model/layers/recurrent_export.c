/* SPDX-License-Identifier: Apache-2.0 */
/* Exports recurrent layers without a loop: the operations of all time steps, one step after the other. Values
 * of a step are [rows, 1, units], so that products and joins along the time need no change of the shape. */
#include "model/export/export_ops.h"
#include "model/kernels/recurrent_flags.h"
#include "model/layers/recurrent.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GATES_MAX 4u

/* The step that is being written. `begin` and `end` name the constants that cut each gate out of all. */
struct steps {
	struct export *out;
	const struct node *node;
	struct recurrent_sizes size;
	uint64_t step;
	struct export_inner_name begin[GATES_MAX], end[GATES_MAX], h, cell;
	struct export_inner_name bias; /* bias of the product h U of gru; empty: there is none */
	struct export_inner_name mask; /* [rows, time], 1 where the step counts; empty: all count */
};

/* ---- Operations of a step, whose results are "<layer>/<what>_<step>" ---- */

#define STEP_NAME_BYTES 48u
static const char *step_name(const struct steps *at, const char *what, char out[static STEP_NAME_BYTES])
{
	(void)snprintf(out, STEP_NAME_BYTES, "%s_%" PRIu64, what, at->step);
	return out;
}

static struct export_inner_name both(const struct steps *at, enum export_kind kind, const char *a,
				     const char *b, const char *what)
{
	char name[STEP_NAME_BYTES];

	return export_both(at->out, at->node, kind, a, b, step_name(at, what, name));
}

static struct export_inner_name with(const struct steps *at, enum export_kind kind, const char *a,
				     double number, const char *what)
{
	char name[STEP_NAME_BYTES];

	return export_with(at->out, at->node, kind, a, number, step_name(at, what, name));
}

static struct export_inner_name of(const struct steps *at, enum export_kind kind, const char *a,
				   const char *what)
{
	char name[STEP_NAME_BYTES];

	return export_of(at->out, at->node, kind, a, step_name(at, what, name));
}

static struct export_inner_name activated(const struct steps *at, int function, const char *x,
					  const char *what)
{
	char inner[STEP_NAME_BYTES / 2];
	struct export_inner_name scaled;

	if (function == RECURRENT_TANH)
		return of(at, EXPORT_TANH, x, what);
	if (function == RECURRENT_SIGMOID)
		return of(at, EXPORT_SIGMOID, x, what);
	if (function == RECURRENT_RELU)
		return of(at, EXPORT_RELU, x, what);
	if (function == RECURRENT_LINEAR)
		return of(at, EXPORT_IDENTITY, x, what);
	(void)snprintf(inner, sizeof(inner), "%s_sixth", what);
	scaled = with(at, EXPORT_DIVIDE, x, 6, inner);
	(void)snprintf(inner, sizeof(inner), "%s_half", what);
	scaled = with(at, EXPORT_ADD, scaled.text, 0.5, inner);
	(void)snprintf(inner, sizeof(inner), "%s_relu", what);
	scaled = of(at, EXPORT_RELU, scaled.text, inner);
	return with(at, EXPORT_MINIMUM, scaled.text, 1, what);
}

/* Writes a slice of the first `rank` dimensions. */
static struct export_inner_name slice(const struct steps *at, const char *x, const char *begin,
				      const char *end, uint32_t rank, const char *what)
{
	char name[STEP_NAME_BYTES];
	const struct export_inner_name result = export_inner(at->node, step_name(at, what, name));

	export_node(at->out, &(struct export_node){ .kind = EXPORT_SLICE,
						    .output = result.text,
						    .input = { x, begin, end },
						    .rank = rank });
	return result;
}

static struct export_inner_name whole_numbers(const struct steps *at, const int64_t *numbers, uint64_t count,
					      const char *what)
{
	const struct export_inner_name name = export_inner(at->node, what);

	export_constant(
		at->out,
		&(struct export_constant){
			.name = name.text, .dtype = DTYPE_I64, .rank = 1, .shape = &count, .data = numbers });
	return name;
}

/* Returns gate g of a step: a part of [rows, 1, gates * units]. */
static struct export_inner_name gate(const struct steps *at, const char *all, uint64_t g, const char *what)
{
	return at->size.gates == 1 ? of(at, EXPORT_IDENTITY, all, what)
				   : slice(at, all, at->begin[g].text, at->end[g].text, 3, what);
}

/* ---- Cells: `sums` names x W + b + h U of all gates ---- */

static void lstm_step(struct steps *at, const char *sums)
{
	const int f = at->size.activation, g = at->size.gate_activation;
	const struct export_inner_name in = activated(at, g, gate(at, sums, 0, "i_sum").text, "i"),
				       forget = activated(at, g, gate(at, sums, 1, "f_sum").text, "f"),
				       candidate = activated(at, f, gate(at, sums, 2, "g_sum").text, "g"),
				       out = activated(at, g, gate(at, sums, 3, "o_sum").text, "o"),
				       added = both(at, EXPORT_MULTIPLY, in.text, candidate.text, "added");

	at->cell = at->step == 0 ? added
				 : both(at, EXPORT_ADD,
					both(at, EXPORT_MULTIPLY, forget.text, at->cell.text, "kept").text,
					added.text, "c");
	at->h = both(at, EXPORT_MULTIPLY, out.text, activated(at, f, at->cell.text, "c_function").text, "h");
}

/* `input` names x W + b, `inner` h U + b' of all gates; NULL: the latter is 0. */
static void gru_step(struct steps *at, const char *input, const char *inner)
{
	const int f = at->size.activation, g = at->size.gate_activation;
	struct export_inner_name sums = { "" }, z, r, candidate, rest;

	if (inner)
		sums = both(at, EXPORT_ADD, input, inner, "sums");
	z = activated(at, g, gate(at, inner ? sums.text : input, 0, "z_sum").text, "z");
	candidate = gate(at, input, 2, "m_input");
	if (inner) {
		r = activated(at, g, gate(at, sums.text, 1, "r_sum").text, "r");
		r = both(at, EXPORT_MULTIPLY, r.text, gate(at, inner, 2, "m_inner").text, "reset");
		candidate = both(at, EXPORT_ADD, candidate.text, r.text, "m_sum");
	}
	candidate = activated(at, f, candidate.text, "m");
	/* (1 - z) m = m - z m */
	rest = both(at, EXPORT_SUBTRACT, candidate.text,
		    both(at, EXPORT_MULTIPLY, z.text, candidate.text, "m_left").text, "m_share");
	at->h = at->step == 0
			? rest
			: both(at, EXPORT_ADD, both(at, EXPORT_MULTIPLY, z.text, at->h.text, "kept").text,
			       rest.text, "h");
}

/* ---- The layer ---- */

static void write_bounds(struct steps *at)
{
	char what[STEP_NAME_BYTES];

	for (uint64_t g = 0; at->size.gates > 1 && g < at->size.gates; g++) {
		const int64_t begin[] = { 0, 0, (int64_t)(g * at->size.units) },
			      end[] = { INT64_MAX, INT64_MAX, (int64_t)((g + 1) * at->size.units) };

		(void)snprintf(what, sizeof(what), "gate_%" PRIu64 "_begin", g);
		at->begin[g] = whole_numbers(at, begin, 3, what);
		(void)snprintf(what, sizeof(what), "gate_%" PRIu64 "_end", g);
		at->end[g] = whole_numbers(at, end, 3, what);
	}
}

/* Returns the bias of x W, or of gru's h U: row `row` of [2, gates * units], as [1, gates * units]. The name
 * is empty where there is none. */
static struct export_inner_name bias_row(const struct steps *at, int64_t row)
{
	const char *bias = export_parameter(at->out, at->node, RECURRENT_BIAS);
	const int64_t bounds[] = { row, row + 1 };
	struct export_inner_name part = { "" };
	char name[STEP_NAME_BYTES];

	if (bias && at->size.gates != 3) {
		(void)snprintf(part.text, sizeof(part.text), "%s", bias);
	} else if (bias) {
		struct export_inner_name begin, end;

		(void)snprintf(name, sizeof(name), "bias_%" PRId64 "_begin", row);
		begin = whole_numbers(at, &bounds[0], 1, name);
		(void)snprintf(name, sizeof(name), "bias_%" PRId64 "_end", row);
		end = whole_numbers(at, &bounds[1], 1, name);
		part = slice(at, bias, begin.text, end.text, 1, row ? "bias_inner" : "bias_input");
	}
	return part;
}

/* Writes x W + b of all time steps, [rows, time, gates * units]. */
static struct export_inner_name write_input(const struct steps *at)
{
	const struct export_inner_name bias = bias_row(at, 0);
	const struct export_inner_name product = export_inner(at->node, "inputs");

	export_node(at->out,
		    &(struct export_node){ .kind = EXPORT_MATMUL,
					   .output = product.text,
					   .input = { export_input(at->out, at->node, 0),
						      export_parameter(at->out, at->node, RECURRENT_KERNEL) },
					   .rank = 3 });
	return bias.text[0]
		       ? export_both(at->out, at->node, EXPORT_ADD, product.text, bias.text, "inputs_bias")
		       : product;
}

/* Cuts the step out of all, [rows, time, ...]. */
static struct export_inner_name cut_step(const struct steps *at, const char *all, const char *what)
{
	const uint64_t t = at->size.backwards ? at->size.time - 1 - at->step : at->step;
	const int64_t begin[] = { 0, (int64_t)t }, end[] = { INT64_MAX, (int64_t)t + 1 };
	char bound[STEP_NAME_BYTES / 2], name[STEP_NAME_BYTES];
	struct export_inner_name from, to;

	(void)snprintf(bound, sizeof(bound), "%s_begin", what);
	from = whole_numbers(at, begin, 2, step_name(at, bound, name));
	(void)snprintf(bound, sizeof(bound), "%s_end", what);
	to = whole_numbers(at, end, 2, step_name(at, bound, name));
	return slice(at, all, from.text, to.text, 2, what);
}

/* Writes h U of a step. */
static struct export_inner_name state_product(const struct steps *at)
{
	char name[STEP_NAME_BYTES];
	const struct export_inner_name product = export_inner(at->node, step_name(at, "product", name));

	export_node(at->out, &(struct export_node){
				     .kind = EXPORT_MATMUL,
				     .output = product.text,
				     .input = { at->h.text, export_parameter(at->out, at->node,
									     RECURRENT_RECURRENT_KERNEL) },
				     .rank = 3 });
	return product;
}

/* Writes h U + b' of gru; returns false where it is 0: in the first step without a bias. */
static bool gru_inner(const struct steps *at, struct export_inner_name *ret_inner)
{
	const char *bias = at->bias.text;

	if (at->step > 0) {
		const struct export_inner_name product = state_product(at);

		*ret_inner = *bias ? both(at, EXPORT_ADD, product.text, bias, "inner") : product;
	} else if (*bias) {
		const int64_t shape[] = { 1, 1, (int64_t)(at->size.gates * at->size.units) };
		const struct export_inner_name name = whole_numbers(at, shape, 3, "inner_shape");

		*ret_inner = both(at, EXPORT_RESHAPE, bias, name.text, "inner");
	}
	return at->step > 0 || *bias;
}

static void write_step(struct steps *at, const char *all)
{
	const struct export_inner_name input = cut_step(at, all, "input");
	struct export_inner_name inner = { "" }, sums = input;

	if (at->size.gates == 3) {
		const bool has_inner = gru_inner(at, &inner);

		gru_step(at, input.text, has_inner ? inner.text : NULL);
		return;
	}
	if (at->step > 0)
		sums = both(at, EXPORT_ADD, input.text, state_product(at).text, "sums");
	if (at->size.gates == 4)
		lstm_step(at, sums.text);
	else
		at->h = activated(at, at->size.activation, sums.text, "h");
}

/* Returns after where the step counts, else before: before + mask (after - before). In the first step before
 * is 0. */
static struct export_inner_name chosen(const struct steps *at, const char *mask, const char *before,
				       const char *after, const char *what)
{
	char name[STEP_NAME_BYTES / 2];
	struct export_inner_name change;

	if (at->step == 0)
		return both(at, EXPORT_MULTIPLY, after, mask, what);
	(void)snprintf(name, sizeof(name), "%s_change", what);
	change = both(at, EXPORT_SUBTRACT, after, before, name);
	(void)snprintf(name, sizeof(name), "%s_step", what);
	change = both(at, EXPORT_MULTIPLY, change.text, mask, name);
	return both(at, EXPORT_ADD, before, change.text, what);
}

/* Writes a step that may not count: then state and cell stay. */
static void write_masked_step(struct steps *at, const char *all)
{
	const struct export_inner_name h = at->h, cell = at->cell;
	struct export_inner_name mask;

	write_step(at, all);
	if (!at->mask.text[0])
		return;
	mask = cut_step(at, at->mask.text, "mask");
	at->h = chosen(at, mask.text, h.text, at->h.text, "h_kept");
	if (at->size.gates == 4)
		at->cell = chosen(at, mask.text, cell.text, at->cell.text, "c_kept");
}

/* Joins the outputs of all steps along the time, as many at once as an operation may have inputs. */
static void write_sequence(const struct steps *at, const struct export_inner_name *h)
{
	const bool turned = at->size.backwards && at->size.in_order;
	struct export_node *join = calloc(1, sizeof(*join));
	struct export_inner_name so_far = { "" };

	if (!join)
		abort();
	*join = (struct export_node){ .kind = EXPORT_CONCATENATE, .axes = { 1 }, .axis_count = 1 };
	for (uint64_t s = 0; s < at->size.time; s++) {
		const bool last = s + 1 == at->size.time;
		struct export_inner_name joined;

		join->input[join->inputs++] = h[turned ? at->size.time - 1 - s : s].text;
		if (!last && join->inputs < CONFIG_INPUTS_MAX)
			continue;
		joined = export_inner(at->node, "joined");
		(void)snprintf(joined.text + strlen(joined.text), 24, "_%" PRIu64, s);
		join->output = last ? export_output(at->out, at->node) : joined.text;
		export_node(at->out, join); /* reads so_far, too */
		so_far = joined;
		join->input[0] = so_far.text;
		join->inputs = 1;
	}
	free(join);
}

static void write_last(const struct steps *at)
{
	const int64_t shape[] = { -1, (int64_t)at->size.units };
	const struct export_inner_name name = whole_numbers(at, shape, 2, "output_shape");

	export_node(at->out, &(struct export_node){ .kind = EXPORT_RESHAPE,
						    .output = export_output(at->out, at->node),
						    .input = { at->h.text, name.text } });
}

void recurrent_export(struct export *out, const struct node *node)
{
	struct steps at = { .out = out, .node = node, .size = recurrent_sizes_of(export_graph(out), node) };
	const struct export_inner_name all = write_input(&at);
	struct export_inner_name *h = calloc(at.size.time, sizeof(*h));

	if (!h)
		abort();
	write_bounds(&at);
	if (export_tensor(out, node->input[0])->mask != GRAPH_NO_TENSOR) {
		const struct tensor column = { .rank = 2, .shape = { at.size.time, 1 } };
		const struct export_inner_name flat = export_mask(out, node, 0, "mask");

		at.mask = export_reshaped(out, node, flat.text, &column, "mask_steps");
	}
	if (at.size.gates == 3)
		at.bias = bias_row(&at, 1);
	for (at.step = 0; at.step < at.size.time; at.step++) {
		write_masked_step(&at, all.text);
		h[at.step] = at.h;
	}
	if (!at.size.sequences)
		write_last(&at);
	else if (at.size.time == 1)
		export_node(out, &(struct export_node){ .kind = EXPORT_IDENTITY,
							.output = export_output(out, node),
							.input = { h[0].text } });
	else
		write_sequence(&at, h);
	free(h);
}
