/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/plan/manifest.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/manifest.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_BYTES ((uint64_t)1 << 20)
#define TOLD_MAX    5u /* upper bound of differences that get a log line */

/* A function that is called with each line. */
struct reader {
	void (*line)(void *context, const struct manifest_line *line);
	void *context;
};

struct comparison {
	const struct plan *plan;
	uint32_t source;
	uint64_t lines, differing;
};

/* Finds the source's shard of that key, in any split. False: there is none. */
static bool find(const struct comparison *comparison, const char *key, struct plan_shard *ret_shard)
{
	uint64_t index;

	for (int split = 0; split < SPLIT_MAX; split++) {
		if (!plan_find(comparison->plan, comparison->source, (enum split)split, key, &index))
			continue;
		*ret_shard = plan_shard(comparison->plan, comparison->source, (enum split)split, index);
		return true;
	}
	return false;
}

/* Compares a line with the plan; ignores keys that are not in the plan. */
static void compare_line(void *context, const struct manifest_line *line)
{
	struct comparison *comparison = context;
	struct plan_shard shard;
	bool size, etag;

	if (!find(comparison, line->key, &shard))
		return;
	comparison->lines++;
	size = line->size != shard.bytes;
	etag = *line->etag && *shard.etag && strcmp(line->etag, shard.etag) != 0;
	if ((size || etag) && comparison->differing++ < TOLD_MAX)
		log_warning(MANIFEST_NAME ": %s: says %" PRIu64
					  " bytes, ETag \"%s\", the store lists %" PRIu64
					  " bytes, ETag \"%s\"; going on with the store's list",
			    line->key, line->size, line->etag, shard.bytes, shard.etag);
}

/* Reads the complete lines of text[0 .. bytes); *ret_used is their length. */
static int read_lines(const struct reader *reader, const char *text, uint64_t bytes, uint64_t *ret_used,
		      struct error *err)
{
	const char *feed;

	*ret_used = 0;
	while ((feed = memchr(text + *ret_used, '\n', bytes - *ret_used))) {
		struct manifest_line line;
		uint64_t length = (uint64_t)(feed - text) - *ret_used;
		int r = manifest_parse(text + *ret_used, length, &line, err);

		if (r < 0)
			return r;
		reader->line(reader->context, &line);
		*ret_used += length + 1;
	}
	if (bytes - *ret_used > MANIFEST_LINE_BYTES)
		return error_set(err, -EBADMSG, MANIFEST_NAME ": a line of more than %u bytes",
				 MANIFEST_LINE_BYTES);
	return 0;
}

/* Reads all lines of a manifest, a piece at a time. A line that is not complete moves to the start of the
 * buffer, before the next piece. */
static int read_all(struct store *store, const struct store_pin *pin, const struct reader *reader,
		    struct error *err)
{
	CLEANUP(free_ptr) char *text = malloc(PIECE_BYTES + MANIFEST_LINE_BYTES);
	uint64_t left_over = 0, used;

	if (pin->bytes > MANIFEST_BYTES_MAX)
		return error_set(err, -EBADMSG,
				 MANIFEST_NAME ": found %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
				 pin->bytes, MANIFEST_BYTES_MAX);
	if (!text)
		return error_set(err, -ENOMEM, MANIFEST_NAME ": no memory");
	for (uint64_t offset = 0; offset < pin->bytes;) {
		uint64_t left = pin->bytes - offset, bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
		int r = store_get(store, MANIFEST_NAME, pin, offset, text + left_over, bytes, err);

		if (r < 0 || (r = read_lines(reader, text, left_over + bytes, &used, err)) < 0)
			return r;
		offset += bytes;
		left_over += bytes - used;
		memmove(text, text + used, left_over);
	}
	if (left_over > 0)
		return error_set(err, -EBADMSG, MANIFEST_NAME ": its last line has no end");
	return 0;
}

struct search {
	const char *key;
	uint64_t bytes;
	char *sha256;
};

static void look_for(void *context, const struct manifest_line *line)
{
	const struct search *search = context;

	if (strcmp(line->key, search->key) == 0 && line->size == search->bytes)
		(void)snprintf(search->sha256, sizeof(line->sha256), "%s", line->sha256);
}

int manifest_sha256(struct store *store, const struct store_pin *pin, const char *key, uint64_t bytes,
		    char ret_sha256[static 65], struct error *err)
{
	struct search search = { key, bytes, ret_sha256 };
	const struct reader reader = { look_for, &search };

	*ret_sha256 = '\0';
	return read_all(store, pin, &reader, err);
}

/* Looks the manifest up and reads it. */
static int read_newest(struct store *store, struct comparison *comparison, struct store_pin *ret_pin,
		       struct error *err)
{
	const struct reader reader = { compare_line, comparison };
	struct store_object object;
	int r = store_stat(store, MANIFEST_NAME, &object, err);

	comparison->lines = comparison->differing = 0;
	if (r == 0)
		r = read_all(store, &object.pin, &reader, err);
	if (r == 0)
		*ret_pin = object.pin;
	return r;
}

int manifest_compare(struct store *store, const struct plan *plan, uint32_t source, struct store_pin *ret_pin,
		     struct error *err)
{
	struct comparison comparison = { .plan = plan, .source = source };
	uint64_t shards = 0;
	int r = read_newest(store, &comparison, ret_pin, err);

	/* Lines have no checksum: one wrong answer must not cost the manifest. */
	if (r == -EBADMSG || r == -ESTALE)
		r = read_newest(store, &comparison, ret_pin, err);
	if (r == -ENOENT)
		return 0;
	if (r == -EBADMSG || r == -ESTALE) {
		event_send(&(struct event){ .id = EVENT_MANIFEST_DIFFERS, .count = 0 },
			   "%s; going on without it", err->text);
		return 0;
	}
	if (r < 0)
		return r;
	for (int split = 0; split < SPLIT_MAX; split++)
		shards += plan_source_shards(plan, source, (enum split)split);
	if (comparison.differing || comparison.lines != shards)
		event_send(&(struct event){ .id = EVENT_MANIFEST_DIFFERS, .count = comparison.differing },
			   MANIFEST_NAME ": names %" PRIu64 " of the run's %" PRIu64 " shards, %" PRIu64
					 " of them with another size or ETag than the store lists",
			   comparison.lines, shards, comparison.differing);
	return 0;
}
