/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorBoard's event files: TFRecords of tensorflow.Event, the first one {file_version: "brain.Event:2"}.
 * Scalars are simple values, as Keras wrote them: every reader takes them, and TensorBoard's EventAccumulator
 * drops what a SessionLog START makes void for them alone, not for the tensors that TensorFlow 2 writes now.
 * Source: tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto,
 * tensorboard/backend/event_processing/event_accumulator.py.
 *
 * Order: tfevents_open -> tfevents_session_start -> tfevents_scalar* -> tfevents_close. Every open makes a
 * new file, whose name sorts behind those that are there: readers take the files of a folder in that order.
 * Every record is one append, and on the disk when the call returns.
 */
#pragma once

#include "core/error.h"

#include <stdint.h>

struct tfevents;

/* "events.out.tfevents.<seconds>.<host>.<pid>.<n>.v2" in `folder`, which must exist. */
MUST_CHECK int tfevents_open(const char *folder, struct tfevents **ret_events, struct error *err);
void tfevents_close(struct tfevents *events);
void tfevents_closep(struct tfevents **events); /* for CLEANUP() */

/* SessionLog START: what older files of the folder hold for this step and later ones is void, a reader drops
 * it; the points are written again. */
MUST_CHECK int tfevents_session_start(struct tfevents *events, uint64_t step, struct error *err);

/* One point of a curve. `tag` has at most TFEVENTS_TAG_MAX bytes. */
#define TFEVENTS_TAG_MAX 128u
MUST_CHECK int tfevents_scalar(struct tfevents *events, const char *tag, uint64_t step, float value,
			       struct error *err);
