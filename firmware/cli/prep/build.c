/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/build.h"

#include "data/inflate.h"
#include "data/tfrecord.h"

#include <inttypes.h>

#define GZIP_LEVEL 6

/* The records of a shard while it is made. */
struct building {
	const struct prep *prep;
	const struct example_schema *schema;
	uint8_t *plain, *example;
	uint64_t used, capacity, example_capacity;
	void *scratch;
};

static void building_done(struct building *building)
{
	const struct prep_kind *kind = building->prep->kind;

	if (building->scratch && kind->scratch_done)
		kind->scratch_done(building->scratch);
	free(building->scratch);
	free(building->example);
	free(building->plain);
}

/* Makes room for `bytes` more bytes behind the first `used` ones. */
static int reserve(uint8_t **data, uint64_t used, uint64_t bytes, uint64_t *capacity, struct error *err)
{
	const uint64_t grown =
		used + bytes > *capacity + *capacity / 2 ? used + bytes : *capacity + *capacity / 2;
	uint8_t *memory;

	if (used + bytes <= *capacity)
		return 0;
	memory = realloc(*data, grown);
	if (!memory)
		return error_set(err, -ENOMEM, "no memory for a shard of %" PRIu64 " bytes", grown);
	*data = memory;
	*capacity = grown;
	return 0;
}

/* Appends an example, which may be larger than the buffer: then it is written a second time. */
static int append_example(struct building *building, const void *const *rows, struct error *err)
{
	const struct example_schema *schema = building->schema;
	uint64_t bytes = example_write(schema, rows, building->example, building->example_capacity);
	int r;

	if (bytes > building->example_capacity) {
		r = reserve(&building->example, 0, bytes, &building->example_capacity, err);
		if (r < 0)
			return r;
		bytes = example_write(schema, rows, building->example, building->example_capacity);
	}
	r = reserve(&building->plain, building->used, bytes + TFRECORD_FRAME_BYTES, &building->capacity, err);
	if (r == 0)
		building->used += tfrecord_frame(building->example, bytes, building->plain + building->used);
	return r;
}

/* Makes a shard. Its uncompressed bytes stay in building->plain. */
static int build_plain(struct building *building, enum texts_split split, uint64_t first, uint64_t records,
		       uint64_t example_bytes, struct error *err)
{
	const struct prep *prep = building->prep;
	int r = 0;

	building->scratch = calloc(1, prep->kind->scratch_bytes(prep));
	if (!building->scratch)
		return error_set(err, -ENOMEM, "no memory for a shard");
	r = reserve(&building->example, 0, example_bytes, &building->example_capacity, err);
	for (uint64_t i = 0; r == 0 && i < records; i++) {
		const void *rows[PREP_COLUMNS_MAX];

		r = prep->kind->record(prep, split, (uint32_t)(first + i), building->scratch, rows, err);
		if (r == 0)
			r = append_example(building, rows, err);
	}
	return r;
}

int build_shard(const struct prep *prep, const struct build_part *part, uint8_t **ret_data,
		uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(building_done) struct building building = { .prep = prep, .schema = part->schema };
	int r = build_plain(&building, part->split, part->first, part->records, part->example_bytes, err);

	if (r < 0)
		return r;
	if (!prep->kind->plain)
		return deflate_all(building.plain, building.used, COMPRESSION_GZIP, GZIP_LEVEL, ret_data,
				   ret_bytes, err);
	*ret_bytes = building.used;
	*ret_data = TAKE(building.plain);
	return 0;
}
