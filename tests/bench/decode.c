/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures TFRecord and Example decoding on one core. Each record has 512 floats and two int64. Both CRCs are
 * checked, and the values go into the columns of ring-like slots of 128 rows; shard and slots are on huge
 * pages, as in fetchd. First the shard is read from memory, and in the same rounds memcpy() copies the same
 * floats into the same slots, which shows what the memory alone allows. Then the shard is read from a file,
 * as other loaders read it. The result is verified before it is timed.
 * Usage: decode FILE RECORDS      FILE: the shard, which this program makes
 */
#include "core/base/cleanup.h"
#include "data/example.h"
#include "data/tfrecord.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PASS_RECORDS 60000u /* records that one time covers */
#define FLOATS       512u
#define LABELS       2u
#define SLOTS        16u
#define ROWS         128u
#define ROUNDS       11u
#define RECORD_BYTES 2200u /* buffer for one framed record */

struct slot {
	float sentence[ROWS][FLOATS];
	int64_t label[ROWS][LABELS];
};

/* Neither these nor the length of the copies is const: the compiler must not know more here than in
 * fetchd. */
static struct example_schema schema = {
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

static uint64_t make_shard(uint8_t *shard, uint32_t records)
{
	uint64_t used = 0;

	for (uint32_t r = 0; r < records; r++) {
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

/* Decodes every record of the shard into the slots, one after the other. Returns how many were right. */
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

/* Does the same from a file in the page cache, which is mapped for each pass. */
static uint32_t decode_file(int fd, uint64_t bytes, struct slot *slots)
{
	void *shard = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	uint32_t n;

	if (shard == MAP_FAILED)
		return 0;
	n = decode(shard, bytes, slots);
	(void)munmap(shard, bytes);
	return n;
}

/* Copies only the floats, from the position of each record's floats. */
static void copy(const uint8_t *shard, uint64_t record_bytes, uint32_t records, struct slot *slots)
{
	for (uint32_t n = 0; n < records; n++)
		memcpy(slots[n / ROWS % SLOTS].sentence[n % ROWS], shard + n * record_bytes,
		       schema.feature[0].elements * sizeof(float));
	__asm__ volatile("" : : "r"(slots) : "memory"); /* keep the compiler from removing the copies */
}

/* The rows that the slots hold after a whole decode: the last ones. */
static bool verified(const struct slot *slots, uint32_t records)
{
	bool same = true;

	for (uint32_t n = records - ROWS; n < records; n++) {
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

static void *huge(uint64_t bytes)
{
	uint64_t whole = (bytes + (2u << 20) - 1) >> 21 << 21;
	void *memory = aligned_alloc(2u << 20, whole);

	if (!memory || madvise(memory, whole, MADV_HUGEPAGE) < 0)
		abort();
	return memset(memory, 0, whole);
}

struct bench {
	uint32_t records, passes; /* records in the shard; passes over the shard that are timed together */
	uint8_t *shard;
	uint64_t bytes;
	struct slot *slots;
	int fd;
};

static int check(const struct bench *bench)
{
	if (decode(bench->shard, bench->bytes, bench->slots) == bench->records &&
	    verified(bench->slots, bench->records)) {
		memset(bench->slots, 0, SLOTS * sizeof(*bench->slots));
		if (decode_file(bench->fd, bench->bytes, bench->slots) == bench->records &&
		    verified(bench->slots, bench->records))
			return 0;
	}
	(void)fprintf(stderr, "decode: the records read back are not those written\n");
	return -EBADMSG;
}

static void measure(const struct bench *bench)
{
	double ours[ROUNDS], memory[ROUNDS], file[ROUNDS], value, peer;
	double bytes = (double)bench->bytes * bench->passes;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		double start = seconds();

		for (uint32_t pass = 0; pass < bench->passes; pass++)
			(void)decode(bench->shard, bench->bytes, bench->slots);
		ours[i] = seconds() - start;
		start = seconds();
		for (uint32_t pass = 0; pass < bench->passes; pass++)
			copy(bench->shard, bench->bytes / bench->records, bench->records, bench->slots);
		memory[i] = seconds() - start;
		start = seconds();
		for (uint32_t pass = 0; pass < bench->passes; pass++)
			(void)decode_file(bench->fd, bench->bytes, bench->slots);
		file[i] = seconds() - start;
	}
	value = bytes / median(ours) / 1e9;
	peer = bytes / median(memory) / 1e9;
	printf("{\"name\":\"decode\",\"case\":\"%u records from memory, both CRCs, one core\",\"value\":%.2f,"
	       "\"unit\":\"GB/s\",\"peer\":\"memcpy into slots\",\"peer_value\":%.2f,\"ratio\":%.3f}\n",
	       bench->records, value, peer, value / peer);
	printf("{\"name\":\"decode\",\"case\":\"%u records from a local file, both CRCs, one core\","
	       "\"value\":%.0f,\"unit\":\"records/s\"}\n",
	       bench->records, (double)bench->records * bench->passes / median(file));
}

int main(int argc, char **argv)
{
	struct bench bench = { .records = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0 };

	if (bench.records < ROWS)
		return 2;
	bench.passes = (PASS_RECORDS + bench.records - 1) / bench.records;
	__asm__ volatile("" : : "r"(&schema) : "memory");
	bench.shard = huge((uint64_t)bench.records * RECORD_BYTES);
	bench.slots = huge(SLOTS * sizeof(*bench.slots));
	bench.bytes = make_shard(bench.shard, bench.records);
	bench.fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (bench.fd < 0 || write(bench.fd, bench.shard, bench.bytes) != (ssize_t)bench.bytes ||
	    check(&bench) < 0)
		return 1;
	measure(&bench);
	return 0;
}
