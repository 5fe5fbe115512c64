/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trainer that only reads: fetch_reader [--cursor FILE] [--stop-after BATCHES] [--save FILE] [--rate]
 * Attaches to the ring under KILN_ROOT at the cursor of FILE (the start without it), and prints a line a
 * slot: DATA split segment batch rows valid crc   |   END_SEGMENT split segment batches rows   |   END_RUN |
 * ERROR code key text With --save the cursor behind the last slot is written. With --rate only rows and
 * seconds are printed, at the end. At END_RUN the run is set finished, as traind does, so that fetchd ends.
 */
#include "core/paths.h"
#include "core/ring.h"
#include "core/run.h"
#include "data/crc32c.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct ring *open_ring(void)
{
	struct timespec nap = { .tv_nsec = 20000000 };
	char path[PATH_BYTES];
	struct ring *ring;
	struct error err;

	for (int i = 0; i < 1500; i++) {
		if (ring_open(path_of(PATH_RING, NULL, path), &ring, &err) == 0)
			return ring;
		(void)nanosleep(&nap, NULL);
	}
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

static void print_slot(const struct ring *ring, const struct ring_slot *slot)
{
	uint32_t crc = 0;

	switch (slot->kind) {
	case RING_DATA:
		for (uint32_t i = 0; i < ring_geometry_of(ring)->columns; i++)
			crc = crc32c(crc, ring_column_data(ring, slot, i), slot->column[i].bytes);
		printf("DATA %u %" PRIu64 " %" PRIu64 " %u %u %08x\n", slot->split, slot->segment,
		       slot->batch, slot->rows, slot->valid_rows, crc);
		break;
	case RING_END_SEGMENT:
		printf("END_SEGMENT %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", slot->split, slot->segment,
		       slot->total_batches, slot->total_rows);
		break;
	case RING_END_RUN:
		printf("END_RUN\n");
		break;
	default:
		printf("ERROR %d %s %s\n", slot->error_code, ring_error_data(slot)->key,
		       ring_error_data(slot)->text);
		break;
	}
}

int main(int argc, char **argv)
{
	const char *save = NULL, *load = NULL;
	uint64_t stop_after = UINT64_MAX, batches = 0, rows = 0;
	struct cursor cursor = { .version = CURSOR_VERSION };
	struct ring *ring;
	bool rate = false;
	double start;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--rate") == 0)
			rate = true;
		else if (strcmp(argv[i], "--cursor") == 0)
			load = argv[++i];
		else if (strcmp(argv[i], "--save") == 0)
			save = argv[++i];
		else if (strcmp(argv[i], "--stop-after") == 0)
			stop_after = strtoull(argv[++i], NULL, 10);
	}
	if (load) {
		FILE *file = fopen(load, "re");

		if (!file || fread(&cursor, sizeof(cursor), 1, file) != 1)
			return 1;
		(void)fclose(file);
	}
	ring = open_ring();
	ring_attach(ring, &cursor);
	start = seconds();
	for (;;) {
		const struct ring_slot *slot;
		struct error err = { 0 };
		uint32_t kind;
		int r = ring_next(ring, &slot, &err);

		if (r == -EAGAIN) {
			(void)ring_reader_wait(ring, 1000);
			continue;
		}
		if (r < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		if (!rate)
			print_slot(ring, slot);
		kind = slot->kind;
		cursor = slot->cursor;
		rows += kind == RING_DATA ? slot->rows : 0;
		batches += kind == RING_DATA;
		ring_release(ring, slot);
		if (kind == RING_END_RUN || kind == RING_ERROR || batches == stop_after)
			break;
	}
	if (rate)
		printf("%" PRIu64 " %.6f\n", rows, seconds() - start);
	if (save) {
		FILE *file = fopen(save, "we");

		if (!file || fwrite(&cursor, sizeof(cursor), 1, file) != 1 || fclose(file) != 0)
			return 1;
	}
	if (cursor.ended && run_state_set(RUN_FINISHED, NULL) < 0)
		return 1;
	ring_close(ring);
	return 0;
}
