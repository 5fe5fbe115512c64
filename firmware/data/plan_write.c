/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "data/order.h"
#include "data/plan_classes.h"
#include "data/plan_file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#define PART_ENTRIES 1024u /* entries that plan_hold_out_each() reads at once */
#define LOOK_SHARDS  256u  /* from one look at the disk to the next; they take less than 1 MiB */

struct plan_writer {
	FILE *entries, *heap; /* two files: the heap's place is known only after the last entry */
	struct plan_header header;
	struct plan_header_classes header_classes; /* of a plan of objects */
	struct plan_classes classes;
	uint64_t added; /* shards of all sources and splits */
	char path[PATH_BYTES];
	char last_key[PATH_BYTES];
	uint32_t source; /* source and split of the last key */
	enum split split;
};

static void temporary_names(const struct plan_writer *writer, char entries[static PATH_BYTES + 16],
			    char heap[static PATH_BYTES + 16])
{
	(void)snprintf(entries, PATH_BYTES + 16, "%s.tmp", writer->path);
	(void)snprintf(heap, PATH_BYTES + 16, "%s.heap.tmp", writer->path);
}

static bool is_of_objects(const struct plan_writer *writer)
{
	return writer->header.settings.order_version == ORDER_OBJECTS;
}

/* Writes the headers, at the beginning of the file. */
static bool write_headers(const struct plan_writer *writer)
{
	return fwrite(&writer->header, sizeof(writer->header), 1, writer->entries) == 1 &&
	       (!is_of_objects(writer) ||
		fwrite(&writer->header_classes, sizeof(writer->header_classes), 1, writer->entries) == 1);
}

int plan_create(const char *path, const struct plan_settings *settings, struct plan_writer **ret_writer,
		struct error *err)
{
	struct plan_writer *writer = calloc(1, sizeof(*writer));
	char entries[PATH_BYTES + 16], heap[PATH_BYTES + 16];

	if (!writer)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	(void)snprintf(writer->path, sizeof(writer->path), "%s", path);
	writer->header =
		(struct plan_header){ .magic = PLAN_MAGIC, .version = PLAN_VERSION, .settings = *settings };
	if (is_of_objects(writer))
		writer->header.version = PLAN_VERSION_MAX;
	temporary_names(writer, entries, heap);
	writer->entries = fopen(entries, "w+e");
	writer->heap = fopen(heap, "w+e");
	if (!writer->entries || !writer->heap || !write_headers(writer)) {
		int r = error_set(err, -errno, "%s: cannot write it: %s", entries, strerror(errno));

		plan_abandon(writer);
		return r;
	}
	*ret_writer = writer;
	return 0;
}

static int check_order(const struct plan_writer *writer, enum split split, const struct plan_shard *shard,
		       struct error *err)
{
	if (shard->source < PLAN_SOURCES_MAX &&
	    writer->header.shards[shard->source][split] == PLAN_SHARDS_MAX)
		return error_set(err, -EBADMSG, "shard \"%.100s\": a split of more than %" PRIu64 " shards",
				 shard->key, PLAN_SHARDS_MAX);
	if (shard->source >= writer->header.settings.sources || shard->source < writer->source ||
	    (shard->source == writer->source && split < writer->split))
		return error_set(err, -EINVAL,
				 "shard \"%s\" of source %u, split %u comes after source %u, split %u",
				 shard->key, shard->source, split, writer->source, writer->split);
	if (shard->source == writer->source && split == writer->split &&
	    strcmp(writer->last_key, shard->key) >= 0)
		return error_set(err, -EINVAL, "shard \"%s\" comes after \"%s\", expected bytewise key order",
				 shard->key, writer->last_key);
	return 0;
}

/* Checks the size of the file with `more` bytes, and from time to time the disk. plan_finish() appends the
 * heap to the entries while the heap's own file is still there. */
static int check_space(const struct plan_writer *writer, uint64_t more, struct error *err)
{
	const uint64_t bytes = sizeof(writer->header) + writer->added * sizeof(struct plan_entry) +
			       writer->header.heap_bytes + more;
	const uint64_t wanted = PLAN_SPARE_BYTES + writer->header.heap_bytes;
	struct statvfs disk;

	if (bytes > PLAN_FILE_MAX)
		return error_set(err, -EBADMSG,
				 "%s: after %" PRIu64 " shards the next one makes it longer than %" PRIu64
				 " bytes",
				 writer->path, writer->added, PLAN_FILE_MAX);
	if (writer->added % LOOK_SHARDS)
		return 0;
	if (fstatvfs(fileno(writer->entries), &disk) < 0)
		return error_set(err, -errno, "%s: %s", writer->path, strerror(errno));
	return (uint64_t)disk.f_bavail * disk.f_frsize >= wanted
		       ? 0
		       : error_set(err, -ENOSPC,
				   "%s: no space: after %" PRIu64 " shards %" PRIu64
				   " bytes are free, %" PRIu64 " are needed",
				   writer->path, writer->added, (uint64_t)disk.f_bavail * disk.f_frsize,
				   wanted);
}

int plan_add(struct plan_writer *writer, enum split split, const struct plan_shard *shard, struct error *err)
{
	size_t key = strlen(shard->key), etag = strlen(shard->etag), version = strlen(shard->version);
	struct plan_entry entry = { .heap_offset = writer->header.heap_bytes,
				    .bytes = shard->bytes,
				    .source = shard->source,
				    .key_bytes = (uint16_t)key,
				    .etag_bytes = (uint16_t)etag,
				    .version_bytes = (uint16_t)version };
	int r;

	if (key == 0 || key > PLAN_TEXT_MAX || etag > PLAN_TEXT_MAX || version > PLAN_TEXT_MAX)
		return error_set(err, -EINVAL,
				 "shard \"%.100s\": a key of %zu, ETag of %zu, version of %zu bytes; at most "
				 "%u each, and a key is not empty",
				 shard->key, key, etag, version, PLAN_TEXT_MAX);
	if ((r = check_order(writer, split, shard, err)) < 0 ||
	    (r = check_space(writer, sizeof(entry) + key + etag + version + 3, err)) < 0)
		return r;
	if (is_of_objects(writer) && (r = plan_classes_add(&writer->classes, shard->key, err)) < 0)
		return r;
	(void)snprintf(writer->last_key, sizeof(writer->last_key), "%s", shard->key);
	if (fwrite(&entry, sizeof(entry), 1, writer->entries) != 1 ||
	    fwrite(shard->key, key + 1, 1, writer->heap) != 1 ||
	    fwrite(shard->etag, etag + 1, 1, writer->heap) != 1 ||
	    fwrite(shard->version, version + 1, 1, writer->heap) != 1)
		return error_set(err, -errno, "%s: cannot write it: %s", writer->path, strerror(errno));
	writer->header.heap_bytes += key + etag + version + 3;
	writer->header.shards[shard->source][split]++;
	writer->added++;
	writer->source = shard->source;
	writer->split = split;
	return 0;
}

void plan_hold_out(struct plan_writer *writer, uint64_t shards)
{
	uint64_t *of = writer->header.shards[writer->source];

	of[SPLIT_TRAIN] -= shards;
	of[SPLIT_VALIDATION] += shards;
}

/* The entries of the newest source's training split while some of them are held out: those that are kept move
 * to the front, the others wait in a file without a name. */
struct parting {
	FILE *entries, *aside;
	off_t begin; /* of the first entry */
	uint64_t kept, moved;
	struct plan_entry block[PART_ENTRIES], kept_now[PART_ENTRIES], moved_now[PART_ENTRIES];
};

static void parting_done(struct parting **parting)
{
	if (*parting)
		close_file(&(*parting)->aside);
	free(*parting);
}

static bool read_entries(FILE *file, off_t at, struct plan_entry *entry, uint64_t count)
{
	return fseeko(file, at, SEEK_SET) == 0 && fread(entry, sizeof(*entry), count, file) == count;
}

static bool write_entries(FILE *file, off_t at, const struct plan_entry *entry, uint64_t count)
{
	return fseeko(file, at, SEEK_SET) == 0 && fwrite(entry, sizeof(*entry), count, file) == count;
}

static off_t place_of(const struct parting *parting, uint64_t entry)
{
	return parting->begin + (off_t)(entry * sizeof(struct plan_entry));
}

/* Parts `count` entries, the first of which is number `first`. Nothing is written over an entry that was not
 * read. */
static bool part_block(struct parting *parting, uint64_t first, uint64_t count,
		       bool (*held)(const void *context, uint64_t index), const void *context)
{
	uint64_t kept = 0, moved = 0;

	if (!read_entries(parting->entries, place_of(parting, first), parting->block, count))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (held(context, first + i))
			parting->moved_now[moved++] = parting->block[i];
		else
			parting->kept_now[kept++] = parting->block[i];
	if (!write_entries(parting->entries, place_of(parting, parting->kept), parting->kept_now, kept) ||
	    fwrite(parting->moved_now, sizeof(parting->moved_now[0]), moved, parting->aside) != moved)
		return false;
	parting->kept += kept;
	parting->moved += moved;
	return true;
}

/* Writes the entries that are held out behind the others. */
static bool join(struct parting *parting)
{
	for (uint64_t at = 0; at < parting->moved; at += PART_ENTRIES) {
		const uint64_t left = parting->moved - at, count = left < PART_ENTRIES ? left : PART_ENTRIES;

		if (!read_entries(parting->aside, (off_t)(at * sizeof(struct plan_entry)), parting->block,
				  count) ||
		    !write_entries(parting->entries, place_of(parting, parting->kept + at), parting->block,
				   count))
			return false;
	}
	return fseeko(parting->entries, 0, SEEK_END) == 0;
}

/* Opens a file beside the plan, without a name. */
static FILE *open_aside(const struct plan_writer *writer)
{
	char path[PATH_BYTES + 16];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s.held.tmp", writer->path);
	file = fopen(path, "w+e");
	if (file)
		(void)unlink(path);
	return file;
}

int plan_hold_out_each(struct plan_writer *writer, bool (*held)(const void *context, uint64_t index),
		       const void *context, struct error *err)
{
	const uint64_t entries = writer->header.shards[writer->source][SPLIT_TRAIN];
	CLEANUP(parting_done) struct parting *parting = calloc(1, sizeof(*parting));
	bool good = true;

	if (!parting)
		return error_set(err, -ENOMEM, "%s: no memory", writer->path);
	parting->entries = writer->entries;
	parting->aside = open_aside(writer);
	if (!parting->aside ||
	    fseeko(writer->entries, -(off_t)(entries * sizeof(struct plan_entry)), SEEK_END) < 0 ||
	    (parting->begin = ftello(writer->entries)) < 0)
		return error_set(err, -errno, "%s: cannot write it: %s", writer->path, strerror(errno));
	for (uint64_t at = 0; good && at < entries; at += PART_ENTRIES)
		good = part_block(parting, at, entries - at < PART_ENTRIES ? entries - at : PART_ENTRIES,
				  held, context);
	if (!good || !join(parting))
		return error_set(err, -errno, "%s: cannot write it: %s", writer->path, strerror(errno));
	plan_hold_out(writer, parting->moved);
	return 0;
}

uint64_t plan_added(const struct plan_writer *writer, uint32_t source, enum split split)
{
	return writer->header.shards[source][split];
}

static bool append_heap(struct plan_writer *writer)
{
	char buffer[65536];
	size_t n;

	rewind(writer->heap);
	while ((n = fread(buffer, 1, sizeof(buffer), writer->heap)) > 0)
		if (fwrite(buffer, 1, n, writer->entries) != n)
			return false;
	return !ferror(writer->heap);
}

static bool append_classes(struct plan_writer *writer)
{
	writer->header_classes.classes = writer->classes.count;
	for (uint64_t i = 0; i < writer->classes.count; i++) {
		const char *name = writer->classes.name[i];

		if (fwrite(name, strlen(name) + 1, 1, writer->entries) != 1)
			return false;
		writer->header_classes.bytes += strlen(name) + 1;
	}
	return true;
}

int plan_finish(struct plan_writer *writer, struct error *err)
{
	char entries[PATH_BYTES + 16], heap[PATH_BYTES + 16];
	int r;

	temporary_names(writer, entries, heap);
	if (!append_heap(writer) || !append_classes(writer) || fseeko(writer->entries, 0, SEEK_SET) < 0 ||
	    !write_headers(writer) || fflush(writer->entries) != 0 || fsync(fileno(writer->entries)) < 0)
		r = error_set(err, -errno, "%s: cannot write it: %s", entries, strerror(errno));
	else
		r = file_rename_durable(entries, writer->path, err);
	plan_abandon(writer);
	return r;
}

void plan_abandon(struct plan_writer *writer)
{
	char entries[PATH_BYTES + 16], heap[PATH_BYTES + 16];

	if (!writer)
		return;
	temporary_names(writer, entries, heap);
	close_file(&writer->entries);
	close_file(&writer->heap);
	(void)unlink(entries);
	(void)unlink(heap);
	plan_classes_done(&writer->classes);
	free(writer);
}
