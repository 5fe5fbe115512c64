/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of other programs for a base network (base/base.h): tensors with PyTorch's names and layouts, or
 * with those of Keras, become tensors with the names and layouts of Kiln, which model.weights can name.
 *
 *   Kiln, Keras                          PyTorch
 *   LAYER/kernel [h, w, in, out]         MODULE.weight [out, in, h, w]
 *   LAYER/kernel [h, w, in, 1]           MODULE.weight [in, 1, h, w], depthwise
 *   LAYER/gamma, LAYER/beta, LAYER/bias  MODULE.weight, MODULE.bias, MODULE.bias
 *   LAYER/moving_mean, moving_variance   MODULE.running_mean, MODULE.running_var
 *   LAYER/kernel [in, out], dense        MODULE.weight [out, in]
 *   LAYER/embeddings                     MODULE.weight
 *   LAYER/query_kernel [in, heads, size] MODULE.self.query.weight [heads * size, in]; key, value as well
 *   LAYER/attention_output_kernel        MODULE.output.dense.weight [out, heads * size]
 *
 * Of bert (bert_files.h), the vectors of positions get that of token type 0, so that no layer has to add it.
 *
 * The tensors of the base must all be there. Of others, those of the original classifier or another head and
 * PyTorch's counters "num_batches_tracked" and numbers "position_ids" are left out; any other tensor is
 * refused.
 *
 * Order: convert_open -> (convert_make | convert_write)* -> convert_close. Threads: none. Owners: the tensors
 * and their data are the caller's, and must outlive the conversion. Crash: the file is written whole or not
 * at all.
 */
#pragma once

#include "model/formats/model_tensor.h"

#include "core/base/error.h"

#include <stdbool.h>

#define CONVERT_FORMAT      "kiln/weights"
#define CONVERT_NAMES_BYTES 512u

struct convert;

/* Matches the tensors with the parameters of the base. `bert`: its size, for the base bert alone; `what`
 * names their file in errors, and must outlive the conversion. Errors: -EINVAL there is no such base, or a
 * tensor is missing, is one too many, or has another shape: the text names the tensor; -EBADMSG a tensor is
 * not of floats; -ENOMEM. */
MUST_CHECK int convert_open(const char *base, const struct config_bert *bert, const char *what,
			    const struct model_tensor *tensors, uint32_t count, struct convert **ret_convert,
			    struct error *err);
/* Returns how many tensors the base gets, and how many tensors of the classifier or another head are left
 * out.
 */
uint32_t convert_tensors(const struct convert *convert);
uint32_t convert_left_out(const struct convert *convert);
/* Returns the names of those: "pooler.dense.bias, pooler.dense.weight". A list that is too long ends with
 * "...". */
const char *convert_left_out_names(const struct convert *convert);
/* Returns whether the tensors have PyTorch's names. */
bool convert_is_torch(const struct convert *convert);
/* Returns the model.base_scaling that these weights belong to; NULL: that of bert, which has none. */
const char *convert_scaling(const struct convert *convert);
/* Makes the tensors as float32, in memory. Owns: the conversion owns them, and keeps them for the next call.
 * Errors: -EBADMSG a number is NaN or infinite; -ENOMEM. */
MUST_CHECK int convert_make(struct convert *convert, const struct model_tensor **ret_tensors,
			    uint32_t *ret_count, struct error *err);
/* Writes these tensors to a safetensors file, with "format" (CONVERT_FORMAT), "base" and,
 * if there is one, "base_scaling". The same tensors give the same bytes. Errors: -EBADMSG a number is NaN or
 * infinite; those of safetensors_write(). */
MUST_CHECK int convert_write(struct convert *convert, const char *path, struct error *err);
void convert_close(struct convert *convert);
void convert_closep(struct convert **convert); /* for CLEANUP() */
