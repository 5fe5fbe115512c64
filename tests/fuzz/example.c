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
		.features = 3,
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
			       .bytes_max = 16 } },
	};
	float f[3];
	int64_t i[2];
	uint8_t b[20];
	void *rows[] = { f, i, b };
	uint64_t values = 0;
	struct error err;

	if (example_parse(&schema, data, size, rows, &err) == 0) {
		const void *back[] = { f, i, b };
		uint8_t out[256];

		if (example_write(&schema, back, out, sizeof(out)) > sizeof(out))
			abort();
	}
	if (example_describe(data, size, count, &values, &err) < 0 && !*err.text)
		abort();
	return 0;
}
