/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that work on rows of [rows, columns]: softmax, layer_norm and the losses. On CPU devices a row is
 * summed in order by one item; on GPUs by a tree (kernels/rows.clh), so the bits of a row's sums depend on
 * the type of the device. On each they depend on the number of columns alone.
 */
#pragma once

#include "model/kernels/row_lanes.h"
#include "model/plan/plan.h"

/* Returns the work-groups for rows of `columns` numbers, `per_row` of them for each row of the batch. */
static inline struct extent rows_groups(const struct plan *plan, uint64_t per_row, uint64_t columns)
{
	return (struct extent){ .per_row = per_row,
				.tile = plan->cpu ? ROW_GROUP : (uint64_t)(ROW_ITEMS / ROW_LANES(columns)) };
}
