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
 *
 * The tensors of the base must all be there. Of others, those of the original classifier and PyTorch's
 * counters "num_batches_tracked" are left out; any other tensor is refused.
 *
 * Order: convert_open -> convert_write -> convert_close. Threads: none. Owners: the tensors and their data
 * are the caller's, and must outlive the conversion. Crash: the file is written whole or not at all.
 */
#pragma once

#include "model/formats/model_tensor.h"

#include "core/base/error.h"

#include <stdbool.h>

#define CONVERT_FORMAT "kiln/weights"

struct convert;

/* Matches the tensors with the parameters of the base; `what` names their file in errors, and must outlive
 * the conversion. Errors: -EINVAL there is no such base, or a tensor is missing, is one too many, or has
 * another shape: the text names the tensor; -EBADMSG a tensor is not of floats; -ENOMEM. */
MUST_CHECK int convert_open(const char *base, const char *what, const struct model_tensor *tensors,
			    uint32_t count, struct convert **ret_convert, struct error *err);
/* Returns how many tensors the base gets, and how many tensors of the classifier are left out. */
uint32_t convert_tensors(const struct convert *convert);
uint32_t convert_left_out(const struct convert *convert);
/* Returns whether the tensors have PyTorch's names. */
bool convert_is_torch(const struct convert *convert);
/* Returns the model.base_scaling that these weights belong to. */
const char *convert_scaling(const struct convert *convert);
/* Writes the tensors as float32 to a safetensors file, with "format" (CONVERT_FORMAT), "base" and
 * "base_scaling". The same tensors give the same bytes. Errors: -EBADMSG a number is NaN or infinite; those
 * of safetensors_write(). */
MUST_CHECK int convert_write(const struct convert *convert, const char *path, struct error *err);
void convert_close(struct convert *convert);
void convert_closep(struct convert **convert); /* for CLEANUP() */
