/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/spill.h"

#include "core/base/temporary.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define PART_BITS   11u
#define CHUNK_LEAST 4096u
#define CHUNK_MOST  65536u

static_assert(SPILL_PARTS == 1u << PART_BITS, "a part for each value of the first bits");

/* Bytes of a part that are in the file. */
struct extent {
	uint64_t at;
	uint32_t bytes;
};

struct part {
	char *buffer; /* the rows that came last */
	uint32_t used, capacity;
	struct extent *extent;
	uint32_t extents, extent_capacity;
	uint64_t bytes; /* in the file and in the buffer */
	uint32_t rows[TEXTS_SPLITS];
};

struct spill {
	int fd; /* -1: nothing was written yet */
	uint64_t file_bytes;
	uint32_t chunk_bytes; /* a buffer is written when it has so many bytes */
	struct part part[SPILL_PARTS];
};

int spill_open(uint64_t memory_bytes, struct spill **ret_spill, struct error *err)
{
	const uint64_t chunk = memory_bytes / SPILL_PARTS;
	struct spill *spill = calloc(1, sizeof(*spill));

	if (!spill)
		return error_set(err, -ENOMEM, "no memory for the rows of a table");
	spill->fd = -1;
	spill->chunk_bytes = chunk < CHUNK_LEAST  ? CHUNK_LEAST
			     : chunk > CHUNK_MOST ? CHUNK_MOST
						  : (uint32_t)chunk;
	*ret_spill = spill;
	return 0;
}

void spill_free(struct spill *spill)
{
	if (!spill)
		return;
	for (uint32_t p = 0; p < SPILL_PARTS; p++) {
		free(spill->part[p].buffer);
		free(spill->part[p].extent);
	}
	close_fd(&spill->fd);
	free(spill);
}

static int open_file(struct spill *spill, struct error *err)
{
	char path[PATH_BYTES];
	int r = temporary_file("table", path, err);

	if (r < 0)
		return r;
	spill->fd = open(path, O_RDWR | O_CLOEXEC);
	r = spill->fd < 0 ? error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno)) : 0;
	(void)unlink(path);
	return r;
}

static int write_all(struct spill *spill, const char *data, uint32_t bytes, struct error *err)
{
	while (bytes) {
		const ssize_t n = pwrite(spill->fd, data, bytes, (off_t)spill->file_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(
				err, -errno,
				"a temporary file in the folder TMPDIR, or /tmp: cannot write byte %" PRIu64
				" of it: %s",
				spill->file_bytes, strerror(errno));
		spill->file_bytes += (uint64_t)n;
		data += n;
		bytes -= (uint32_t)n;
	}
	return 0;
}

/* Writes the buffer of a part to the file. */
static int flush(struct spill *spill, struct part *part, struct error *err)
{
	const struct extent extent = { spill->file_bytes, part->used };
	int r = spill->fd < 0 ? open_file(spill, err) : 0;

	if (r < 0)
		return r;
	if (part->extents == part->extent_capacity) {
		const uint32_t capacity = part->extent_capacity ? part->extent_capacity * 2 : 16;
		void *memory = realloc(part->extent, capacity * sizeof(*part->extent));

		if (!memory)
			return error_set(err, -ENOMEM, "no memory for %u pieces of a part", capacity);
		part->extent = memory;
		part->extent_capacity = capacity;
	}
	if ((r = write_all(spill, part->buffer, part->used, err)) < 0)
		return r;
	part->extent[part->extents++] = extent;
	part->used = 0;
	return 0;
}

static int reserve(struct part *part, uint32_t bytes, struct error *err)
{
	const uint32_t twice = part->capacity * 2;
	const uint32_t capacity = part->used + bytes > twice ? part->used + bytes : twice;
	char *buffer;

	if (part->used + bytes <= part->capacity)
		return 0;
	buffer = realloc(part->buffer, capacity);
	if (!buffer)
		return error_set(err, -ENOMEM, "no memory for %u bytes of rows", capacity);
	part->buffer = buffer;
	part->capacity = capacity;
	return 0;
}

int spill_add(struct spill *spill, const struct spill_row *row, struct error *err)
{
	struct part *part = &spill->part[row->key >> (64 - PART_BITS)];
	int r = 0;

	if (part->used && part->used + row->bytes > spill->chunk_bytes)
		r = flush(spill, part, err);
	if (r < 0 || (r = reserve(part, row->bytes, err)) < 0)
		return r;
	memcpy(part->buffer + part->used, row, row->bytes);
	part->used += row->bytes;
	part->bytes += row->bytes;
	part->rows[row->split]++;
	return 0;
}

uint32_t spill_rows(const struct spill *spill, uint32_t part, enum texts_split split)
{
	return spill->part[part].rows[split];
}

uint64_t spill_largest(const struct spill *spill)
{
	uint64_t largest = 0;

	for (uint32_t p = 0; p < SPILL_PARTS; p++)
		largest = spill->part[p].bytes > largest ? spill->part[p].bytes : largest;
	return largest;
}

void spill_part_done(struct spill_part *part)
{
	free(part->data);
	free(part->row);
	*part = (struct spill_part){ 0 };
}

static int read_extent(int fd, const struct extent *extent, char *out, struct error *err)
{
	uint64_t done = 0;

	while (done < extent->bytes) {
		const ssize_t n = pread(fd, out + done, extent->bytes - done, (off_t)(extent->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(err, n < 0 ? -errno : -EIO,
					 "a temporary file of rows: cannot read byte %" PRIu64 " of it: %s",
					 extent->at + done, n < 0 ? strerror(errno) : "it ends there");
		done += (uint64_t)n;
	}
	return 0;
}

/* By the key; rows with one key stay in the order in which they came. */
static int compare(const void *a, const void *b)
{
	const struct spill_row *x = *(const struct spill_row *const *)a,
			       *y = *(const struct spill_row *const *)b;

	if (x->split != y->split)
		return x->split < y->split ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x < y ? -1 : x > y;
}

int spill_load(const struct spill *spill, uint32_t number, struct spill_part *ret_part, struct error *err)
{
	const struct part *part = &spill->part[number];
	CLEANUP(spill_part_done) struct spill_part loaded = { .data = malloc(part->bytes + 1) };
	uint32_t rows = 0;
	uint64_t at = 0;

	for (int s = 0; s < TEXTS_SPLITS; s++) {
		loaded.first[s] = rows;
		rows += part->rows[s];
	}
	loaded.row = malloc(((size_t)rows + 1) * sizeof(const struct spill_row *));
	if (!loaded.data || !loaded.row)
		return error_set(err, -ENOMEM, "no memory for a part of %" PRIu64 " bytes", part->bytes);
	for (uint32_t i = 0; i < part->extents; i++) {
		int r = read_extent(spill->fd, &part->extent[i], loaded.data + at, err);

		if (r < 0)
			return r;
		at += part->extent[i].bytes;
	}
	memcpy(loaded.data + at, part->buffer ? part->buffer : "", part->used);
	at = 0;
	for (uint32_t i = 0; i < rows; i++) {
		loaded.row[i] = (const struct spill_row *)(loaded.data + at);
		at += loaded.row[i]->bytes;
	}
	qsort(loaded.row, rows, sizeof(const struct spill_row *), compare);
	*ret_part = loaded;
	loaded = (struct spill_part){ 0 };
	return 0;
}
