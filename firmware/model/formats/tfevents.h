/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorBoard's event files: TFRecords of tensorflow.Event, the first one of each {file_version:
 * "brain.Event:2"}. A file has a bounded size: then the next one begins, so that what is closed never changes
 * and can be uploaded once. Scalars are simple values, as Keras wrote them: every reader takes them.
 * Histograms and texts are tensors with a plugin's name, as TensorFlow 2 writes them.
 * Source: tensorflow/core/util/event.proto, tensorflow/core/framework/{summary,tensor}.proto,
 * tensorboard/backend/event_processing/event_accumulator.py.
 *
 * Going back: a process that starts again at an earlier step says what follows once more. A SessionLog START
 * tells a reader that has seen it to drop the points from that step on; but of a folder that it reads anew,
 * TensorBoard's EventAccumulator then drops simple values alone and keeps every tensor, so that a histogram
 * would be there twice. Therefore tfevents_session_start() does both: it cuts the older files of the folder
 * where the void begins, which works for every reader of the files, and says START for those that are
 * watching. Steps of a folder must ascend, so curves by epoch and curves by step have a folder each. What was
 * uploaded and is on no local disk is not cut: there tensors may be doubled, with the same content.
 *
 * Order: tfevents_open -> tfevents_session_start -> (tfevents_scalars | tfevents_histogram | tfevents_text |
 * tfevents_sync)* -> tfevents_close. Every open makes a new file, whose name sorts behind those that are
 * there: readers take the files of a folder in that order. Every record is one append, and on the disk after
 * tfevents_sync(). What failed leaves whole records. Nothing but tfevents_text() and the next file allocates.
 */
#pragma once

#include "core/base/error.h"
#include "model/formats/histogram.h"

#include <stdint.h>

struct tfevents;

/* "events.out.tfevents.<seconds>.<host>.<pid>.<n>.v2" in `folder`, which must exist. A file has at most
 * `segment_bytes`, unless a single record is longer. */
MUST_CHECK int tfevents_open(const char *folder, uint64_t segment_bytes, struct tfevents **ret_events,
			     struct error *err);
void tfevents_close(struct tfevents *events);
void tfevents_closep(struct tfevents **events); /* for CLEANUP() */

/* What the folder's other files hold for this step and later ones is void: cut away, with whatever a power
 * cut left of a record, and SessionLog START for readers that have it. The points are written again. */
MUST_CHECK int tfevents_session_start(struct tfevents *events, uint64_t step, struct error *err);

#define TFEVENTS_TAG_MAX     160u
#define TFEVENTS_SCALARS_MAX 8u

struct tfevents_scalar {
	const char *tag; /* at most TFEVENTS_TAG_MAX bytes, like every tag */
	float value;
};

/* A point of each of up to TFEVENTS_SCALARS_MAX curves, in one record. */
MUST_CHECK int tfevents_scalars(struct tfevents *events, uint64_t step, const struct tfevents_scalar *scalars,
				uint32_t count, struct error *err);
/* Plugin "histograms", a DT_DOUBLE tensor [HISTOGRAM_BUCKETS, 3]. */
MUST_CHECK int tfevents_histogram(struct tfevents *events, const char *tag, uint64_t step,
				  const struct histogram_bucket buckets[static HISTOGRAM_BUCKETS],
				  struct error *err);
/* Plugin "text", a DT_STRING scalar: Markdown. */
MUST_CHECK int tfevents_text(struct tfevents *events, const char *tag, uint64_t step, const char *text,
			     struct error *err);
/* All of it is on the disk when this returns 0. */
MUST_CHECK int tfevents_sync(struct tfevents *events, struct error *err);
