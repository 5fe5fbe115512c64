/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *context, const char *name, uint64_t name_bytes, uint32_t dtype, uint64_t values)
{
	(void)name;
	(void)name_bytes;
	(void)dtype;
	*(uint64_t *)context += values;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct example_schema schema = {
		.features = 5,
		.feature = { { .name = "f", .dtype = EXAMPLE_FLOAT32, .elements = 3 },
			     { .name = "i",
			       .dtype = EXAMPLE_INT64,
			       .elements = 2,
			       .optional = true,
			       .fill = -1 },
			     { .name = "b",
			       .dtype = EXAMPLE_BYTES,
			       .elements = 1,
			       .optional = true,
			       .bytes_max = 16 },
			     { .name = "F", .dtype = EXAMPLE_FLOAT32, .values_max = 3 },
			     { .name = "I", .dtype = EXAMPLE_INT64, .values_max = 3, .truncate = true } },
	};
	float f[3], floats[3];
	int64_t i[2], ints[3], count_of_floats, count_of_ints;
	uint8_t b[20];
	struct example_ragged ragged[] = { { &count_of_floats, floats }, { &count_of_ints, ints } };
	void *rows[] = { f, i, b, &ragged[0], &ragged[1] };
	uint64_t values = 0;
	struct error err;

	if (example_parse(&schema, data, size, rows, &err) == 0) {
		const void *back[] = { f, i, b, &ragged[0], &ragged[1] };
		uint8_t out[512];

		if (count_of_floats < 0 || count_of_floats > 3 || count_of_ints < 0 || count_of_ints > 3)
			abort();
		if (example_write(&schema, back, out, sizeof(out)) > sizeof(out))
			abort();
	}
	if (example_describe(data, size, count, &values, &err) < 0 && !*err.text)
		abort();
	return 0;
}
