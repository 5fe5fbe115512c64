/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safetensors: a file of named tensors that many tools read. Layout: the length of the header, a
 * little-endian uint64; a JSON header {"__metadata__": {string: string}, NAME: {dtype, shape, data_offsets}};
 * the data without gaps. Source: github.com/huggingface/safetensors, README "Format".
 *
 * Files written here also align every tensor: the data starts at a multiple of 8, and tensors with wider
 * types come first. "crc32c/NAME" in the metadata is the CRC-32C of tensor NAME as 8 hex digits.
 */
#pragma once

#include "core/base/error.h"
#include "model/formats/model_tensor.h"

#include <stdint.h>

#define SAFETENSORS_HEADER_MAX  (4u << 20)
#define SAFETENSORS_TENSORS_MAX 16384u

/* A key and its value in the metadata. */
struct safetensors_note {
	const char *key, *value;
};

/* Writes a file: under a temporary name, fsync, rename, fsync of the folder, so that after a crash the file
 * is complete or absent. Each tensor must have `data`, and a `dtype` that the format knows. The same
 * arguments give the same bytes. Blocks; allocates the header. */
MUST_CHECK int safetensors_write(const char *path, const struct model_tensor *tensors, uint32_t tensor_count,
				 const struct safetensors_note *notes, uint32_t note_count,
				 struct error *err);

struct safetensors;

/* Maps a file and checks all of it: bounds, types, shapes, overlaps and gaps, and every CRC that it has.
 * Errors: -ENOENT and others of open(2); -EBADMSG the content is wrong; the text names the file, the tensor,
 * and what was found and expected. */
MUST_CHECK int safetensors_open(const char *path, struct safetensors **ret_file, struct error *err);
/* Checks bytes in memory like safetensors_open(); `what` names them in errors.
 * Owns: the caller owns `data`, which must outlive *ret_file. */
MUST_CHECK int safetensors_parse(const char *what, const void *data, uint64_t bytes,
				 struct safetensors **ret_file, struct error *err);
void safetensors_close(struct safetensors *file);
void safetensors_closep(struct safetensors **file); /* for CLEANUP() */

/* Checks that every tensor has a CRC: for files of Kiln, which always have them. Errors: -EBADMSG a tensor
 * has none; the text names the first such tensor. */
MUST_CHECK int safetensors_require_crcs(const struct safetensors *file, struct error *err);

/* Returns the value of a key of the metadata; NULL: the file lacks the key. */
const char *safetensors_value(const struct safetensors *file, const char *key);
/* Returns all tensors, in the order of their data. */
const struct model_tensor *safetensors_tensors(const struct safetensors *file, uint32_t *ret_count);
