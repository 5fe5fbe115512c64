/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures one worker that reads a gzip shard of Examples into the rows of ring-like slots, as fetchd does:
 * reads and inflates the shard, indexes the records and checks both CRCs, then parses the records in the
 * order of a pass into the columns. In the same rounds it measures on the same bytes the inflate library
 * alone, and the libraries that Kiln does not use. The result is verified before it is timed.
 *
 * Usage: inflate SHARD LABELS CASE    records of 512 floats "sentence" and LABELS int64 "label"
 *        inflate SHARD                makes a shard
 *        inflate alone SHARD...       records of 2 labels, and the library's CPU-seconds for one pass
 */
#include "data/inflate.h"
#include "data/example.h"
#include "data/order.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define FLOATS      512u
#define LABELS_MAX  16u
#define SLOTS       16u
#define ROWS        128u
#define ROUNDS      11u
#define ROUND_BYTES (64u << 20) /* least inflated bytes that one time covers */
#define SHARD_MAX   ((uint64_t)1 << 30)
#define RECORD_MAX  4096u /* bytes of one framed */
#define MADE        500u  /* records: a shard of the recommended size */

struct slot {
	float sentence[ROWS][FLOATS];
	int64_t label[ROWS][LABELS_MAX];
};

static const struct order_key key = { .seed = 44 };

struct bench {
	struct example_schema schema;
	struct inflater *inflater;
	struct slot *slots;
	uint8_t *packed, *plain;
	uint64_t packed_bytes, plain_bytes, capacity;
	struct tfrecord *record;
	uint64_t records, records_max;
};

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- The whole way ---- */

static bool index_records(struct bench *bench)
{
	uint64_t offset = 0;

	for (bench->records = 0;; offset = bench->record[bench->records++].next) {
		if (bench->records == bench->records_max) {
			bench->records_max = bench->records_max ? 2 * bench->records_max : 1024;
			bench->record = realloc(bench->record, bench->records_max * sizeof(*bench->record));
			if (!bench->record)
				return false;
		}
		if (tfrecord_next(bench->plain, bench->plain_bytes, offset, UINT32_MAX,
				  &bench->record[bench->records], NULL) < 0)
			return offset == bench->plain_bytes;
	}
}

/* As in gather.c: first the positions, then each record is prefetched before the current one is parsed. */
static bool gather(struct bench *bench)
{
	const struct order_permutation order = order_permutation(&key, bench->records);
	const struct tfrecord *record[ROWS];
	uint64_t index[ROWS];

	for (uint64_t first = 0; first < bench->records; first += ROWS) {
		uint64_t left = bench->records - first, rows = left < ROWS ? left : ROWS;
		struct slot *slot = &bench->slots[first / ROWS % SLOTS];

		order_permuted_run(&order, first, (uint32_t)rows, index);
		for (uint64_t i = 0; i < rows; i++) {
			record[i] = &bench->record[index[i]];
			__builtin_prefetch(record[i]);
		}
		for (uint64_t i = 0; i < rows; i++) {
			void *columns[] = { slot->sentence[i], slot->label[i] };

			if (i + 1 < rows)
				tfrecord_ahead(record[i + 1]->data, record[i + 1]->bytes);
			if (example_parse(&bench->schema, record[i]->data, record[i]->bytes, columns, NULL) <
			    0)
				return false;
		}
	}
	return true;
}

static bool ours(struct bench *bench)
{
	return inflate_into(bench->inflater, bench->packed, bench->packed_bytes, COMPRESSION_GZIP, SHARD_MAX,
			    &bench->plain, &bench->capacity, &bench->plain_bytes, NULL) == 0 &&
	       index_records(bench) && gather(bench);
}

/* ---- The libraries alone, into the same memory; all of them check the members' CRCs ---- */

static uint64_t by_libdeflate(const struct bench *bench)
{
	struct libdeflate_decompressor *decompressor = (struct libdeflate_decompressor *)bench->inflater;
	uint64_t at = 0, out = 0;

	while (at < bench->packed_bytes) {
		size_t used, made;

		if (libdeflate_gzip_decompress_ex(decompressor, bench->packed + at, bench->packed_bytes - at,
						  bench->plain + out, bench->plain_bytes - out, &used,
						  &made) != LIBDEFLATE_SUCCESS)
			return 0;
		at += used;
		out += made;
	}
	return out;
}

static uint64_t by_isal(const struct bench *bench)
{
	static struct inflate_state state;
	uint64_t out = 0;

	isal_inflate_init(&state);
	state.crc_flag = ISAL_GZIP;
	state.next_in = bench->packed;
	state.avail_in = (uint32_t)bench->packed_bytes;
	for (;;) {
		state.next_out = bench->plain + out;
		state.avail_out = (uint32_t)(bench->plain_bytes - out);
		if (isal_inflate(&state) != ISAL_DECOMP_OK || state.block_state != ISAL_BLOCK_FINISH)
			return 0;
		out = (uint64_t)(state.next_out - bench->plain);
		if (state.avail_in == 0)
			return out;
		isal_inflate_reset(&state);
		state.crc_flag = ISAL_GZIP;
	}
}

static uint64_t by_zlib(const struct bench *bench)
{
	z_stream stream = { .next_in = bench->packed, .avail_in = (uInt)bench->packed_bytes };
	uint64_t out = 0;

	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		return 0;
	do {
		stream.next_out = bench->plain + out;
		stream.avail_out = (uInt)(bench->plain_bytes - out);
		if (inflate(&stream, Z_NO_FLUSH) != Z_STREAM_END)
			break;
		out = (uint64_t)(stream.next_out - bench->plain);
	} while (stream.avail_in > 0 && inflateReset(&stream) == Z_OK);
	(void)inflateEnd(&stream);
	return out;
}

static const struct {
	const char *name;
	uint64_t (*inflate)(const struct bench *bench);
} library[] = { { "libdeflate", by_libdeflate }, { "ISA-L", by_isal }, { "zlib", by_zlib } };
#define LIBRARIES (sizeof(library) / sizeof(library[0]))

/* ---- Checks and figures ---- */

/* Each library's bytes are the same, and each row equals its record in TensorFlow's layout: the record
 * written again from the row equals the record that was read. */
static bool verified(struct bench *bench)
{
	CLEANUP(free_ptr) uint8_t *first = NULL, *again = malloc(1u << 16);

	if (!again || !ours(bench) || !(first = malloc(bench->plain_bytes)))
		return false;
	memcpy(first, bench->plain, bench->plain_bytes);
	for (uint64_t n = bench->records < SLOTS * ROWS ? 0 : bench->records - SLOTS * ROWS;
	     n < bench->records; n++) {
		const struct slot *slot = &bench->slots[n / ROWS % SLOTS];
		const void *rows[] = { slot->sentence[n % ROWS], slot->label[n % ROWS] };
		const struct tfrecord *record = &bench->record[order_permute(&key, bench->records, n)];

		if (example_write(&bench->schema, rows, again, 1u << 16) != record->bytes ||
		    memcmp(again, record->data, record->bytes) != 0)
			return false;
	}
	for (size_t i = 0; i < LIBRARIES; i++) {
		memset(bench->plain, 0, bench->plain_bytes);
		if (library[i].inflate(bench) != bench->plain_bytes ||
		    memcmp(first, bench->plain, bench->plain_bytes) != 0)
			return false;
	}
	return true;
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

static void measure(struct bench *bench, const char *label)
{
	uint64_t passes = ROUND_BYTES / bench->plain_bytes + 1;
	double whole[ROUNDS], alone[LIBRARIES][ROUNDS], bytes = (double)bench->plain_bytes * (double)passes,
							value;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		double start = seconds();

		for (uint64_t pass = 0; pass < passes; pass++)
			(void)ours(bench);
		whole[round] = seconds() - start;
		for (size_t i = 0; i < LIBRARIES; i++) {
			start = seconds();
			for (uint64_t pass = 0; pass < passes; pass++)
				(void)library[i].inflate(bench);
			alone[i][round] = seconds() - start;
		}
	}
	value = bytes / median(whole) / 1e6;
	for (size_t i = 0; i < LIBRARIES; i++) {
		double peer = bytes / median(alone[i]) / 1e6;

		printf("{\"name\":\"inflate\",\"case\":\"%s, one worker, to slots%s\",\"value\":%.0f,"
		       "\"unit\":\"MB/s\",\"peer\":\"%s alone\",\"peer_value\":%.0f,\"ratio\":%.3f}\n",
		       label, i ? ", beside a library not chosen" : "", value, library[i].name, peer,
		       value / peer);
	}
}

static struct example_schema schema_of(uint64_t labels)
{
	return (struct example_schema){
		.features = 2,
		.feature = { { .name = "sentence", .dtype = EXAMPLE_FLOAT32, .elements = FLOATS },
			     { .name = "label", .dtype = EXAMPLE_INT64, .elements = labels } },
	};
}

static int make(const char *path)
{
	static uint8_t plain[MADE * RECORD_MAX];
	struct example_schema schema = schema_of(2);
	uint64_t state = 44, used = 0, bytes;
	CLEANUP(free_ptr) uint8_t *packed = NULL;
	CLEANUP(close_file) FILE *file = fopen(path, "wbe");

	for (uint32_t n = 0; n < MADE; n++) {
		int64_t label[2] = { n % 2, 1 - n % 2 };
		float sentence[FLOATS];
		const void *rows[] = { sentence, label };
		uint8_t example[RECORD_MAX];

		for (uint32_t i = 0; i < FLOATS; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
			sentence[i] = (float)(state >> 40) / 16777216.0f - 0.5f;
		}
		used += tfrecord_frame(example, example_write(&schema, rows, example, sizeof(example)),
				       plain + used);
	}
	if (!file || deflate_all(plain, used, COMPRESSION_GZIP, 6, &packed, &bytes, NULL) < 0)
		return 1;
	return fwrite(packed, 1, bytes, file) == bytes && fflush(file) == 0 ? 0 : 1;
}

static bool load(struct bench *bench, const char *path)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rbe");

	if (!file || fseek(file, 0, SEEK_END) < 0)
		return false;
	bench->packed_bytes = (uint64_t)ftell(file);
	free(bench->packed);
	bench->packed = malloc(bench->packed_bytes);
	if (!bench->slots)
		bench->slots = calloc(SLOTS, sizeof(*bench->slots));
	rewind(file);
	return bench->packed && bench->slots &&
	       fread(bench->packed, 1, bench->packed_bytes, file) == bench->packed_bytes &&
	       (bench->inflater || inflater_open(&bench->inflater, NULL) == 0);
}

static int alone(char **path)
{
	struct bench bench = { .schema = schema_of(2) };
	uint64_t records = 0;
	double took = 0;

	for (; *path; path++) {
		double start;

		if (!load(&bench, *path) || !ours(&bench))
			return 1;
		records += bench.records;
		start = seconds();
		if (by_libdeflate(&bench) != bench.plain_bytes)
			return 1;
		took += seconds() - start;
	}
	return printf("%" PRIu64 " %.6f\n", records, took) < 0;
}

static int run(const char *path, uint64_t labels, const char *label)
{
	struct bench bench = { .schema = schema_of(labels) };

	if (labels == 0 || labels > LABELS_MAX)
		return 2;
	if (!load(&bench, path))
		return 1;
	if (!verified(&bench)) {
		(void)fprintf(stderr, "inflate: %s is not what was written\n", path);
		return 1;
	}
	measure(&bench, label);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "alone") == 0)
		return alone(argv + 2);
	if (argc == 2)
		return make(argv[1]);
	return argc == 4 ? run(argv[1], strtoull(argv[2], NULL, 10), argv[3]) : 2;
}
