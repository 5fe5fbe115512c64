/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes shards for tests: make_shards FOLDER PREFIX SHARDS RECORDS [plain|flat|gzip] [FLOATS] [weighted]
 *
 * Each record has: sentence float[FLOATS] (8), label int64[2] one-hot, which can be learned from the
 * sentence; with "weighted" also weight float[1], 0 to 3 in turn. Record r of shard s of a prefix is the same
 * in every run. No two records are equal, except in "flat" shards: there all are equal, so that they inflate
 * to many times their size. Shards are gzip unless "plain".
 */
#include "core/base/paths.h"
#include "data/example.h"
#include "data/inflate.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <string.h>

#define FLOATS_MAX  12288
#define FRAME_BYTES 256 /* size of one record, besides its floats */

static struct example_schema schema = {
	.features = 2,
	.feature = { { .name = "sentence", .dtype = EXAMPLE_FLOAT32, .elements = 8 },
		     { .name = "label", .dtype = EXAMPLE_INT64, .elements = 2 },
		     { .name = "weight", .dtype = EXAMPLE_FLOAT32, .elements = 1 } }
};

static float noise(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (float)(*state >> 40) / 16777216.0f - 0.5f;
}

static uint64_t one_record(uint64_t id, uint8_t *out, uint64_t capacity)
{
	uint64_t state = id * 7919 + 17, bytes;
	float sentence[FLOATS_MAX];
	int64_t label[2] = { 0, 0 };
	const float weight = (float)(id % 4);
	const void *rows[3] = { sentence, label, &weight };
	float sum = 0;
	uint8_t example[FLOATS_MAX * sizeof(float) + FRAME_BYTES];

	for (uint64_t i = 0; i < schema.feature[0].elements; i++) {
		sentence[i] = noise(&state);
		sum += sentence[i] * (float)((int)(i % 3) - 1);
	}
	sentence[0] += (float)(id & UINT32_MAX) * 1e-9f;
	label[sum > 0] = 1;
	bytes = example_write(&schema, rows, example, sizeof(example));
	if (bytes > sizeof(example) || bytes + TFRECORD_FRAME_BYTES > capacity)
		abort();
	return tfrecord_frame(example, bytes, out);
}

int main(int argc, char **argv)
{
	uint64_t shards, records, capacity;
	struct error err = { 0 };
	bool stored, flat;
	uint8_t *plain;

	if (argc < 5)
		return 2;
	stored = argc > 5 && strcmp(argv[5], "plain") == 0;
	flat = argc > 5 && strcmp(argv[5], "flat") == 0;
	shards = strtoull(argv[3], NULL, 10);
	records = strtoull(argv[4], NULL, 10);
	if (argc > 6)
		schema.feature[0].elements = strtoull(argv[6], NULL, 10);
	if (argc > 7 && strcmp(argv[7], "weighted") == 0)
		schema.features = 3;
	if (schema.feature[0].elements > FLOATS_MAX)
		return 2;
	capacity = records * (schema.feature[0].elements * sizeof(float) + FRAME_BYTES);
	plain = malloc(capacity);
	if (!plain || path_make(argv[1], &err) < 0)
		return 1;
	for (uint64_t s = 0; s < shards; s++) {
		uint64_t used = 0, bytes;
		uint8_t *data = plain;
		char path[PATH_BYTES];

		for (uint64_t r = 0; r < records; r++)
			used += one_record(flat ? 0 : (uint64_t)argv[2][0] << 32 | s << 20 | r, plain + used,
					   capacity - used);
		bytes = used;
		if (!stored && deflate_all(plain, used, COMPRESSION_GZIP, 6, &data, &bytes, &err) < 0)
			return 1;
		(void)snprintf(path, sizeof(path), "%s/%s-%05" PRIu64 "-of-%05" PRIu64 ".tfrecord%s", argv[1],
			       argv[2], s, shards, stored ? "" : ".gz");
		if (file_write_durable(path, data, bytes, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		if (data != plain)
			free(data);
	}
	free(plain);
	return 0;
}
