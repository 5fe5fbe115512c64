/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that look rows of a table up by number: see kernels/embedding.cl. */
#include "model/export_ops.h"
#include "model/ops/row.h"
#include "model/random.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of kernels/embedding.cl. */
#define EMBEDDING_GROUP 16u
#define BLOCK           16u
#define DIGITS          256u

/* Places that one work-item sorts, and that it looks at for first ones of an id. */
#define SORT_CHUNK(cpu)   ((cpu) ? 1024u : 64u)
#define GRADIENT_RUN(cpu) ((cpu) ? 64u : 1u)

enum { INPUT_DIM, OUTPUT_DIM, EMBEDDINGS_INITIALIZER, COMBINER };
enum { TABLE };
enum combiner { COMBINER_SUM, COMBINER_MEAN, COMBINER_SQRTN };

static const char *const combiner_names[] = { "sum", "mean", "sqrtn", NULL };

/* embedding has the first three. */
static const struct attribute_spec attributes[] = {
	[INPUT_DIM] = { "input_dim", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			.max = 1 << 28 },
	[OUTPUT_DIM] = { "output_dim", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			 .max = 1 << 16 },
	[EMBEDDINGS_INITIALIZER] = { "embeddings_initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,
				     .fallback_name = "uniform" },
	[COMBINER] = { "combiner", ATTRIBUTE_IS_NAME, .hashed = true, .names = combiner_names,
		       .fallback_name = "mean" },
};

static const struct parameter_spec parameters[] = {
	[TABLE] = { "embeddings", EMBEDDINGS_INITIALIZER, .only_if = -1,
		    .shape = { ATTRIBUTE_ITEM(INPUT_DIM, 0), ATTRIBUTE_ITEM(OUTPUT_DIM, 0) } },
};

/* A node's sizes: ids of a row (at most, of ragged rows), rows of the table, columns. */
struct sizes {
	uint64_t per_row, ids, columns, blocks;
};

static struct sizes sizes_of(const struct graph *graph, const struct node *node)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const uint64_t columns = (uint64_t)node->attribute[OUTPUT_DIM].i;

	return (struct sizes){ .per_row = input->rows ? input->elements : input->elements / graph->batch_rows,
			       .ids = (uint64_t)node->attribute[INPUT_DIM].i,
			       .columns = columns,
			       .blocks = (columns + BLOCK - 1) / BLOCK };
}

static enum combiner combiner_of(const struct node *node)
{
	enum combiner combiner = COMBINER_SUM;

	while (node->op->ragged && strcmp(combiner_names[combiner], node->attribute[COMBINER].s) != 0)
		combiner++;
	return combiner;
}

/* Kernels count places and the table's numbers in 32 bits. */
static int check_sizes(const struct graph *graph, const struct node *node, struct error *err)
{
	const struct sizes size = sizes_of(graph, node);

	if (size.ids * size.columns > INT32_MAX)
		return error_set(err, -EINVAL,
				 "found input_dim %" PRIu64 " times output_dim %" PRIu64
				 ", allowed: a table of at most %d numbers",
				 size.ids, size.columns, INT32_MAX);
	if (size.per_row > INT32_MAX / graph->batch_rows)
		return error_set(err, -EINVAL,
				 "found up to %" PRIu64 " ids in each of %" PRIu64
				 " rows, allowed: at most %d in a batch",
				 size.per_row, graph->batch_rows, INT32_MAX);
	return 0;
}

/* ---- Launches ---- */

static struct argument splits_of(const struct plan *plan, const struct node *node)
{
	return node->op->ragged ? (struct argument)IN(input_of(plan, node, 0)->splits)
				: (struct argument)AT(NULL);
}

static uint32_t work(struct plan *plan, const struct node *node, const char *name, uint64_t elements,
		     bool rows)
{
	const struct tensor shape = { .dtype = DTYPE_U32, .rank = 1, .shape = { elements }, .rows = rows };

	return plan_work(plan, node, name, &shape);
}

static struct extent per_row_and_block(const struct sizes *size)
{
	return (struct extent){ .per_row = size->blocks, .tile = EMBEDDING_GROUP };
}

/* Work-items that take `run` places each. */
static struct extent per_place(const struct sizes *size, uint64_t run)
{
	return (struct extent){ .per_row = size->per_row, .tile = EMBEDDING_GROUP * run };
}

static void emit_wrong(struct plan *plan, const struct node *node, uint32_t wrong, bool training)
{
	const struct graph *graph = plan->graph;

	plan_emit(plan, &(struct launch){
				.kernel = "wrong_ids",
				.arguments = 10,
				.argument = { IN(wrong), IN(node->input[0]), splits_of(plan, node),
					      INT(sizes_of(graph, node).per_row), AT(ROWS),
					      UINT((uint32_t)(node - graph->node)), AT(FIRST_ROW), AT(STEP),
					      INT(training), INOUT(graph->fault) },
			});
}

/* What the gradient is made with: ids and sources, twice for the passes of the sort. */
struct sorted {
	uint32_t key[2], source[2], count, digits, passes;
};

static struct sorted sorted_of(struct plan *plan, const struct node *node, const struct sizes *size)
{
	const uint64_t chunk = SORT_CHUNK(plan->cpu),
		       chunks = (plan->graph->batch_rows * size->per_row + chunk - 1) / chunk;
	struct sorted sorted = { .passes = 1 };

	sorted.key[0] = work(plan, node, "keys", size->per_row, true);
	sorted.key[1] = work(plan, node, "keys_moved", size->per_row, true);
	sorted.source[0] = work(plan, node, "sources", size->per_row, true);
	sorted.source[1] = work(plan, node, "sources_moved", size->per_row, true);
	sorted.count = work(plan, node, "count", 1, false);
	sorted.digits = work(plan, node, "digits", chunks * DIGITS, false);
	while (size->ids >> (8 * sorted.passes))
		sorted.passes++;
	return sorted;
}

static void emit_sort(struct plan *plan, const struct sizes *size, const struct sorted *sorted)
{
	const uint32_t chunk = SORT_CHUNK(plan->cpu);

	for (uint32_t pass = 0; pass < sorted->passes; pass++) {
		const uint32_t from = pass % 2, to = 1 - from;

		plan_emit(plan, &(struct launch){
					.kernel = "sort_count",
					.groups = { per_place(size, chunk) },
					.arguments = 5,
					.argument = { IN(sorted->key[from]), IN(sorted->count),
						      OUT(sorted->digits), INT(8 * pass), INT(chunk) },
				});
		plan_emit(plan, &(struct launch){
					.kernel = "sort_places",
					.arguments = 3,
					.argument = { IN(sorted->count), INOUT(sorted->digits), INT(chunk) },
				});
		plan_emit(plan, &(struct launch){
					.kernel = "sort_move",
					.groups = { per_place(size, chunk) },
					.arguments = 8,
					.argument = { IN(sorted->key[from]), IN(sorted->source[from]),
						      OUT(sorted->key[to]), OUT(sorted->source[to]),
						      IN(sorted->count), INOUT(sorted->digits), INT(8 * pass),
						      INT(chunk) },
				});
	}
}

/* Penalties and accumulation write gradients of rows that no id names. */
static bool all_is_written(const struct graph *graph, const struct tensor *table)
{
	return table->l1 > 0 || table->l2 > 0 || graph->config->optimizer.gradient_accumulation_steps > 1;
}

static void emit_clear(struct plan *plan, const struct node *node, const struct sizes *size,
		       const struct sorted *sorted)
{
	const uint32_t gradient = parameter_gradient(plan, node, TABLE);
	const uint64_t elements = size->ids * size->columns, run = GRADIENT_RUN(plan->cpu);

	if (all_is_written(plan->graph, graph_at(plan->graph, node->parameter[TABLE])))
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "embedding_clear_all",
				  .groups = { { .constant = elements, .tile = BLOCK * EMBEDDING_GROUP } },
				  .arguments = 2,
				  .argument = { OUT(gradient), UINT((uint32_t)elements) },
			  });
	else
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "embedding_clear",
				  /* The step before may have had all rows. */
				  .groups = { { .constant = plan->graph->batch_rows * size->per_row,
						.tile = EMBEDDING_GROUP * run } },
				  .arguments = 6,
				  .argument = { IN(sorted->key[sorted->passes % 2]), IN(sorted->count),
						OUT(gradient), INT(size->ids), INT(size->columns), INT(run) },
			  });
}

static void backward(struct plan *plan, const struct node *node)
{
	const struct sizes size = sizes_of(plan->graph, node);
	const uint32_t gradient = parameter_gradient(plan, node, TABLE), run = GRADIENT_RUN(plan->cpu);
	const struct argument splits = splits_of(plan, node);
	struct sorted sorted;

	if (gradient == GRAPH_NO_TENSOR)
		return;
	sorted = sorted_of(plan, node, &size);
	emit_clear(plan, node, &size, &sorted);
	plan_emit(plan, &(struct launch){
				.kernel = "embedding_keys",
				.groups = { { .per_row = 1, .tile = EMBEDDING_GROUP } },
				.arguments = 8,
				.argument = { IN(node->input[0]), splits, INT(size.per_row), AT(ROWS),
					      INT(size.ids), OUT(sorted.key[0]), OUT(sorted.source[0]),
					      OUT(sorted.count) },
			});
	emit_sort(plan, &size, &sorted);
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "embedding_gradient",
			  .groups = { per_place(&size, run) },
			  .arguments = 10,
			  .argument = { IN(sorted.key[sorted.passes % 2]),
					IN(sorted.source[sorted.passes % 2]), IN(sorted.count), splits,
					IN(output_of(plan, node)->gradient), OUT(gradient), INT(size.ids),
					INT(size.columns), INT(combiner_of(node)), INT(run) },
		  });
}

static struct touched touched(struct plan *plan, const struct node *node)
{
	const struct sizes size = sizes_of(plan->graph, node);
	const struct sorted sorted = sorted_of(plan, node, &size);

	return (struct touched){ .key = sorted.key[sorted.passes % 2],
				 .count = sorted.count,
				 .per_row = size.per_row,
				 .group = EMBEDDING_GROUP,
				 .run = GRADIENT_RUN(plan->cpu),
				 .ids = size.ids,
				 .columns = size.columns };
}

/* ---- References: `place` is a row of dy, `share` what an id of it counts ---- */

static void refer(const struct op_reference *r, int64_t id, uint64_t place, double share)
{
	const uint64_t columns = (uint64_t)r->node->attribute[OUTPUT_DIM].i;

	for (uint64_t c = 0; c < columns; c++) {
		const uint64_t number = (uint64_t)id * columns + c;

		r->y[place * columns + c] += share * r->parameter[TABLE][number];
		if (r->dy && r->dparameter[TABLE])
			r->dparameter[TABLE][number] += share * r->dy[place * columns + c];
	}
}

static void start(const struct op_reference *r)
{
	const struct sizes size = sizes_of(r->graph, r->node);

	memset(r->y, 0, r->rows * r->outputs * sizeof(*r->y));
	if (r->dy && r->dparameter[TABLE])
		memset(r->dparameter[TABLE], 0, size.ids * size.columns * sizeof(*r->y));
}

/* ---- embedding: the row of each id ---- */

static int embedding_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			   struct error *err)
{
	char text[SHAPE_TEXT_BYTES];

	(void)same_shape(graph, node, output, err);
	if (output->rank == CONFIG_SHAPE_MAX)
		return error_set(err, -EINVAL, "found '%s' of shape %s, allowed: at most %u dimensions",
				 graph_at(graph, node->input[0])->name, shape_text(output, text),
				 CONFIG_SHAPE_MAX - 1);
	output->shape[output->rank++] = (uint64_t)node->attribute[OUTPUT_DIM].i;
	return check_sizes(graph, node, err);
}

static void embedding_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct sizes size = sizes_of(plan->graph, node);
	const uint32_t wrong = work(plan, node, "wrong", 1, true);

	plan_emit(plan, &(struct launch){
				.kernel = "look_up",
				.groups = { per_row_and_block(&size) },
				.arguments = 8,
				.argument = { IN(node->parameter[TABLE]), IN(node->input[0]),
					      OUT(node->output), OUT(wrong), AT(ROWS), INT(size.per_row),
					      INT(size.ids), INT(size.columns) },
			});
	emit_wrong(plan, node, wrong, training);
}

static void embedding_reference(const struct op_reference *r)
{
	start(r);
	for (uint64_t place = 0; place < r->rows * r->inputs; place++)
		refer(r, (int64_t)r->x[0][place], place, 1);
}

static void embedding_export(struct export *out, const struct node *node)
{
	export_binary(out, EXPORT_GATHER, export_parameter(out, node, TABLE), export_input(out, node, 0),
		      export_output(out, node));
}

const struct op op_embedding = {
	.name = "embedding",
	.inputs = 1,
	.reads = DTYPE_I64,
	.attributes = COMBINER,
	.attribute = attributes,
	.parameters = COUNT(parameters),
	.parameter = parameters,
	.shape = embedding_shape,
	.forward = embedding_forward,
	.backward = backward,
	.touched = touched,
	.reference = embedding_reference,
	.export = embedding_export,
};

/* ---- embedding_bag: one row of all ids of a ragged row ---- */

static int bag_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err)
{
	output->rank = 1;
	output->shape[0] = (uint64_t)node->attribute[OUTPUT_DIM].i;
	return check_sizes(graph, node, err);
}

static void bag_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct sizes size = sizes_of(plan->graph, node);
	const uint32_t wrong = work(plan, node, "wrong", 1, true);

	plan_emit(plan, &(struct launch){
				.kernel = "bag",
				.groups = { per_row_and_block(&size) },
				.arguments = 9,
				.argument = { IN(node->parameter[TABLE]), IN(node->input[0]),
					      splits_of(plan, node), OUT(node->output), OUT(wrong), AT(ROWS),
					      INT(size.ids), INT(size.columns), INT(combiner_of(node)) },
			});
	emit_wrong(plan, node, wrong, training);
}

static void bag_reference(const struct op_reference *r)
{
	const enum combiner combiner = combiner_of(r->node);

	start(r);
	for (uint64_t row = 0; row < r->rows; row++) {
		const uint64_t first = (uint64_t)r->splits[row], end = (uint64_t)r->splits[row + 1];
		const double n = (double)(end - first);
		const double share = combiner == COMBINER_MEAN    ? 1 / n
				     : combiner == COMBINER_SQRTN ? 1 / sqrt(n)
								  : 1;

		for (uint64_t i = first; i < end; i++)
			refer(r, (int64_t)r->x[0][i], row, share);
	}
}

/* kind(a, b, c) of dtype -> "<layer>/<part>". */
static struct export_part_name part_of(struct export *out, const struct node *node, enum dtype dtype,
				       enum export_kind kind, const char *a, const char *b, const char *c,
				       const char *part)
{
	const struct export_part_name name = export_part(node, part);

	export_node(out, &(struct export_node){
				 .kind = kind, .dtype = dtype, .output = name.text, .input = { a, b, c } });
	return name;
}

static struct export_part_name whole(struct export *out, const struct node *node, const char *part,
				     int64_t value, bool list)
{
	const struct export_part_name name = export_part(node, part);

	export_whole(out, name.text, value, list);
	return name;
}

/* What the bag's graph is made of: names of int64 constants, and of the splits without the first and the
 * last. */
struct bag {
	struct export_part_name zero, one, zero_list, one_list, last, behind, column, begins, ends;
};

static struct bag bag_parts(struct export *out, const struct node *node, const char *splits)
{
	const struct export_part_name column = export_part(node, "column");
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
	bag.begins = part_of(out, node, DTYPE_I64, EXPORT_SLICE, splits, bag.zero_list.text, bag.last.text,
			     "begins");
	bag.ends = part_of(out, node, DTYPE_I64, EXPORT_SLICE, splits, bag.one_list.text, bag.behind.text,
			   "ends");
	return bag;
}

/* Of each value the row that it is of, [n, 1]: how many rows end at it or before, which a sum of marks at the
 * ends tells; behind the last split it is the number of rows. */
static struct export_part_name bag_rows(struct export *out, const struct node *node, const struct bag *bag,
					const char *values)
{
	const enum dtype i64 = DTYPE_I64;
	const struct export_part_name
		count = part_of(out, node, i64, EXPORT_SHAPE, values, NULL, NULL, "count"),
		room = part_of(out, node, i64, EXPORT_ADD, count.text, bag->one_list.text, NULL, "room"),
		zeros = part_of(out, node, i64, EXPORT_EXPAND, bag->zero.text, room.text, NULL, "zeros"),
		rows = part_of(out, node, i64, EXPORT_SHAPE, bag->ends.text, NULL, NULL, "rows"),
		ones = part_of(out, node, i64, EXPORT_EXPAND, bag->one.text, rows.text, NULL, "ones"),
		places = part_of(out, node, i64, EXPORT_RESHAPE, bag->ends.text, bag->column.text, NULL,
				 "places"),
		marks = part_of(out, node, i64, EXPORT_SCATTER_ADD, zeros.text, places.text, ones.text,
				"marks"),
		sums = part_of(out, node, i64, EXPORT_CUMULATIVE_SUM, marks.text, bag->zero.text, NULL,
			       "ended"),
		ended = part_of(out, node, i64, EXPORT_SLICE, sums.text, bag->zero_list.text, bag->last.text,
				"row");

	return part_of(out, node, i64, EXPORT_RESHAPE, ended.text, bag->column.text, NULL, "row_of");
}

/* Rows of the table added up, with one row more for what is behind the last split. */
static struct export_part_name bag_sums(struct export *out, const struct node *node, const struct bag *bag,
					const char *values, const char *splits)
{
	const struct export_part_name of = bag_rows(out, node, bag, values),
				      found = export_both(out, node, EXPORT_GATHER,
							  export_parameter(out, node, TABLE), values,
							  "found"),
				      all = part_of(out, node, DTYPE_I64, EXPORT_SHAPE, splits, NULL, NULL,
						    "all"),
				      columns = whole(out, node, "columns", node->attribute[OUTPUT_DIM].i,
						      true),
				      shape = export_part(node, "shape"),
				      nothing = export_part(node, "nothing");

	export_node(out, &(struct export_node){ .kind = EXPORT_CONCATENATE,
						.dtype = DTYPE_I64,
						.output = shape.text,
						.input = { all.text, columns.text },
						.axis_count = 1 });
	export_number(out, nothing.text, 0);
	return part_of(out, node, DTYPE_F32, EXPORT_SCATTER_ADD,
		       export_both(out, node, EXPORT_EXPAND, nothing.text, shape.text, "empty").text, of.text,
		       found.text, "sums");
}

/* What a row's sum is divided by, [rows, 1]: max(n, 1) = 1 + relu(n - 1), or its root. */
static struct export_part_name bag_counts(struct export *out, const struct node *node, const struct bag *bag)
{
	const struct export_part_name ids = part_of(out, node, DTYPE_I64, EXPORT_SUBTRACT, bag->ends.text,
						    bag->begins.text, NULL, "ids"),
				      lengths = part_of(out, node, DTYPE_I64, EXPORT_FLOAT, ids.text, NULL,
							NULL, "lengths"),
				      turned = export_both(out, node, EXPORT_RESHAPE, lengths.text,
							   bag->column.text, "turned"),
				      more = export_with(out, node, EXPORT_SUBTRACT, turned.text, 1, "more"),
				      most = export_of(out, node, EXPORT_RELU, more.text, "most"),
				      counts = export_with(out, node, EXPORT_ADD, most.text, 1, "counts");

	return combiner_of(node) == COMBINER_MEAN ? counts
						  : export_of(out, node, EXPORT_SQRT, counts.text, "roots");
}

static void bag_export(struct export *out, const struct node *node)
{
	const char *values = export_input(out, node, 0),
		   *splits = export_tensor(out, export_tensor(out, node->input[0])->splits)->name,
		   *output = export_output(out, node);
	const struct bag bag = bag_parts(out, node, splits);
	const struct export_part_name sums = bag_sums(out, node, &bag, values, splits),
				      sum = export_part(node, "sum");
	const bool is_sum = combiner_of(node) == COMBINER_SUM;

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
	.attributes = COUNT(attributes),
	.attribute = attributes,
	.parameters = COUNT(parameters),
	.parameter = parameters,
	.shape = bag_shape,
	.forward = bag_forward,
	.backward = backward,
	.touched = touched,
	.reference = bag_reference,
	.export = bag_export,
};
