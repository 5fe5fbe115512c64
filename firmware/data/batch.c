/* SPDX-License-Identifier: Apache-2.0 */
#include "data/batch.h"

#include <string.h>

#define BYTES_VALUE_MAX 65536u /* longest bytes feature */

int batch_schema(const struct config *config, struct example_schema *ret_schema, struct error *err)
{
	static const uint32_t dtypes[] = { EXAMPLE_FLOAT32, EXAMPLE_INT64, EXAMPLE_BYTES };

	ret_schema->features = config->features;
	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *from = &config->feature[i];
		uint64_t elements = 1;

		for (uint32_t d = 0; d < from->rank; d++)
			if (__builtin_mul_overflow(elements, from->shape[d], &elements) ||
			    elements > UINT32_MAX / 8)
				return error_set(err, -EINVAL, "schema: \"%s\" has too many values",
						 from->name);
		ret_schema->feature[i] =
			(struct example_feature){ .name = from->name,
						  .dtype = dtypes[from->dtype],
						  .elements = elements,
						  .optional = from->missing == MISSING_DEFAULT,
						  .fill = from->fill,
						  .bytes_max = BYTES_VALUE_MAX };
	}
	return 0;
}

void batch_geometry(const struct config *config, const struct example_schema *schema,
		    struct ring_geometry *ret_geometry)
{
	static const uint32_t dtypes[] = { 0, RING_FLOAT32, RING_INT64, RING_UINT8 };
	uint64_t rows = config->run.batch_rows;

	memset(ret_geometry, 0, sizeof(*ret_geometry));
	ret_geometry->slots = (uint32_t)config->ring.slots;
	for (uint32_t i = 0; i < schema->features; i++) {
		struct ring_column_spec *column = &ret_geometry->column[ret_geometry->columns++];
		uint64_t row_bytes = example_row_bytes(&schema->feature[i]);

		(void)snprintf(column->name, sizeof(column->name), "%s", schema->feature[i].name);
		column->dtype = dtypes[schema->feature[i].dtype];
		column->row_bytes = (uint32_t)row_bytes;
		column->capacity = rows * row_bytes;
	}
	ret_geometry->column[ret_geometry->columns++] =
		(struct ring_column_spec){ BATCH_COLUMN_EMPTY, RING_UINT8, 1, rows };
}
