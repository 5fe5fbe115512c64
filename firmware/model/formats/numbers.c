/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/numbers.h"

#include "model/formats/safetensors_types.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool numbers_are_floats(const char *dtype)
{
	return strcmp(dtype, "F32") == 0 || strcmp(dtype, "F16") == 0 || strcmp(dtype, "BF16") == 0 ||
	       strcmp(dtype, "F64") == 0;
}

uint64_t numbers_count(const struct model_tensor *tensor)
{
	return tensor->bytes / safetensors_width(tensor->dtype);
}

/* Converts a number of IEEE 754 binary16. */
static double from_half(uint16_t half)
{
	const int exponent = half >> 10 & 31, fraction = half & 1023;
	const double sign = half >> 15 ? -1 : 1;

	if (exponent == 31)
		return fraction ? NAN : sign * INFINITY;
	return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double as_double(const struct model_tensor *tensor, uint64_t i)
{
	const uint8_t *at = (const uint8_t *)tensor->data + i * safetensors_width(tensor->dtype);
	uint32_t bits;
	uint16_t half;
	double wide;
	float number;

	if (strcmp(tensor->dtype, "F64") == 0) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	if (strcmp(tensor->dtype, "F32") == 0) {
		memcpy(&number, at, sizeof(number));
		return (double)number;
	}
	memcpy(&half, at, sizeof(half));
	if (strcmp(tensor->dtype, "F16") == 0)
		return from_half(half);
	bits = (uint32_t)half << 16; /* bfloat16 is the upper half of a float32 */
	memcpy(&number, &bits, sizeof(number));
	return (double)number;
}

int numbers_at(const struct model_tensor *tensor, uint64_t i, const char *what, float *ret_number,
	       struct error *err)
{
	const double number = as_double(tensor, i);

	if (!isfinite((float)number))
		return error_set(err, -EBADMSG,
				 "%s: %s: found %g in element %" PRIu64
				 ", allowed: finite numbers of float32",
				 what, tensor->name, number, i);
	*ret_number = (float)number;
	return 0;
}
