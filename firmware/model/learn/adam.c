/* SPDX-License-Identifier: Apache-2.0 */
/* Adam (Kingma and Ba, 2015) in Keras's form, and AdamW, which decouples weight decay (Loshchilov and Hutter,
 * 2019). */
#include "model/graph/op.h"
#include "model/learn/loss_scale.h"
#include "model/learn/update.h"

#include <math.h>

extern const struct optimizer optimizer_adam; /* adamw has the same beta_2 */

static uint32_t adam_slots(const struct config *config)
{
	(void)config;
	return 2;
}

/* Appends the update of vectors [from, to) of the parameter region. */
static void emit_range(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;

	if (from == to)
		return;
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "adam",
			  .on_update = true,
			  .groups = { optimizer_groups(plan, to - from) },
			  ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradient_region),
				    INOUT(graph->slot_region[0]), INOUT(graph->slot_region[1]),
				    UINT((uint32_t)from), UINT((uint32_t)to), OUT(graph->chunk_fault),
				    AT(RATE), optimizer_decay(plan), FLOAT(1 - config->optimizer.beta_1),
				    FLOAT(1 - optimizer_beta_2(config, graph->optimizer)),
				    FLOAT(config->optimizer.epsilon), loss_scale_verdict(graph)),
		  });
}

/* Appends the update of a lazy parameter: only the rows whose ids are in the batch. */
static void emit_rows(struct plan *plan, const struct node *node)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;
	const struct touched rows = node->op->touched(plan, node);
	const struct tensor *table = graph_at(graph, node->parameter[0]);
	const bool excluded = optimizer_excluded(config, table->name);

	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "adam_rows" : "adam_rows_quads",
				.on_update = true,
				.groups = { { .per_row = rows.per_row, .tile = rows.tile } },
				ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradient_region),
					  INOUT(graph->slot_region[0]), INOUT(graph->slot_region[1]),
					  UINT((uint32_t)(table->offset / sizeof(float))), IN(rows.key),
					  IN(rows.count), INT(rows.ids), INT(rows.columns),
					  OUT(graph->chunk_fault), AT(RATE),
					  excluded ? (struct argument)FLOAT(0) : (struct argument)AT(DECAY),
					  FLOAT(1 - config->optimizer.beta_1),
					  FLOAT(1 - optimizer_beta_2(config, graph->optimizer)),
					  FLOAT(config->optimizer.epsilon), loss_scale_verdict(graph)),
			});
}

/* Appends one launch for each lazy parameter, and one for all the parameters between two lazy ones. */
static void adam_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct graph *graph = plan->graph;

	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];
		const struct tensor *table = node->op->touched ? graph_at(graph, node->parameter[0]) : NULL;

		if (!table || !table->lazy)
			continue;
		emit_range(plan, from, table->offset / OPTIMIZER_VECTOR_BYTES);
		emit_rows(plan, node);
		from = tensor_end(table) / OPTIMIZER_VECTOR_BYTES;
	}
	emit_range(plan, from, to);
}

static double adam_correction(const struct config *config, uint64_t t)
{
	return sqrt(1 - pow(optimizer_beta_2(config, &optimizer_adam), (double)t)) /
	       (1 - pow(config->optimizer.beta_1, (double)t));
}

static void adam_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			   const double *gradient, double *parameter, double *m, double *v)
{
	const double b1 = config->optimizer.beta_1, b2 = optimizer_beta_2(config, &optimizer_adam);
	const double alpha = rate * adam_correction(config, t);

	for (uint64_t i = 0; i < n; i++) {
		m[i] = b1 * m[i] + (1 - b1) * gradient[i];
		v[i] = b2 * v[i] + (1 - b2) * gradient[i] * gradient[i];
		parameter[i] -= alpha * m[i] / (sqrt(v[i]) + config->optimizer.epsilon);
	}
}

#define ADAM(its_name, its_decay)                                                                     \
	{                                                                                             \
		.name = its_name, .learning_rate = 0.001, .weight_decay = its_decay, .beta_2 = 0.999, \
		.slot = { "m", "v" }, .slots = adam_slots, .emit = adam_emit, .corrects_root = true,  \
		.correction = adam_correction, .reference = adam_reference                            \
	}

const struct optimizer optimizer_adam = ADAM("adam", 0);
const struct optimizer optimizer_adamw = ADAM("adamw", 0.004);
