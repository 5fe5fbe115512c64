/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of the batch in work come from which stream.
 *
 * Row j of a global batch comes from lane j mod lanes. A slot holds the rows of this rank's lanes alone, lane
 * after lane (struct order_part in data/order.h). With several lanes every slot of a batch has the same
 * number of rows: the rows that a lane does not have stay empty.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Deals a training batch of `global_rows` rows. `dealt`, memory for twice as many, receives the rows of each
 * stream where there are several sources; spans point into it until the slot is committed. */
void deal_rows(struct producer *producer, uint64_t global_rows, uint32_t *dealt);

/* Deals a batch of an evaluation: a share for each lane, which the lane's streams fill one after the other.
 */
void deal_evaluation(struct producer *producer, uint64_t global_rows);

/* Ends lane `lane` of this rank (0 ..): its streams give no rows from row `row` of the slot on. */
void deal_end(struct producer *producer, uint32_t lane, uint32_t row);

/* Returns the number of rows of the global batch up to the last one that a stream gives, once all streams
 * have given what they can. */
uint32_t deal_rows_given(const struct producer *producer);

/* Return row i of a share, and the number of a share's rows below `row`. */
uint32_t share_row(const struct share *share, uint32_t i);
uint32_t share_below(const struct share *share, uint32_t row);
