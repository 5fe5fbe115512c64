/* SPDX-License-Identifier: Apache-2.0 */
/* Layer embedding_bag: one output row for all ids of a ragged row. */
#include "model/layers/embedding.h"

#include <math.h>

static int bag_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err)
{
	output->rank = 1;
	output->shape[0] = (uint64_t)node->attribute[OUTPUT_DIM].i;
	return embedding_check_sizes(graph, node, err);
}

static void bag_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct embedding_sizes size = embedding_sizes_of(plan->graph, node);
	const uint32_t wrong = embedding_wrong(plan, node);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = plan->cpu ? "bag" : "bag_quads",
			  .groups = { embedding_per_row(plan, &size, 1) },
			  ARGUMENTS(IN(node->parameter[TABLE]), IN(node->input[0]),
				    embedding_splits(plan, node), OUT(node->output), OUT(wrong), AT(ROWS),
				    INT(size.ids), INT(size.columns), INT(embedding_combiner(node))),
		  });
	embedding_emit_wrong(plan, node, wrong, training);
}

static void bag_reference(const struct op_reference *r)
{
	const enum combiner combiner = embedding_combiner(r->node);

	embedding_refer_start(r);
	for (uint64_t row = 0; row < r->rows; row++) {
		const uint64_t first = (uint64_t)r->splits[row], end = (uint64_t)r->splits[row + 1];
		const double n = (double)(end - first);
		const double share = combiner == COMBINER_MEAN    ? 1 / n
				     : combiner == COMBINER_SQRTN ? 1 / sqrt(n)
								  : 1;

		for (uint64_t i = first; i < end; i++)
			embedding_refer(r, (int64_t)r->x[0][i], row, share);
	}
}

/* Exports the operation kind(a, b, c) of type dtype. Returns the name of its result, "<layer>/<step>". */
static struct export_inner_name step_of(struct export *out, const struct node *node, enum dtype dtype,
					enum export_kind kind, const char *a, const char *b, const char *c,
					const char *step)
{
	const struct export_inner_name name = export_inner(node, step);

	export_node(out, &(struct export_node){
				 .kind = kind, .dtype = dtype, .output = name.text, .input = { a, b, c } });
	return name;
}

static struct export_inner_name whole(struct export *out, const struct node *node, const char *step,
				      int64_t value, bool list)
{
	const struct export_inner_name name = export_inner(node, step);

	export_int64(out, name.text, value, list);
	return name;
}

/* Names of values that the exported operations of a bag read: int64 constants; `begins` is the splits without
 * the last split, `ends` the splits without the first. */
struct bag {
	struct export_inner_name zero, one, zero_list, one_list, last, behind, column, begins, ends;
};

static struct bag bag_values(struct export *out, const struct node *node, const char *splits)
{
	const struct export_inner_name column = export_inner(node, "column");
	const int64_t shape[] = { -1, 1 };
	const uint64_t two = 2;
	struct bag bag = {
		.zero = whole(out, node, "0", 0, false),
		.one = whole(out, node, "1", 1, false),
		.zero_list = whole(out, node, "begin", 0, true),
		.one_list = whole(out, node, "second", 1, true),
		.last = whole(out, node, "last", -1, true),
		.behind = whole(out, node, "end", INT64_MAX, true),
		.column = column,
	};

	export_constant(
		out,
		&(struct export_constant){
			.name = column.text, .dtype = DTYPE_I64, .rank = 1, .shape = &two, .data = shape });
	bag.begins = step_of(out, node, DTYPE_I64, EXPORT_SLICE, splits, bag.zero_list.text, bag.last.text,
			     "begins");
	bag.ends = step_of(out, node, DTYPE_I64, EXPORT_SLICE, splits, bag.one_list.text, bag.behind.text,
			   "ends");
	return bag;
}

/* Exports the index of the row to which each value belongs, [n, 1]. The index is the number of rows that end
 * at this value or before it, computed as a cumulative sum of marks at the ends of the rows. For values after
 * the last split the index is the number of rows. */
static struct export_inner_name bag_rows(struct export *out, const struct node *node, const struct bag *bag,
					 const char *values)
{
	const enum dtype i64 = DTYPE_I64;
	const struct export_inner_name
		count = step_of(out, node, i64, EXPORT_SHAPE, values, NULL, NULL, "count"),
		longer = step_of(out, node, i64, EXPORT_ADD, count.text, bag->one_list.text, NULL, "room"),
		zeros = step_of(out, node, i64, EXPORT_EXPAND, bag->zero.text, longer.text, NULL, "zeros"),
		rows = step_of(out, node, i64, EXPORT_SHAPE, bag->ends.text, NULL, NULL, "rows"),
		ones = step_of(out, node, i64, EXPORT_EXPAND, bag->one.text, rows.text, NULL, "ones"),
		positions = step_of(out, node, i64, EXPORT_RESHAPE, bag->ends.text, bag->column.text, NULL,
				    "places"),
		marks = step_of(out, node, i64, EXPORT_SCATTER_ADD, zeros.text, positions.text, ones.text,
				"marks"),
		sums = step_of(out, node, i64, EXPORT_CUMULATIVE_SUM, marks.text, bag->zero.text, NULL,
			       "ended"),
		ended = step_of(out, node, i64, EXPORT_SLICE, sums.text, bag->zero_list.text, bag->last.text,
				"row");

	return step_of(out, node, i64, EXPORT_RESHAPE, ended.text, bag->column.text, NULL, "row_of");
}

/* Exports the sum of the rows of the table for each row of the batch. One more row at the end sums the values
 * after the last split, which are not used. */
static struct export_inner_name bag_sums(struct export *out, const struct node *node, const struct bag *bag,
					 const char *values, const char *splits)
{
	const struct export_inner_name of = bag_rows(out, node, bag, values),
				       found = export_both(out, node, EXPORT_GATHER,
							   export_parameter(out, node, TABLE), values,
							   "found"),
				       all = step_of(out, node, DTYPE_I64, EXPORT_SHAPE, splits, NULL, NULL,
						     "all"),
				       columns = whole(out, node, "columns", node->attribute[OUTPUT_DIM].i,
						       true),
				       shape = export_inner(node, "shape"),
				       nothing = export_inner(node, "nothing");

	export_node(out, &(struct export_node){ .kind = EXPORT_CONCATENATE,
						.dtype = DTYPE_I64,
						.output = shape.text,
						.input = { all.text, columns.text },
						.axis_count = 1 });
	export_float(out, nothing.text, 0);
	return step_of(out, node, DTYPE_F32, EXPORT_SCATTER_ADD,
		       export_both(out, node, EXPORT_EXPAND, nothing.text, shape.text, "empty").text, of.text,
		       found.text, "sums");
}

/* Exports the divisor of the sum of each row, [rows, 1]: max(n, 1), written as 1 + relu(n - 1), or its square
 * root. */
static struct export_inner_name bag_counts(struct export *out, const struct node *node, const struct bag *bag)
{
	const struct export_inner_name ids = step_of(out, node, DTYPE_I64, EXPORT_SUBTRACT, bag->ends.text,
						     bag->begins.text, NULL, "ids"),
				       lengths = step_of(out, node, DTYPE_I64, EXPORT_FLOAT, ids.text, NULL,
							 NULL, "lengths"),
				       turned = export_both(out, node, EXPORT_RESHAPE, lengths.text,
							    bag->column.text, "turned"),
				       more = export_with(out, node, EXPORT_SUBTRACT, turned.text, 1, "more"),
				       most = export_of(out, node, EXPORT_RELU, more.text, "most"),
				       counts = export_with(out, node, EXPORT_ADD, most.text, 1, "counts");

	return embedding_combiner(node) == COMBINER_MEAN
		       ? counts
		       : export_of(out, node, EXPORT_SQRT, counts.text, "roots");
}

static void bag_export(struct export *out, const struct node *node)
{
	const char *values = export_input(out, node, 0),
		   *splits = export_tensor(out, export_tensor(out, node->input[0])->splits)->name,
		   *output = export_output(out, node);
	const struct bag bag = bag_values(out, node, splits);
	const struct export_inner_name sums = bag_sums(out, node, &bag, values, splits),
				       sum = export_inner(node, "sum");
	const bool is_sum = embedding_combiner(node) == COMBINER_SUM;

	export_node(out, &(struct export_node){ .kind = EXPORT_SLICE,
						.output = is_sum ? output : sum.text,
						.input = { sums.text, bag.zero_list.text, bag.last.text } });
	if (!is_sum)
		export_binary(out, EXPORT_DIVIDE, sum.text, bag_counts(out, node, &bag).text, output);
}

const struct op op_embedding_bag = {
	.name = "embedding_bag",
	.inputs = 1,
	.reads = DTYPE_I64,
	.ragged = true,
	.attributes = EMBEDDING_BAG_ATTRIBUTES,
	.attribute = embedding_bag_attributes,
	.parameters = EMBEDDING_PARAMETERS,
	.parameter = embedding_parameters,
	.shape = bag_shape,
	.forward = bag_forward,
	.backward = embedding_backward,
	.touched = embedding_touched,
	.reference = bag_reference,
	.export = bag_export,
};
