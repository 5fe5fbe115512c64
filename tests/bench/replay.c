/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches of a run from memory: what kiln-fetchd would put into the ring, without fetching and decoding.
 * record FILE: reads the ring under KILN_ROOT, writes all slots of the run into FILE, and sets the run
 * finished, so that kiln-fetchd ends. play FILE: writes the ring under KILN_ROOT, which gives kiln-traind the
 * slots of FILE, until the run is final.
 */
#include "core/base/paths.h"
#include "core/ring/ring.h"
#include "core/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 1000

static void must(bool done, const char *what)
{
	if (done)
		return;
	(void)fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

/* ---- Record ---- */

static struct ring *open_reader(void)
{
	char path[PATH_BYTES];
	struct ring *ring;
	struct error err = { 0 };

	for (int i = 0; i < 30000; i++) {
		if (ring_open(path_of(PATH_RING, NULL, path), &ring, &err) == 0)
			return ring;
		(void)usleep(1000);
	}
	must(false, err.text);
	return NULL;
}

static const struct ring_slot *next_slot(struct ring *ring)
{
	const struct ring_slot *slot = NULL;
	struct error err = { 0 };
	int r;

	while ((r = ring_next(ring, &slot, &err)) == -EAGAIN)
		(void)ring_reader_wait(ring, WAIT_MS);
	must(r == 0, err.text);
	return slot;
}

static void put(FILE *file, const void *data, size_t bytes)
{
	must(bytes == 0 || fwrite(data, bytes, 1, file) == 1, strerror(errno));
}

static size_t head_bytes(const struct ring_geometry *geometry)
{
	return offsetof(struct ring_slot, column) + geometry->columns * sizeof(struct ring_column);
}

static void record(const char *path)
{
	const struct cursor start = { .version = CURSOR_VERSION };
	struct ring *ring = open_reader();
	const struct ring_geometry *geometry = ring_geometry_of(ring);
	FILE *file = fopen(path, "we");
	struct error err = { 0 };
	uint32_t kind;

	must(file != NULL, strerror(errno));
	put(file, geometry, sizeof(*geometry));
	ring_attach(ring, &start);
	do {
		const struct ring_slot *slot = next_slot(ring);

		kind = slot->kind;
		must(kind != RING_ERROR, "kiln-fetchd has an error");
		put(file, slot, head_bytes(geometry));
		for (uint32_t i = 0; i < geometry->columns; i++)
			put(file, ring_column_data(ring, slot, i), slot->column[i].bytes);
		ring_release(ring, slot);
	} while (kind != RING_END_RUN);
	must(fclose(file) == 0, strerror(errno));
	must(run_state_set(RUN_FINISHED, &err) == 0, err.text);
	ring_close(ring);
}

/* ---- Play ---- */

struct tape {
	const uint8_t *at, *end;
};

static const void *take(struct tape *tape, size_t bytes)
{
	const void *data = tape->at;

	must(bytes <= (size_t)(tape->end - tape->at), "the file is cut short");
	tape->at += bytes;
	return data;
}

static struct tape open_tape(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	must(fd >= 0 && fstat(fd, &status) == 0, path);
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	must(data != MAP_FAILED, strerror(errno));
	(void)close(fd);
	return (struct tape){ data, (const uint8_t *)data + status.st_size };
}

/* Waits for the first request of the trainer. The slots begin at the start of the run. */
static void begin(struct ring *ring)
{
	struct cursor from;
	uint64_t generation;
	bool closed;

	while ((generation = ring_request(ring, &from, &closed)) == 0)
		(void)ring_writer_wait(ring, WAIT_MS);
	must(from.step == 0 && from.batch == 0, "the trainer does not begin at the start of the run");
	ring_begin(ring, generation);
}

static struct ring_slot *claim(struct ring *ring)
{
	struct ring_slot *slot = NULL;
	int r;

	while ((r = ring_claim(ring, &slot)) == -EAGAIN)
		(void)ring_writer_wait(ring, WAIT_MS);
	must(r == 0, "the ring is damaged");
	return slot;
}

static void play(const char *path)
{
	char ring_path[PATH_BYTES];
	struct tape tape = open_tape(path);
	struct ring_geometry geometry;
	enum run_state state = RUN_RUNNING;
	struct error err = { 0 };
	struct ring *ring;
	uint32_t kind;

	memcpy(&geometry, take(&tape, sizeof(geometry)), sizeof(geometry));
	/* A ring of an earlier run would still have the request of its reader. */
	must(ring_discard(path_of(PATH_RING, NULL, ring_path), &err) == 0, err.text);
	must(ring_create(ring_path, &geometry, WAIT_MS, &ring, &err) == 0, err.text);
	begin(ring);
	do {
		struct ring_slot *slot = claim(ring);
		const size_t head = head_bytes(&geometry);

		memcpy(slot, take(&tape, head), head);
		kind = slot->kind;
		for (uint32_t i = 0; i < geometry.columns; i++) {
			const size_t bytes = slot->column[i].bytes;

			memcpy(ring_column_data(ring, slot, i), take(&tape, bytes), bytes);
		}
		ring_commit(ring);
	} while (kind != RING_END_RUN);
	while (run_state_get(&state, &err) < 0 || !run_state_is_final(state))
		(void)ring_writer_wait(ring, WAIT_MS);
	ring_close(ring);
}

int main(int argc, char **argv)
{
	must(argc == 3, "usage: replay record|play FILE");
	if (strcmp(argv[1], "record") == 0)
		record(argv[2]);
	else
		play(argv[2]);
	return 0;
}
