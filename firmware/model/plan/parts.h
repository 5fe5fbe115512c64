/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-batches of a step. With ranks.exact a batch is cut into order.lanes micro-batches, one for each
 * lane (data/order.h), whatever the number of devices. Each has the same shape and so the same launches on
 * every device, and its gradients depend on nothing else of the batch. The gradients are added in a binary
 * tree over the lanes: neighbours first, level by level, and an odd one goes up as it is, (l0 + l1) + (l2 +
 * l3). So 1, 2, 4 ... devices that own subtrees of it give the same bits.
 *
 * What is added is the whole gradient arena: the gradients of the parameters; how many rows count; and for
 * the state of layers, such as the moving statistics of batch_norm, the statistics of the micro-batch. After
 * the sum
 * - the gradients, in which each row had the weight 1 / rows of the whole batch, are weighed so that the
 *   weight is 1 / valid rows of the whole batch,
 * - the state of a layer moves by the mean of the statistics of all micro-batches with a valid row,
 * - penalties, accumulation, clipping, the loss scale and the optimizer follow, once for all.
 *
 * Statistics of batch_norm are those of a micro-batch alone, as in PyTorch's DistributedDataParallel without
 * SyncBatchNorm. Random numbers depend on lane and row, not on the device.
 *
 * Without ranks.exact there is one micro-batch for each process, with the rows of all its lanes: fewer
 * launches with more rows each. The sum in a kernel then runs over other rows, and so do the statistics of
 * batch_norm, so the same weights come of the same number of processes alone. Dropout and augmentation draw
 * the same numbers as with ranks.exact. A single process does not cut the batch at all.
 *
 * Cost of ranks.exact: each launch of the step runs once for each micro-batch, with fewer rows. On one
 * device, a step of L micro-batches also copies the gradients L / 2 times and adds them L - 1 times, and
 * needs memory for log2(L) more of them.
 */
#pragma once

#include "model/plan/plan.h"

/* float16 numbers that a group of add_part handles. */
#define PART_CHUNK 256u

/* Appends the launch before the forward pass of a micro-batch: its rows, and zeros for the statistics. */
void parts_emit_begin(struct plan *plan);
/* Append launches after the sum: the weights of the rows, for float16 [from, to) of the gradients; the
 * average that is the state of a layer. */
void parts_emit_weigh(struct plan *plan, uint64_t from, uint64_t to);
void parts_emit_average(struct plan *plan, uint32_t state, double momentum);
