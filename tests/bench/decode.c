/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord and Example decoding on one core: 512 floats and two int64 a record, both CRCs checked, from
 * memory into the columns of ring-like slots of 128 rows. Beside it, in the same rounds, memcpy of the same
 * floats into the same slots: what the memory alone allows. Verified before it is timed. Usage: decode [FILE]
 * FILE: leave the shard there, for a peer to read.
 */
#include "core/cleanup.h"
#include "data/example.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define RECORDS      60000u
#define FLOATS       512u
#define LABELS       2u
#define SLOTS        16u
#define ROWS         128u
#define ROUNDS       11u
#define RECORD_BYTES 2200u /* room for one framed record */

struct slot {
	float sentence[ROWS][FLOATS];
	int64_t label[ROWS][LABELS];
};

static const struct example_schema schema = {
	.features = 2,
	.feature = { { .name = "sentence", .dtype = EXAMPLE_FLOAT32, .elements = FLOATS },
		     { .name = "label", .dtype = EXAMPLE_INT64, .elements = LABELS } },
};

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_row(uint32_t record, float *sentence, int64_t *label)
{
	for (uint32_t i = 0; i < FLOATS; i++)
		sentence[i] = (float)((record * 31 + i * 7) % 2003) / 2003.0f - 0.5f;
	label[0] = record % 2;
	label[1] = 1 - label[0];
}

static uint64_t make_shard(uint8_t *shard)
{
	uint64_t used = 0;

	for (uint32_t r = 0; r < RECORDS; r++) {
		float sentence[FLOATS];
		int64_t label[LABELS];
		const void *rows[] = { sentence, label };
		uint8_t example[RECORD_BYTES];

		make_row(r, sentence, label);
		used += tfrecord_frame(example, example_write(&schema, rows, example, sizeof(example)),
				       shard + used);
	}
	return used;
}

/* Every record of the shard into the slots, one after the other. Returns how many were right. */
static uint32_t decode(const uint8_t *shard, uint64_t bytes, struct slot *slots)
{
	struct tfrecord record;
	uint64_t offset = 0;
	uint32_t n = 0;

	while (tfrecord_next(shard, bytes, offset, RECORD_BYTES, &record, NULL) == 0) {
		struct slot *slot = &slots[n / ROWS % SLOTS];
		void *rows[] = { slot->sentence[n % ROWS], slot->label[n % ROWS] };

		if (example_parse(&schema, record.data, record.bytes, rows, NULL) < 0)
			return n;
		offset = record.next;
		n++;
	}
	return n;
}

/* The floats alone, by the place where each record's lie. */
static void copy(const uint8_t *shard, uint64_t record_bytes, struct slot *slots)
{
	for (uint32_t n = 0; n < RECORDS; n++)
		memcpy(slots[n / ROWS % SLOTS].sentence[n % ROWS], shard + n * record_bytes,
		       FLOATS * sizeof(float));
}

/* What the slots hold after a whole decode: the last rows. */
static bool verified(const struct slot *slots)
{
	bool same = true;

	for (uint32_t n = RECORDS - RECORDS % ROWS; n < RECORDS; n++) {
		const struct slot *slot = &slots[n / ROWS % SLOTS];
		float sentence[FLOATS];
		int64_t label[LABELS];

		make_row(n, sentence, label);
		for (uint32_t i = 0; i < FLOATS; i++)
			same = same && sentence[i] == slot->sentence[n % ROWS][i];
		same = same && label[0] == slot->label[n % ROWS][0] && label[1] == slot->label[n % ROWS][1];
	}
	return same;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), ascending);
	return values[ROUNDS / 2];
}

static int leave(const char *path, const uint8_t *shard, uint64_t bytes)
{
	CLEANUP(close_file) FILE *file = fopen(path, "wb");

	return file && fwrite(shard, 1, bytes, file) == bytes && fflush(file) == 0 ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	CLEANUP(free_ptr) uint8_t *shard = malloc((uint64_t)RECORDS * RECORD_BYTES);
	CLEANUP(free_ptr) struct slot *slots = calloc(SLOTS, sizeof(*slots));
	double ours[ROUNDS], memory[ROUNDS], value, peer;
	uint64_t bytes;

	if (!shard || !slots)
		return 1;
	bytes = make_shard(shard);
	if (decode(shard, bytes, slots) != RECORDS || !verified(slots)) {
		(void)fprintf(stderr, "decode: the records read back are not those written\n");
		return 1;
	}
	if (argc > 1 && leave(argv[1], shard, bytes) < 0)
		return 1;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double start = seconds();

		(void)decode(shard, bytes, slots);
		ours[i] = seconds() - start;
		start = seconds();
		copy(shard, bytes / RECORDS, slots);
		__asm__ volatile("" : : "r"(slots) : "memory"); /* the copies are not to be optimised away */
		memory[i] = seconds() - start;
	}
	value = (double)bytes / median(ours) / 1e9;
	peer = (double)bytes / median(memory) / 1e9;
	printf("{\"name\":\"decode\",\"case\":\"512 floats, both CRCs, one "
	       "core\",\"value\":%.2f,\"unit\":\"GB/s\","
	       "\"peer\":\"memcpy into slots\",\"peer_value\":%.2f,\"ratio\":%.3f}\n",
	       value, peer, value / peer);
	printf("{\"name\":\"decode\",\"case\":\"512 floats, both CRCs, one core: records\",\"value\":%.0f,"
	       "\"unit\":\"records/s\"}\n",
	       RECORDS / median(ours));
	return 0;
}
