/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/recurrent.h"

#include "model/graph/random.h"
#include "model/kernels/recurrent_flags.h"
#include "model/layers/dropout.h"
#include "model/layers/projection.h"
#include "model/layers/row.h"
#include "model/plan/round.h"
#include "model/plan/storage.h"

#include <string.h>

#define INITIALIZER(key_of, name)                                                       \
	{                                                                               \
		.key = (key_of), .kind = ATTRIBUTE_IS_NAME, .names = initializer_names, \
		.fallback_name = (name)                                                 \
	}
#define FUNCTION(key_of, name)                                                                            \
	{                                                                                                 \
		.key = (key_of), .kind = ATTRIBUTE_IS_NAME, .hashed = true, .names = recurrent_functions, \
		.fallback_name = (name)                                                                   \
	}
#define SWITCH(key_of)                                                     \
	{                                                                  \
		.key = (key_of), .kind = ATTRIBUTE_IS_BOOL, .hashed = true \
	}
#define COMMON                                                                                        \
	[RECURRENT_UNITS] = { "units",        ATTRIBUTE_IS_INT, .required = true,                     \
			      .hashed = true, .min = 1,         .max = 1 << 12 },                     \
	[RECURRENT_ACTIVATION] = FUNCTION("activation", "tanh"),                                      \
	[RECURRENT_USE_BIAS] = { "use_bias", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },      \
	[RECURRENT_KERNEL_INITIALIZER] = INITIALIZER("kernel_initializer", "glorot_uniform"),         \
	[RECURRENT_RECURRENT_INITIALIZER] = INITIALIZER("recurrent_initializer", "orthogonal"),       \
	[RECURRENT_BIAS_INITIALIZER] = INITIALIZER("bias_initializer", "zeros"),                      \
	[RECURRENT_RETURN_SEQUENCES] = SWITCH("return_sequences"),                                    \
	[RECURRENT_GO_BACKWARDS] = SWITCH("go_backwards"), [RECURRENT_IN_ORDER] = SWITCH("in_order"), \
	[RECURRENT_DROPOUT] = { "dropout", ATTRIBUTE_IS_FLOAT, .max = 1, .max_open = true }

static const struct attribute_spec lstm_attributes[] = {
	COMMON,
	[RECURRENT_GATE_ACTIVATION] = FUNCTION("recurrent_activation", "sigmoid"),
	[RECURRENT_FORGET_BIAS] = { "unit_forget_bias", ATTRIBUTE_IS_BOOL, .fallback = 1 },
};
static const struct attribute_spec gru_attributes[] = {
	COMMON,
	[RECURRENT_GATE_ACTIVATION] = FUNCTION("recurrent_activation", "sigmoid"),
};
static const struct attribute_spec simple_rnn_attributes[] = { COMMON };

/* kernel [features, gates * units], recurrent_kernel [units, gates * units], bias [gates * units]; the gates
 * are in Keras's order: lstm i, f, c, o; gru z, r, h. */
#define PARAMETERS(gates, ...)                                                                               \
	[RECURRENT_KERNEL] = { "kernel", RECURRENT_KERNEL_INITIALIZER, .only_if = -1,                        \
			       .shape = { INPUT_LAST, ATTRIBUTE_TIMES(RECURRENT_UNITS, gates) } },           \
	[RECURRENT_RECURRENT_KERNEL] = { "recurrent_kernel", RECURRENT_RECURRENT_INITIALIZER, .only_if = -1, \
					 .shape = { ATTRIBUTE_ITEM(RECURRENT_UNITS, 0),                      \
						    ATTRIBUTE_TIMES(RECURRENT_UNITS, gates) } },             \
	[RECURRENT_BIAS] = { "bias", RECURRENT_BIAS_INITIALIZER, .only_if = RECURRENT_USE_BIAS,              \
			     .shape = { __VA_ARGS__ } }

static const struct parameter_spec lstm_parameters[] = { PARAMETERS(4, ATTRIBUTE_TIMES(RECURRENT_UNITS, 4)) };
static const struct parameter_spec gru_parameters[] = { PARAMETERS(3, JUST(2),
								   ATTRIBUTE_TIMES(RECURRENT_UNITS, 3)) };
static const struct parameter_spec simple_rnn_parameters[] = { PARAMETERS(
	1, ATTRIBUTE_TIMES(RECURRENT_UNITS, 1)) };

extern const struct op op_lstm, op_gru, op_simple_rnn;

/* The kernels of a layer: for CPU devices, and for others. */
static const struct cell {
	const struct op *op;
	const char *forward[2], *backward[2];
} cells[] = {
	{ &op_lstm, { "lstm_group", "lstm" }, { "lstm_gradients_group", "lstm_gradients" } },
	{ &op_gru, { "gru_group", "gru" }, { "gru_gradients_group", "gru_gradients" } },
	{ &op_simple_rnn,
	  { "simple_rnn_group", "simple_rnn" },
	  { "simple_rnn_gradients_group", "simple_rnn_gradients" } },
};

static const struct cell *cell_of(const struct node *node)
{
	const struct cell *cell = cells;

	while (cell->op != node->op)
		cell++;
	return cell;
}

static const char *lstm_initial(const struct node *node, uint32_t i)
{
	return i == RECURRENT_BIAS && node->attribute[RECURRENT_FORGET_BIAS].b ? INITIALIZER_FORGET : NULL;
}

static int recurrent_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			   struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const uint64_t units = (uint64_t)node->attribute[RECURRENT_UNITS].i;
	const char *initializer = node->attribute[RECURRENT_BIAS_INITIALIZER].s;
	const int r = tensor_check_sequence(input, err);

	if (r < 0)
		return r;
	if (node->op == &op_lstm && node->attribute[RECURRENT_USE_BIAS].b &&
	    node->attribute[RECURRENT_FORGET_BIAS].b && initializer && strcmp(initializer, "zeros") != 0)
		return error_set(err, -EINVAL,
				 "found bias_initializer \"%s\", allowed with unit_forget_bias = true: "
				 "\"zeros\"",
				 initializer);
	output->rank = node->attribute[RECURRENT_RETURN_SEQUENCES].b ? 2 : 1;
	output->shape[0] = input->shape[0];
	output->shape[output->rank - 1] = units;
	if (output->rank == 2)
		output->mask = input->mask;
	return 0;
}

/* ---- Launches ---- */

static uint32_t gates_of(struct plan *plan, const struct node *node, const struct recurrent_sizes *size)
{
	return work_of_rows(plan, node, "gates", DTYPE_F32, size->time, size->gates * size->units);
}

static uint32_t cells_of(struct plan *plan, const struct node *node, const struct recurrent_sizes *size)
{
	return size->gates == 1 ? GRAPH_NO_TENSOR
				: work_of_rows(plan, node, "cells", DTYPE_F32, size->time, size->units);
}

static uint32_t before_of(struct plan *plan, const struct node *node, const struct recurrent_sizes *size)
{
	return work_of_rows(plan, node, "before", plan->graph->storage, size->time, size->units);
}

/* Returns the input after dropout, in training. */
static uint32_t dropped_of(struct plan *plan, const struct node *node, const struct recurrent_sizes *size)
{
	return size->dropout > 0
		       ? work_of_rows(plan, node, "dropped", plan->graph->storage, size->time, size->features)
		       : node->input[0];
}

/* Appends the launch that writes U, or U transposed, in panels. */
static uint32_t emit_panels(struct plan *plan, const struct node *node, const struct recurrent_sizes *size,
			    bool turned)
{
	const uint64_t columns = divide_up(size->units, RECURRENT_LANE) * RECURRENT_LANE,
		       terms = turned ? size->gates * size->units : size->units,
		       gates = turned ? 1 : size->gates;
	const struct tensor shape = { .rank = 2, .shape = { terms, gates * columns } };
	const uint32_t panels = plan_work(plan, node, turned ? "panels_turned" : "panels", &shape);

	plan_emit(plan, &(struct launch){
				.kernel = "recurrent_panels",
				.groups = { { .fixed = terms * gates * columns, .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(node->parameter[RECURRENT_RECURRENT_KERNEL]), OUT(panels),
					  INT(terms), INT(gates), INT(size->units), INT(turned)),
			});
	return panels;
}

static struct extent per_block(const struct plan *plan)
{
	return (struct extent){ .per_row = 1, .tile = plan->cpu ? RECURRENT_ROWS : RECURRENT_GROUP_ROWS };
}

static int flags_of(const struct recurrent_sizes *size)
{
	return (size->sequences ? RECURRENT_SEQUENCES : 0) | (size->backwards ? RECURRENT_BACKWARDS : 0) |
	       (size->in_order ? RECURRENT_KEEP_ORDER : 0);
}

/* Returns the product of a matrix with the features, or with the state, of each time step. */
static struct projection product_of(const struct node *node, const struct recurrent_sizes *size,
				    uint32_t matrix)
{
	return (struct projection){ .node = node,
				    .kernel = matrix,
				    .bias = GRAPH_NO_TENSOR,
				    .stored = "kernel_stored",
				    .steps = size->time,
				    .in = matrix == RECURRENT_KERNEL ? size->features : size->units,
				    .out = size->gates * size->units };
}

static void recurrent_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct recurrent_sizes size = recurrent_sizes_of(plan->graph, node);
	const uint32_t gates = gates_of(plan, node, &size), panels = emit_panels(plan, node, &size, false);
	const uint32_t x = training ? dropped_of(plan, node, &size) : node->input[0];
	struct projection p = product_of(node, &size, RECURRENT_KERNEL);
	const uint32_t before = training ? before_of(plan, node, &size) : GRAPH_NO_TENSOR;

	if (x != node->input[0])
		dropout_emit_channels(plan, node, size.dropout, graph_at(plan->graph, x), node->input[0], x,
				      false);
	p.x = x;
	p.y = gates;
	projection_forward(plan, &p);
	plan_emit(
		plan,
		&(struct launch){
			.kernel = cell_of(node)->forward[plan->cpu],
			.groups = { per_block(plan) },
			ARGUMENTS(INOUT(gates), argument_optional(cells_of(plan, node, &size), ARGUMENT_OUT),
				  OUT(work_of_rows(plan, node, "state", DTYPE_F32, size.units, 1)),
				  argument_optional(before, ARGUMENT_OUT), OUT(node->output), IN(panels),
				  argument_optional(node->parameter[RECURRENT_BIAS], ARGUMENT_IN), AT(ROWS),
				  INT(size.time), INT(size.units), INT(flags_of(&size)), INT(size.activation),
				  INT(size.gate_activation), mask_argument(plan, node, 0)),
		});
}

/* Appends the gradient of the bias: sums of dgates, and of gru also of dinner. The former follow the product
 * of dgates, because fusion joins neighbours. */
static void emit_bias_gradient(struct plan *plan, const struct node *node, const struct recurrent_sizes *size,
			       uint32_t dgates, uint32_t dinner)
{
	const uint64_t columns = size->gates * size->units;
	const uint32_t dbias = parameter_gradient(plan, node, RECURRENT_BIAS);

	if (dbias != GRAPH_NO_TENSOR && dinner == GRAPH_NO_TENSOR)
		emit_column_sums(plan, dgates, dbias, size->time, columns);
	else if (dbias != GRAPH_NO_TENSOR)
		plan_emit(plan, &(struct launch){
					.kernel = "gru_bias",
					.groups = { { .fixed = 2 * columns, .tile = ELEMENT_GROUP } },
					ARGUMENTS(IN(dgates), IN(dinner), OUT(dbias), ROWS_TIMES(size->time),
						  INT(columns)),
				});
}

/* dx (+)= dgates W^T, through the dropout of the input. */
static void emit_input_gradient(struct plan *plan, const struct node *node,
				const struct recurrent_sizes *size, uint32_t dgates)
{
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);
	const bool drops = size->dropout > 0;

	if (dx == GRAPH_NO_TENSOR)
		return;
	struct projection p = product_of(node, size, RECURRENT_KERNEL);
	const uint32_t dx_dropped =
		drops ? work_of_rows(plan, node, "ddropped", plan->graph->storage, size->time, size->features)
		      : dx;

	p.dy = dgates;
	projection_input_gradient(plan, &p, dx_dropped, add && !drops);
	if (drops)
		dropout_emit_channels(plan, node, size->dropout, graph_at(plan->graph, dx_dropped),
				      dx_dropped, dx, add);
}

static void recurrent_backward(struct plan *plan, const struct node *node)
{
	const struct recurrent_sizes size = recurrent_sizes_of(plan->graph, node);
	const uint64_t columns = size.gates * size.units;
	const bool is_gru = size.gates == 3;
	const enum dtype storage = plan->graph->storage;
	const uint32_t panels = emit_panels(plan, node, &size, true), before = before_of(plan, node, &size),
		       dgates = work_of_rows(plan, node, "dgates", storage, size.time, columns),
		       dinner = is_gru ? work_of_rows(plan, node, "dinner", storage, size.time, columns)
				       : GRAPH_NO_TENSOR;
	struct projection recurrent = product_of(node, &size, RECURRENT_RECURRENT_KERNEL),
			  features = product_of(node, &size, RECURRENT_KERNEL);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = cell_of(node)->backward[plan->cpu],
			  .groups = { per_block(plan) },
			  ARGUMENTS(IN(output_of(plan, node)->gradient), IN(gates_of(plan, node, &size)),
				    argument_optional(cells_of(plan, node, &size), ARGUMENT_IN), IN(before),
				    IN(panels), OUT(dgates), argument_optional(dinner, ARGUMENT_OUT),
				    OUT(work_of_rows(plan, node, "flow", DTYPE_F32, size.gates + 2,
						     size.units)),
				    AT(ROWS), INT(size.time), INT(size.units), INT(flags_of(&size)),
				    INT(size.activation), INT(size.gate_activation),
				    mask_argument(plan, node, 0)),
		  });
	recurrent.x = before;
	recurrent.dy = is_gru ? dinner : dgates;
	projection_gradients(plan, &recurrent);
	features.x = dropped_of(plan, node, &size);
	features.dy = dgates;
	projection_gradients(plan, &features);
	emit_bias_gradient(plan, node, &size, dgates, dinner);
	emit_input_gradient(plan, node, &size, dgates);
}

#define RECURRENT_OP(name_of, ...)                                                  \
	const struct op op_##name_of = { .name = #name_of,                          \
					 .inputs = 1,                               \
					 .masking = MASKING_OWN,                    \
					 .attributes = COUNT(name_of##_attributes), \
					 .attribute = name_of##_attributes,         \
					 .parameters = COUNT(name_of##_parameters), \
					 .parameter = name_of##_parameters,         \
					 .shape = recurrent_shape,                  \
					 .forward = recurrent_forward,              \
					 .backward = recurrent_backward,            \
					 .reference = recurrent_reference,          \
					 .export = recurrent_export,                \
					 __VA_ARGS__ }

RECURRENT_OP(lstm, .initial = lstm_initial);
RECURRENT_OP(gru);
RECURRENT_OP(simple_rnn);
