/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a tensor of floats in a file of any program: F16, BF16, F32, F64. */
#pragma once

#include "core/base/error.h"
#include "model/formats/model_tensor.h"

#include <stdbool.h>

/* Returns whether a type of safetensors is one of these. */
bool numbers_are_floats(const char *dtype);
/* Returns how many numbers the tensor has. */
uint64_t numbers_count(const struct model_tensor *tensor);
/* Reads number `i` as a float32. `what` names the file in errors. Errors: -EBADMSG the number is NaN or
 * infinite, or out of the range of float32. */
MUST_CHECK int numbers_at(const struct model_tensor *tensor, uint64_t i, const char *what, float *ret_number,
			  struct error *err);
