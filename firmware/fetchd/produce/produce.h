/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of production. Order: produce_begin once; for each generation produce_forget, produce_from, then
 * (produce -> publish_ready)*.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Allocates memory for the ring's slots. Errors: -ENOMEM. */
MUST_CHECK int produce_begin(struct producer *producer, struct fetch *fetch, struct error *err);

/* Starts at a cursor that segment_check() has accepted. */
void produce_from(struct producer *producer, const struct cursor *cursor);

/* Forgets slots that are claimed and not published, before another generation. */
void produce_forget(struct producer *producer);

/* Does one small step. Cost: O(streams). */
enum step produce(struct producer *producer);
