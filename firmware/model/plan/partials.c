/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/partials.h"

#include "model/plan/round.h"
#include "model/plan/tiles.h"

/* Returns how many numbers a partial sum has. */
static uint64_t numbers_of(const struct partials *partials)
{
	return (partials->taps * partials->tap_rows + partials->bias_row) * partials->columns;
}

void partials_make(struct plan *plan, const struct node *node, struct partials *partials)
{
	const uint64_t rows = plan->graph->batch_rows;
	struct tensor all = { .rank = 1 };
	uint64_t partial, chunks;

	partials->bias_row = true;
	partial = numbers_of(partials);
	chunks = TILE_PARTIALS_MAX / partial;
	chunks = chunks < 1 ? 1 : chunks > PARTIALS_CHUNKS_MAX ? PARTIALS_CHUNKS_MAX : chunks;
	partials->length = divide_up(rows, chunks);
	partials->chunks = divide_up(rows, partials->length);
	all.shape[0] = partials->chunks * partial;
	partials->tensor = plan_work(plan, node, "partials", &all);
}

/* Numbers that a group of conv_sum computes. */
#define SUM_NUMBERS 32u

void partials_emit_sum(struct plan *plan, const struct partials *partials, uint32_t dkernel, uint32_t dbias)
{
	const uint64_t rows = partials->taps * partials->channels + 1;

	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "conv_sum_lines" : "conv_sum",
				.groups = { { .fixed = rows * (plan->cpu ? 1 : partials->filters),
					      .tile = plan->cpu ? 1 : SUM_NUMBERS } },
				ARGUMENTS(IN(partials->tensor), OUT(dkernel),
					  argument_optional(dbias, ARGUMENT_OUT), INT(partials->chunks),
					  INT(partials->taps), INT(partials->channels),
					  INT(partials->filters), INT(partials->tap_rows),
					  INT(partials->columns), UINT((uint32_t)numbers_of(partials))),
			});
}
