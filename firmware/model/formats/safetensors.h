/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named tensors in a file that everybody's tools read: a little-endian uint64 header length, a JSON header
 * {"__metadata__": {string: string}, NAME: {dtype, shape, data_offsets}}, then the data without gaps. Source:
 * github.com/huggingface/safetensors, README "Format". Written here: the data starts at a multiple of 8 and
 * is sorted by the width of its type, so that every tensor is aligned; "crc32c/NAME" in the metadata holds
 * the CRC-32C of a tensor as 8 hex digits.
 */
#pragma once

#include "core/base/error.h"
#include "model/model.h"

#include <stdint.h>

#define SAFETENSORS_HEADER_MAX  (4u << 20)
#define SAFETENSORS_TENSORS_MAX 16384u

/* One pair of the metadata. */
struct safetensors_note {
	const char *key, *value;
};

/* Write a file that is whole or absent: temporary name, fsync, rename, fsync of the folder. Tensors need a
 * `dtype` of the format and `data`. The same arguments give the same bytes. Blocks, allocates the header. */
MUST_CHECK int safetensors_write(const char *path, const struct model_tensor *tensors, uint32_t tensor_count,
				 const struct safetensors_note *notes, uint32_t note_count,
				 struct error *err);

struct safetensors;

/* Map a file and check all of it: bounds, types, shapes, overlaps and gaps, and the CRCs that are there.
 * Errors: -ENOENT and the like; -EBADMSG names the file, the tensor, what was found and expected. */
MUST_CHECK int safetensors_open(const char *path, struct safetensors **ret_file, struct error *err);
/* The same on bytes that stay the caller's and must outlive it; `what` names them in errors. */
MUST_CHECK int safetensors_parse(const char *what, const void *data, uint64_t bytes,
				 struct safetensors **ret_file, struct error *err);
void safetensors_close(struct safetensors *file);
void safetensors_closep(struct safetensors **file); /* for CLEANUP() */

/* -EBADMSG with the first tensor that has no CRC: whoever wrote the file with one for each has lost it. */
MUST_CHECK int safetensors_require_crcs(const struct safetensors *file, struct error *err);

/* The metadata's value, or NULL. */
const char *safetensors_value(const struct safetensors *file, const char *key);
/* Every tensor, in the order of its data. */
const struct model_tensor *safetensors_tensors(const struct safetensors *file, uint32_t *ret_count);
