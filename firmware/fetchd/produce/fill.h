/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of windows, handed out to the workers as spans: as many as have arrived, up to each stream's share of
 * the batch.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Hand out what can be. STEP_DONE: the batch is full, or as full as its segment can make it. */
enum step fill_training(struct producer *producer);
enum step fill_evaluation(struct producer *producer);

/* Rows below `rows` that no stream has anything for stay empty. */
enum step fill_empty(struct producer *producer, uint32_t rows);
