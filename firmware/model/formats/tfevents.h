/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorBoard's event files: TFRecords of tensorflow.Event, the first record of each file {file_version:
 * "brain.Event:2"}. A file has a bounded size. When it is full the next file begins, and the closed file
 * never grows again, so it is uploaded once. Scalars are simple values, which every reader understands.
 * Histograms, texts and images are tensors with a plugin's name, as in TensorFlow 2.
 *
 * Sources: tensorflow/core/util/event.proto, tensorflow/core/framework/{summary,tensor}.proto,
 * tensorboard/backend/event_processing/event_accumulator.py.
 *
 * Going back: a process that starts again at an earlier step writes the points from that step on a second
 * time. A SessionLog START tells a reader that follows the files to drop the old points. But when
 * TensorBoard's EventAccumulator reads a folder from the beginning, START makes it drop simple values only,
 * not tensors, so each histogram would be there twice. Therefore tfevents_session_start() does both: it cuts
 * the older files of the folder at the first point that is void, for readers that read the folder from the
 * beginning, and writes START, for readers that follow the files. Steps within a folder must ascend, so
 * points by epoch and points by step have different folders. Files that are uploaded and no longer on this
 * disk are not cut: their tensors may appear twice, with the same content.
 *
 * Order: tfevents_open -> tfevents_session_start -> (tfevents_scalars | tfevents_histogram | tfevents_text |
 * tfevents_images | tfevents_sync)* -> tfevents_close. Every open makes a new file whose name sorts after the
 * existing ones, because readers read the files of a folder in the order of their names. Each record is
 * appended by one write, and is on the disk after tfevents_sync(). After an error the file holds whole
 * records only. Only tfevents_text(), tfevents_images() and the start of the next file allocate.
 */
#pragma once

#include "core/base/error.h"
#include "model/formats/histogram.h"

#include <stdint.h>

struct tfevents;

/* Makes "events.out.tfevents.<seconds>.<host>.<pid>.<n>.v2" in `folder`, which must exist. A file has at most
 * `segment_bytes`, unless a single record is longer. */
MUST_CHECK int tfevents_open(const char *folder, uint64_t segment_bytes, struct tfevents **ret_events,
			     struct error *err);
void tfevents_close(struct tfevents *events);
void tfevents_closep(struct tfevents **events); /* for CLEANUP() */

/* Declares the points of `step` and later steps void, because they will be written again: cuts them from the
 * folder's other files, together with a record that a power cut left incomplete, and writes SessionLog START.
 */
MUST_CHECK int tfevents_session_start(struct tfevents *events, uint64_t step, struct error *err);

#define TFEVENTS_TAG_MAX     160u
#define TFEVENTS_SCALARS_MAX 8u

struct tfevents_scalar {
	const char *tag; /* at most TFEVENTS_TAG_MAX bytes, like every tag */
	float value;
};

/* Writes one point for each of up to TFEVENTS_SCALARS_MAX tags, in one record. */
MUST_CHECK int tfevents_scalars(struct tfevents *events, uint64_t step, const struct tfevents_scalar *scalars,
				uint32_t count, struct error *err);
/* Writes a DT_DOUBLE tensor [HISTOGRAM_BUCKETS, 3] for the plugin "histograms". */
MUST_CHECK int tfevents_histogram(struct tfevents *events, const char *tag, uint64_t step,
				  const struct histogram_bucket buckets[static HISTOGRAM_BUCKETS],
				  struct error *err);
/* Writes a DT_STRING scalar, which is Markdown, for the plugin "text". */
MUST_CHECK int tfevents_text(struct tfevents *events, const char *tag, uint64_t step, const char *text,
			     struct error *err);
struct tfevents_image {
	const void *png; /* a PNG file */
	uint64_t bytes;
};
/* Writes the PNG files of pictures of one size as a DT_STRING tensor [count + 2], which is width, height and
 * the files, for the plugin "images", in one record. */
MUST_CHECK int tfevents_images(struct tfevents *events, const char *tag, uint64_t step, uint32_t width,
			       uint32_t height, const struct tfevents_image *images, uint32_t count,
			       struct error *err);
/* When this returns 0, every record so far is on the disk. */
MUST_CHECK int tfevents_sync(struct tfevents *events, struct error *err);
