/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of production. Order: (produce_from -> (produce -> publish_ready)*)* for each generation.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Allocate for the ring's slots. Errors: -ENOMEM. */
MUST_CHECK int produce_begin(struct producer *producer, struct fetch *fetch, struct error *err);

/* Start at a cursor that segment_check() accepted. */
void produce_from(struct producer *producer, const struct cursor *cursor);

/* Forget what is claimed and not published: another generation begins. */
void produce_forget(struct producer *producer);

/* Do one small step. Cost: O(streams). */
enum step produce(struct producer *producer);
