/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trainer that only reads: fetch_reader [--cursor FILE] [--stop-after BATCHES] [--save FILE] [--revisit N]
 * [--rows] [--columns] [--rate] Attaches to the ring under KILN_ROOT at the cursor of FILE (the start without
 * it), and prints a line a slot: DATA split segment batch rows valid crc   |   END_SEGMENT split segment
 * batches rows | END_RUN ERROR code key text
 * --save     writes the cursor after the last slot.
 * --revisit  after END_RUN goes back N times to a place it was at, and checks that the same slots follow:
 *            prints REVISITED N, or DIFFERS and both lines.
 * --rank R --world N   asks as one of several ranks
 * --pace-ms  waits so long after each slot
 * --hold FILE waits after the first slot until FILE is there
 * --rows     prints after each batch a line for each row that is not empty: ROW split segment crc
 * --columns  prints after each batch a line for each column: COLUMN name dtype bytes-in-hex
 * --rate     prints only, at the end: rows, data bytes, seconds to the first slot and in all since the
 *            reader's start; then how many segments there were between the end of the first one and that of
 *            the last but one, and their seconds: the rate without start and end.
 * --unfinished  leaves the run's state as it is
 * At END_RUN the run is set finished, as traind does, so that fetchd ends.
 */
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/ring/ring.h"
#include "core/run/run.h"
#include "data/batch.h"
#include "data/crc32c.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES    2048
#define HISTORY_MAX   65536
#define REVISIT_SLOTS 2

/* The lines that were read: history.line[i] followed history.before[i]. */
static struct {
	char *line[HISTORY_MAX];
	struct cursor *before[HISTORY_MAX];
	size_t count;
} history;

static void wait_ms(long ms)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct ring *open_ring(void)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	char path[PATH_BYTES];
	struct ring *ring;
	struct error err;

	for (int i = 0; i < 30000; i++) {
		if (ring_open(path_of(PATH_RING, NULL, path), &ring, &err) == 0)
			return ring;
		(void)nanosleep(&nap, NULL);
	}
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

static void line_of(const struct ring *ring, const struct ring_slot *slot, char line[static LINE_BYTES])
{
	uint32_t crc = 0;

	switch (slot->kind) {
	case RING_DATA:
		for (uint32_t i = 0; i < ring_geometry_of(ring)->columns; i++)
			crc = crc32c(crc, ring_column_data(ring, slot, i), slot->column[i].bytes);
		(void)snprintf(line, LINE_BYTES, "DATA %u %" PRIu64 " %" PRIu64 " %u %u %08x", slot->split,
			       slot->segment, slot->batch, slot->rows, slot->valid_rows, crc);
		break;
	case RING_END_SEGMENT:
		(void)snprintf(line, LINE_BYTES, "END_SEGMENT %u %" PRIu64 " %" PRIu64 " %" PRIu64,
			       slot->split, slot->segment, slot->total_batches, slot->total_rows);
		break;
	case RING_END_RUN:
		(void)snprintf(line, LINE_BYTES, "END_RUN");
		break;
	default:
		(void)snprintf(line, LINE_BYTES, "ERROR %d %s %s", slot->error_code,
			       ring_error_data(ring, slot)->key, ring_error_data(ring, slot)->text);
		break;
	}
}

/* Returns the slot after the cursor `at`, which is that of the last slot. A ring of another size, as another
 * number of ranks has it, replaces *ring. */
static const struct ring_slot *next_slot(struct ring **ring, const struct cursor *at)
{
	const struct ring_slot *slot;
	struct error err = { 0 };
	int r;

	while ((r = ring_next(*ring, &slot, &err)) == -EAGAIN || r == -EPIPE) {
		if (r == -EAGAIN) {
			(void)ring_reader_wait(*ring, 1000);
			continue;
		}
		ring_close(*ring);
		*ring = open_ring();
		ring_attach(*ring, at);
	}
	if (r == 0)
		return slot;
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

static void remember(const struct cursor *before, const char *line)
{
	struct cursor *copy = malloc(sizeof(*copy));

	if (!copy || history.count == HISTORY_MAX)
		abort();
	*copy = *before;
	history.before[history.count] = copy;
	history.line[history.count++] = strdup(line);
}

static size_t any(size_t n)
{
	static uint64_t state = 88172645463325252u;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (size_t)((state >> 33) % n);
}

/* Goes back to positions all over the run, near and far, and reads a few slots each time. Before that it
 * asks for another position and gives it up, while its window may be half fetched. */
static int revisit(struct ring **ring, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++) {
		struct timespec nap = { .tv_nsec = (long)any(3000000) };
		size_t at = any(history.count);

		ring_attach(*ring, history.before[any(history.count)]);
		(void)nanosleep(&nap, NULL);
		ring_attach(*ring, history.before[at]);
		for (int k = 0; k < REVISIT_SLOTS && at + (size_t)k < history.count; k++) {
			const struct ring_slot *slot = next_slot(ring, history.before[at + (size_t)k]);
			char line[LINE_BYTES];

			line_of(*ring, slot, line);
			ring_release(*ring, slot);
			if (strcmp(line, history.line[at + (size_t)k]) == 0)
				continue;
			printf("DIFFERS at %zu: %s, was %s\n", at + (size_t)k, line,
			       history.line[at + (size_t)k]);
			return 1;
		}
	}
	printf("REVISITED %" PRIu64 "\n", times);
	return 0;
}

struct options {
	const char *save, *load, *hold;
	uint64_t stop_after, revisit;
	long pace_ms;
	uint32_t rank, world;
	bool rate, rows, columns, unfinished;
};

static struct options parse(int argc, char **argv)
{
	struct options options = { .stop_after = UINT64_MAX };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--rank") == 0)
			options.rank = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--world") == 0)
			options.world = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--unfinished") == 0)
			options.unfinished = true;
		else if (strcmp(argv[i], "--rate") == 0)
			options.rate = true;
		else if (strcmp(argv[i], "--pace-ms") == 0)
			options.pace_ms = strtol(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--hold") == 0)
			options.hold = argv[++i];
		else if (strcmp(argv[i], "--rows") == 0)
			options.rows = true;
		else if (strcmp(argv[i], "--columns") == 0)
			options.columns = true;
		else if (strcmp(argv[i], "--cursor") == 0)
			options.load = argv[++i];
		else if (strcmp(argv[i], "--save") == 0)
			options.save = argv[++i];
		else if (strcmp(argv[i], "--stop-after") == 0)
			options.stop_after = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--revisit") == 0)
			options.revisit = strtoull(argv[++i], NULL, 10);
	}
	return options;
}

static uint64_t data_bytes(const struct ring *ring, const struct ring_slot *slot)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ring_geometry_of(ring)->columns; i++)
		bytes += slot->column[i].bytes;
	return bytes;
}

/* The columns of features come before the column that marks empty rows. */
static uint32_t empty_column(const struct ring_geometry *geometry)
{
	uint32_t column = 0;

	while (strcmp(geometry->column[column].name, BATCH_COLUMN_EMPTY) != 0)
		column++;
	return column;
}

static void print_rows(const struct ring *ring, const struct ring_slot *slot)
{
	const struct ring_geometry *geometry = ring_geometry_of(ring);
	uint32_t last = empty_column(geometry);

	for (uint32_t row = 0; slot->kind == RING_DATA && row < slot->rows; row++) {
		uint32_t crc = 0;

		if (((const uint8_t *)ring_column_data(ring, slot, last))[row])
			continue;
		for (uint32_t i = 0; i < last; i++) {
			uint32_t bytes = geometry->column[i].row_bytes;

			crc = crc32c(crc, (const uint8_t *)ring_column_data(ring, slot, i) + row * bytes,
				     bytes);
		}
		printf("ROW %u %" PRIu64 " %08x\n", slot->split, slot->segment, crc);
	}
}

static void print_columns(const struct ring *ring, const struct ring_slot *slot)
{
	const struct ring_geometry *geometry = ring_geometry_of(ring);

	for (uint32_t i = 0; slot->kind == RING_DATA && i < geometry->columns; i++) {
		const uint8_t *data = ring_column_data(ring, slot, i);

		printf("COLUMN %s %u ", geometry->column[i].name, geometry->column[i].dtype);
		for (uint64_t k = 0; k < slot->column[i].bytes; k++)
			printf("%02x", data[k]);
		putchar('\n');
	}
}

/* Reads until END_RUN, ERROR or enough batches; *cursor follows. */
static void follow(struct ring **ring_of, const struct options *options, double start, struct cursor *cursor)
{
	double first = 0, first_end = 0, last_end = 0, end_before = 0;
	uint64_t batches = 0, rows = 0, bytes = 0, segments = 0;
	uint32_t kind;

	do {
		const struct ring_slot *slot = next_slot(ring_of, cursor);
		struct ring *ring = *ring_of;
		char line[LINE_BYTES];

		kind = slot->kind;
		first = first > 0 ? first : seconds() - start;
		if (!options->rate) {
			line_of(ring, slot, line);
			puts(line);
		}
		if (options->rows)
			print_rows(ring, slot);
		if (options->columns)
			print_columns(ring, slot);
		if (options->revisit)
			remember(cursor, line);
		if (kind == RING_DATA) {
			batches++;
			rows += slot->rows;
			bytes += data_bytes(ring, slot);
		}
		if (kind == RING_END_SEGMENT) {
			end_before = last_end;
			last_end = seconds();
			first_end = segments++ ? first_end : last_end;
		}
		*cursor = slot->cursor;
		ring_release(ring, slot);
		if (options->pace_ms)
			wait_ms(options->pace_ms);
		while (options->hold && access(options->hold, F_OK) != 0)
			wait_ms(10);
	} while (kind != RING_END_RUN && kind != RING_ERROR && batches != options->stop_after);
	if (options->rate)
		printf("%" PRIu64 " %" PRIu64 " %.6f %.6f %" PRIu64 " %.6f\n", rows, bytes, first,
		       seconds() - start, segments > 2 ? segments - 2 : 0,
		       segments > 2 ? end_before - first_end : 0);
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct cursor cursor = { .version = CURSOR_VERSION };
	double start = seconds();
	struct ring *ring;
	struct error err;

	if (options.load) {
		FILE *file = fopen(options.load, "re");

		if (!file || fread(&cursor, sizeof(cursor), 1, file) != 1)
			return 1;
		(void)fclose(file);
	}
	(void)slot_use_rank(options.rank);
	cursor.rank = options.rank;
	cursor.world = options.world;
	ring = open_ring();
	ring_attach(ring, &cursor);
	follow(&ring, &options, start, &cursor);
	if (options.save) {
		FILE *file = fopen(options.save, "we");

		if (!file || fwrite(&cursor, sizeof(cursor), 1, file) != 1 || fclose(file) != 0)
			return 1;
	}
	if (options.revisit && revisit(&ring, options.revisit) != 0)
		return 1;
	if (cursor.ended && !options.unfinished && run_state_set(RUN_FINISHED, &err) < 0)
		return 1;
	ring_close(ring);
	return 0;
}
