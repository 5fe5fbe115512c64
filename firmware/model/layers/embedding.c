/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/embedding.h"
#include "model/graph/random.h"
#include "model/plan/round.h"

#include <inttypes.h>
#include <string.h>

/* kernels/embedding.cl has the same numbers. */
#define EMBEDDING_GROUP 16u
#define BLOCK           16u
#define DIGITS          256u

/* In how many sorted ids a work-item of a CPU device looks for the first of each id. */
#define GRADIENT_RUN 64u
/* The places and columns of a group that sums segments, and the columns of a group that joins them. */
#define SEGMENT         64u
#define SEGMENT_COLUMNS 16u
#define JOIN_COLUMNS    64u

/* How many ids a work-item sorts. */
#define SORT_CHUNK(cpu) ((cpu) ? 1024u : 64u)

static const char *const combiner_names[] = { "sum", "mean", "sqrtn", NULL };

#define SHARED_ATTRIBUTES                                                         \
	[INPUT_DIM] = { "input_dim",    ATTRIBUTE_IS_INT, .required = true,       \
			.hashed = true, .min = 1,         .max = 1 << 28 },       \
	[OUTPUT_DIM] = { "output_dim",   ATTRIBUTE_IS_INT, .required = true,      \
			 .hashed = true, .min = 1,         .max = 1 << 16 },      \
	[EMBEDDINGS_INITIALIZER] = { "embeddings_initializer", ATTRIBUTE_IS_NAME, \
				     .names = initializer_names, .fallback_name = "uniform" }

static const struct attribute_spec embedding_attributes[] = {
	SHARED_ATTRIBUTES,
	[MASK_ZERO] = { "mask_zero", ATTRIBUTE_IS_BOOL, .hashed = true, .hashed_if_given = true },
};
const struct attribute_spec embedding_bag_attributes[EMBEDDING_BAG_ATTRIBUTES] = {
	SHARED_ATTRIBUTES,
	[COMBINER] = { "combiner", ATTRIBUTE_IS_NAME, .hashed = true, .names = combiner_names,
		       .fallback_name = "mean" },
};

const struct parameter_spec embedding_parameters[EMBEDDING_PARAMETERS] = {
	[TABLE] = { "embeddings", EMBEDDINGS_INITIALIZER, .only_if = -1,
		    .shape = { ATTRIBUTE_ITEM(INPUT_DIM, 0), ATTRIBUTE_ITEM(OUTPUT_DIM, 0) } },
};

struct embedding_sizes embedding_sizes_of(const struct graph *graph, const struct node *node)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const uint64_t columns = (uint64_t)node->attribute[OUTPUT_DIM].i;

	return (struct embedding_sizes){ .per_row = input->rows ? input->elements
								: input->elements / graph->batch_rows,
					 .ids = (uint64_t)node->attribute[INPUT_DIM].i,
					 .columns = columns };
}

enum combiner embedding_combiner(const struct node *node)
{
	enum combiner combiner = COMBINER_SUM;

	while (node->op->ragged && strcmp(combiner_names[combiner], node->attribute[COMBINER].s) != 0)
		combiner++;
	return combiner;
}

int embedding_check_sizes(const struct graph *graph, const struct node *node, struct error *err)
{
	const struct embedding_sizes size = embedding_sizes_of(graph, node);

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

struct argument embedding_splits(const struct plan *plan, const struct node *node)
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

/* Returns the work-groups for `rows` rows of the table for each row of the batch, if an item takes a quad. */
static struct extent per_quad(const struct embedding_sizes *size, uint64_t rows)
{
	return (struct extent){ .per_row = rows * divide_up(size->columns, 4), .tile = ELEMENT_GROUP };
}

struct extent embedding_per_row(const struct plan *plan, const struct embedding_sizes *size, uint64_t rows)
{
	return plan->cpu ? (struct extent){ .per_row = divide_up(size->columns, BLOCK),
					    .tile = EMBEDDING_GROUP }
			 : per_quad(size, rows);
}

uint32_t embedding_wrong(struct plan *plan, const struct node *node)
{
	return work(plan, node, "wrong", 1, true);
}

/* Returns the work-groups for all ids of a batch if each work-item handles `run` ids. */
static struct extent per_id(const struct embedding_sizes *size, uint64_t run)
{
	return (struct extent){ .per_row = size->per_row, .tile = EMBEDDING_GROUP * run };
}

/* Returns the work-groups that clear or update the rows of all ids of a batch. */
static struct extent per_touched(const struct plan *plan, const struct embedding_sizes *size)
{
	return plan->cpu ? per_id(size, GRADIENT_RUN) : per_quad(size, size->per_row);
}

void embedding_emit_wrong(struct plan *plan, const struct node *node, uint32_t wrong, bool training)
{
	const struct graph *graph = plan->graph;

	plan_emit(plan, &(struct launch){
				.kernel = "wrong_ids",
				ARGUMENTS(IN(wrong), IN(node->input[0]), embedding_splits(plan, node),
					  INT(embedding_sizes_of(graph, node).per_row), AT(ROWS),
					  UINT((uint32_t)(node - graph->node)), AT(FIRST_ROW), AT(STEP),
					  INT(training), INOUT(graph->fault)),
			});
}

/* Scratch tensors of the gradient. There are two tensors of ids (key) and two of their sources, because each
 * pass of the sort moves ids and sources from one tensor to the other. */
struct sorted {
	uint32_t key[2], source[2], count, digits, passes;
};

static struct sorted sorted_of(struct plan *plan, const struct node *node, const struct embedding_sizes *size)
{
	const uint64_t chunks = divide_up(plan->graph->batch_rows * size->per_row, SORT_CHUNK(plan->cpu));
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

static void emit_sort(struct plan *plan, const struct embedding_sizes *size, const struct sorted *sorted)
{
	const uint32_t chunk = SORT_CHUNK(plan->cpu);

	for (uint32_t pass = 0; pass < sorted->passes; pass++) {
		const uint32_t from = pass % 2, to = 1 - from;

		plan_emit(plan, &(struct launch){
					.kernel = "sort_count",
					.groups = { per_id(size, chunk) },
					ARGUMENTS(IN(sorted->key[from]), IN(sorted->count),
						  OUT(sorted->digits), INT(8 * pass), INT(chunk)),
				});
		plan_emit(plan, &(struct launch){
					.kernel = "sort_places",
					ARGUMENTS(IN(sorted->count), INOUT(sorted->digits), INT(chunk)),
				});
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "sort_move",
				  .groups = { per_id(size, chunk) },
				  ARGUMENTS(IN(sorted->key[from]), IN(sorted->source[from]),
					    OUT(sorted->key[to]), OUT(sorted->source[to]), IN(sorted->count),
					    INOUT(sorted->digits), INT(8 * pass), INT(chunk)),
			  });
	}
}

/* Returns whether a step writes all rows of the gradient, not only those of the ids in the batch: with
 * penalties, accumulation or several micro-batches it does. */
static bool all_is_written(const struct graph *graph, const struct tensor *table)
{
	return table->l1 > 0 || table->l2 > 0 || graph->config->optimizer.gradient_accumulation_steps > 1 ||
	       graph->parts > 1;
}

/* Returns the work-groups for a full batch, also if this batch is smaller: the step before may have been
 * full. */
static struct extent full_batch(const struct plan *plan, struct extent extent)
{
	return (struct extent){ .fixed = plan->graph->batch_rows * extent.per_row, .tile = extent.tile };
}

static void emit_clear(struct plan *plan, const struct node *node, const struct embedding_sizes *size,
		       const struct sorted *sorted)
{
	const uint32_t gradient = parameter_gradient(plan, node, TABLE);
	const uint64_t elements = size->ids * size->columns;

	if (all_is_written(plan->graph, graph_at(plan->graph, node->parameter[TABLE])))
		plan_emit(plan, &(struct launch){
					.kernel = "embedding_clear_all",
					.groups = { { .fixed = elements, .tile = BLOCK * EMBEDDING_GROUP } },
					ARGUMENTS(OUT(gradient), UINT((uint32_t)elements)),
				});
	else
		plan_emit(plan, &(struct launch){
					.kernel = plan->cpu ? "embedding_clear" : "embedding_clear_quads",
					.groups = { full_batch(plan, per_touched(plan, size)) },
					ARGUMENTS(IN(sorted->key[sorted->passes % 2]), IN(sorted->count),
						  OUT(gradient), INT(size->ids), INT(size->columns)),
				});
}

/* Appends the launch that adds up the sources of each id, on a CPU device. */
static void emit_sums(struct plan *plan, const struct node *node, const struct embedding_sizes *size,
		      const struct sorted *sorted, uint32_t gradient)
{
	plan_emit(plan, &(struct launch){
				.kernel = "embedding_gradient",
				.groups = { per_id(size, GRADIENT_RUN) },
				ARGUMENTS(IN(sorted->key[sorted->passes % 2]),
					  IN(sorted->source[sorted->passes % 2]), IN(sorted->count),
					  embedding_splits(plan, node), IN(output_of(plan, node)->gradient),
					  OUT(gradient), INT(size->ids), INT(size->columns),
					  INT(embedding_combiner(node))),
			});
}

/* The same on a GPU, by segments. If all places are one block, no id has a second segment. */
static void emit_segments(struct plan *plan, const struct node *node, const struct embedding_sizes *size,
			  const struct sorted *sorted, uint32_t gradient)
{
	const uint64_t blocks = divide_up(plan->graph->batch_rows * size->per_row, SEGMENT);
	const struct tensor shape = { .rank = 2, .shape = { blocks, round_up(size->columns, 4) } };
	const uint32_t key = sorted->key[sorted->passes % 2],
		       partial = plan_work(plan, node, "segments", &shape);
	const struct extent block = { .per_row = size->per_row, .tile = SEGMENT };

	plan_emit(plan, &(struct launch){
				.kernel = "embedding_segments",
				.groups = { block, { .fixed = size->columns, .tile = SEGMENT_COLUMNS } },
				ARGUMENTS(IN(key), IN(sorted->source[sorted->passes % 2]), IN(sorted->count),
					  embedding_splits(plan, node), IN(output_of(plan, node)->gradient),
					  OUT(gradient), OUT(partial), INT(size->ids), INT(size->columns),
					  INT(embedding_combiner(node))),
			});
	if (blocks > 1)
		plan_emit(plan, &(struct launch){
					.kernel = "embedding_join",
					.groups = { block, { .fixed = size->columns, .tile = JOIN_COLUMNS } },
					ARGUMENTS(IN(key), IN(sorted->count), IN(partial), INOUT(gradient),
						  INT(size->ids), INT(size->columns)),
				});
}

void embedding_backward(struct plan *plan, const struct node *node)
{
	const struct embedding_sizes size = embedding_sizes_of(plan->graph, node);
	const uint32_t gradient = parameter_gradient(plan, node, TABLE);
	const struct argument splits = embedding_splits(plan, node);
	struct sorted sorted;

	if (gradient == GRAPH_NO_TENSOR)
		return;
	sorted = sorted_of(plan, node, &size);
	emit_clear(plan, node, &size, &sorted);
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "embedding_keys",
			  .groups = { { .per_row = 1, .tile = EMBEDDING_GROUP } },
			  ARGUMENTS(IN(node->input[0]), splits, INT(size.per_row), AT(ROWS), INT(size.ids),
				    OUT(sorted.key[0]), OUT(sorted.source[0]), OUT(sorted.count)),
		  });
	emit_sort(plan, &size, &sorted);
	if (plan->cpu)
		emit_sums(plan, node, &size, &sorted, gradient);
	else
		emit_segments(plan, node, &size, &sorted, gradient);
}

struct touched embedding_touched(struct plan *plan, const struct node *node)
{
	const struct embedding_sizes size = embedding_sizes_of(plan->graph, node);
	const struct sorted sorted = sorted_of(plan, node, &size);
	const struct extent groups = per_touched(plan, &size);

	return (struct touched){ .key = sorted.key[sorted.passes % 2],
				 .count = sorted.count,
				 .per_row = groups.per_row,
				 .tile = groups.tile,
				 .ids = size.ids,
				 .columns = size.columns };
}

/* ---- References ---- */

void embedding_refer(const struct op_reference *r, int64_t id, uint64_t position, double share)
{
	const uint64_t columns = (uint64_t)r->node->attribute[OUTPUT_DIM].i;

	for (uint64_t c = 0; c < columns; c++) {
		const uint64_t number = (uint64_t)id * columns + c;

		r->y[position * columns + c] += share * r->parameter[TABLE][number];
		if (r->dy && r->dparameter[TABLE])
			r->dparameter[TABLE][number] += share * r->dy[position * columns + c];
	}
}

void embedding_refer_start(const struct op_reference *r)
{
	const struct embedding_sizes size = embedding_sizes_of(r->graph, r->node);

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
	if (node->attribute[MASK_ZERO].b && output->rank != 1)
		return error_set(err, -EINVAL, "found '%s' of shape %s, allowed with mask_zero: [steps]",
				 graph_at(graph, node->input[0])->name, shape_text(output, text));
	if (node->attribute[MASK_ZERO].b)
		output->mask = node->input[0];
	output->shape[output->rank++] = (uint64_t)node->attribute[OUTPUT_DIM].i;
	return embedding_check_sizes(graph, node, err);
}

static void embedding_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct embedding_sizes size = embedding_sizes_of(plan->graph, node);
	const uint32_t wrong = embedding_wrong(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "look_up" : "look_up_quads",
				.groups = { embedding_per_row(plan, &size, size.per_row) },
				ARGUMENTS(IN(node->parameter[TABLE]), IN(node->input[0]), OUT(node->output),
					  OUT(wrong), AT(ROWS), INT(size.per_row), INT(size.ids),
					  INT(size.columns)),
			});
	embedding_emit_wrong(plan, node, wrong, training);
}

static void embedding_reference(const struct op_reference *r)
{
	embedding_refer_start(r);
	for (uint64_t position = 0; position < r->rows * r->inputs; position++)
		embedding_refer(r, (int64_t)r->x[0][position], position, 1);
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
	.masking = MASKING_OWN,
	.attributes = COUNT(embedding_attributes),
	.attribute = embedding_attributes,
	.parameters = EMBEDDING_PARAMETERS,
	.parameter = embedding_parameters,
	.shape = embedding_shape,
	.forward = embedding_forward,
	.backward = embedding_backward,
	.touched = embedding_touched,
	.reference = embedding_reference,
	.export = embedding_export,
};
