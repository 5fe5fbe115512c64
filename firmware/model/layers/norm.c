/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/norm.h"

#include "model/plan/round.h"

int norm_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	if (!input->rank)
		return error_set(err, -EINVAL, "found no dimensions of '%s', allowed: 1 .. %u", input->name,
				 CONFIG_SHAPE_MAX);
	return same_shape(graph, node, output, err);
}

uint32_t norm_work(struct plan *plan, const struct node *node, const char *name, uint64_t partials)
{
	const struct tensor shape = { .rank = 2, .shape = { partials, tensor_last(output_of(plan, node)) } };

	return plan_work(plan, node, name, &shape);
}

/* ---- The tree ---- */

/* How many numbers a work-item of the tree adds up; kernels/norm.cl has the same number. */
#define NORM_CHUNK 64u

uint32_t norm_emit_tree(struct plan *plan, const struct node *node, const struct norm_tree *tree,
			struct launch launch)
{
	const struct tensor *output = output_of(plan, node);
	const uint64_t outer = tensor_outer(output), columns = tensor_last(output),
		       n = plan->graph->batch_rows * outer;
	const struct extent across = norm_per_column(output);
	char name[64];
	uint64_t tile = NORM_CHUNK;
	uint32_t level = 0, partials;

	(void)snprintf(name, sizeof(name), "%s%u", tree->name, level);
	partials = norm_work(plan, node, name, divide_up(n, tile) * tree->sums);
	launch.kernel = plan->cpu && tree->lines ? tree->lines : tree->chunk;
	launch.groups[0] = (struct extent){ .per_row = outer, .tile = tile };
	launch.groups[1] = across;
	launch.argument[launch.arguments++] = (struct argument)OUT(partials);
	launch.argument[launch.arguments++] = (struct argument)AT(ROWS);
	launch.argument[launch.arguments++] = (struct argument)INT(outer);
	launch.argument[launch.arguments++] = (struct argument)INT(columns);
	plan_emit(plan, &launch);
	for (; tile < n; tile *= NORM_CHUNK) {
		const uint32_t from = partials;

		(void)snprintf(name, sizeof(name), "%s%u", tree->name, ++level);
		partials = norm_work(plan, node, name, divide_up(n, tile * NORM_CHUNK) * tree->sums);
		plan_emit(plan, &(struct launch){
					.kernel = tree->merge,
					.groups = { { .per_row = outer, .tile = tile * NORM_CHUNK }, across },
					ARGUMENTS(IN(from), OUT(partials), AT(ROWS), INT(outer), INT(tile),
						  INT(columns)),
				});
	}
	return partials;
}

/* ---- Over columns ---- */

/* About how many numbers a group of the kernels that work on lines computes. */
#define SPAN_NUMBERS 8192u

/* Returns the rows of such a group: as many as SPAN_NUMBERS has, in a multiple of 16, so that groups begin at
 * a whole vector. */
static uint64_t span_rows(const struct tensor *output)
{
	return divide_up(divide_up(SPAN_NUMBERS, tensor_last(output)), 16) * 16;
}

/* Appends a launch of `kernel`, with one work-item for each number, or on CPU devices of the kernel that
 * works on lines, which has one more parameter. */
static void emit_columns(struct plan *plan, const struct tensor *output, const char *kernel,
			 const char *lines, struct launch launch)
{
	launch.kernel = plan->cpu ? lines : kernel;
	launch.groups[0] = per_element(output);
	if (plan->cpu) {
		launch.groups[0] =
			(struct extent){ .per_row = tensor_outer(output), .tile = span_rows(output) };
		launch.argument[launch.arguments++] = (struct argument)INT(span_rows(output));
	}
	plan_emit(plan, &launch);
}

void norm_emit_given(struct plan *plan, const struct node *node, uint32_t saved, uint32_t mean,
		     uint32_t variance, double epsilon, double least)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "given_moments",
				.groups = { norm_per_column(output) },
				ARGUMENTS(IN(mean), IN(variance), OUT(saved), FLOAT(epsilon), FLOAT(least),
					  INT(tensor_last(output))),
			});
}

void norm_emit_normalize(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
			 uint32_t beta)
{
	const struct tensor *output = output_of(plan, node);

	emit_columns(plan, output, "normalize_columns", "normalize_columns_lines",
		     (struct launch){
			     ARGUMENTS(IN(node->input[0]), IN(saved), argument_optional(gamma, ARGUMENT_IN),
				       argument_optional(beta, ARGUMENT_IN), OUT(node->output),
				       ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))) });
}

void norm_emit_columns_backward(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
				uint32_t sums)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	emit_columns(plan, output, "batch_norm_backward", "batch_norm_backward_lines",
		     (struct launch){ ARGUMENTS(IN(output->gradient), IN(node->input[0]), IN(saved),
						argument_optional(gamma, ARGUMENT_IN),
						argument_optional(sums, ARGUMENT_IN), IN(plan->graph->empty),
						OUT(dx), INT(add), AT(ROWS), AT(VALID_ROWS),
						INT(tensor_outer(output)), INT(tensor_last(output))) });
}

void norm_emit_parameter_gradients(struct plan *plan, const struct node *node, uint32_t sums)
{
	const struct tensor *output = output_of(plan, node);
	const uint32_t gamma = parameter_gradient(plan, node, NORM_GAMMA),
		       beta = parameter_gradient(plan, node, NORM_BETA);

	if (gamma == GRAPH_NO_TENSOR && beta == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "norm_parameter_gradients",
				.groups = { norm_per_column(output) },
				ARGUMENTS(IN(sums), argument_optional(gamma, ARGUMENT_OUT),
					  argument_optional(beta, ARGUMENT_OUT), INT(tensor_last(output))),
			});
}

/* ---- Export ---- */

void norm_export_scaled(struct export *out, const struct node *node, const char *centered, const char *spread)
{
	const char *factor[2] = { export_parameter(out, node, NORM_GAMMA),
				  export_parameter(out, node, NORM_BETA) };
	const char *result = export_output(out, node);
	const struct export_inner_name normal = export_inner(node, "normal"),
				       scaled = export_inner(node, "scaled");

	export_binary(out, EXPORT_DIVIDE, centered, spread, factor[0] || factor[1] ? normal.text : result);
	if (factor[0])
		export_binary(out, EXPORT_MULTIPLY, normal.text, factor[0], factor[1] ? scaled.text : result);
	if (factor[1])
		export_binary(out, EXPORT_ADD, factor[0] ? scaled.text : normal.text, factor[1], result);
}

struct export_inner_name norm_export_spread(struct export *out, const struct node *node, const char *variance,
					    double epsilon)
{
	const struct export_inner_name sum =
		export_with(out, node, EXPORT_ADD, variance, epsilon, "variance_epsilon");

	return export_of(out, node, EXPORT_SQRT, sum.text, "spread");
}

/* ---- References ---- */

struct norm_view norm_view_of(const struct op_reference *r)
{
	const struct tensor *output = graph_at(r->graph, r->node->output);

	return (struct norm_view){ .n = r->rows * tensor_outer(output),
				   .outer = tensor_outer(output),
				   .columns = tensor_last(output) };
}
