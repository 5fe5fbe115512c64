/* SPDX-License-Identifier: Apache-2.0 */
#include "data/plan.h"

#include "core/config/config.h"
#include "data/order.h"
#include "data/plan_classes.h"
#include "data/plan_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct plan {
	const uint8_t *memory;
	uint64_t bytes;
	struct plan_header header;                 /* our copy */
	struct plan_header_classes header_classes; /* zero without objects */
	struct plan_classes classes;
	uint64_t header_bytes;
	uint64_t first[PLAN_SOURCES_MAX][SPLIT_MAX];
	const struct plan_entry *entries;
	const char *heap;
};

static bool weights_fit(const struct plan_settings *settings)
{
	for (uint32_t i = 0; i < settings->sources; i++)
		if (!(settings->weight[i] > 0) || !isfinite(settings->weight[i]))
			return false;
	return true;
}

/* The version of the order is that of the plan. */
static bool order_fits(const struct plan_header *header)
{
	const struct plan_settings *settings = &header->settings;

	if (header->version < PLAN_VERSION_MAX)
		return settings->order_version == ORDER_VERSION;
	return settings->order_version == ORDER_OBJECTS && settings->sources == 1 &&
	       settings->mode == ORDER_EXACT && !*settings->filter;
}

static int check_settings(const char *path, const struct plan_header *header, struct error *err)
{
	const struct plan_settings *settings = &header->settings;
	struct filter filter;

	if (!order_fits(header) || settings->lanes < 1 || settings->lanes > CURSOR_PLACES_MAX ||
	    settings->sources < 1 || settings->sources > PLAN_SOURCES_MAX ||
	    settings->sources * settings->lanes > CURSOR_PLACES_MAX || settings->remainder > REMAINDER_DROP ||
	    settings->mode > ORDER_FAST || settings->epochs < 1 || settings->window_shards < 1 ||
	    settings->batch_rows < settings->lanes || settings->batch_rows > UINT32_MAX)
		return error_set(err, -EBADMSG,
				 "%s: found order version %u, %u lanes, %u sources, %" PRIu64
				 " epochs, windows of %" PRIu64 " shards, batches of %" PRIu64
				 " rows, which this firmware does not support",
				 path, settings->order_version, settings->lanes, settings->sources,
				 settings->epochs, settings->window_shards, settings->batch_rows);
	if (!weights_fit(settings))
		return error_set(err, -EBADMSG, "%s: a weight of its %u sources is not a number above 0",
				 path, settings->sources);
	if (settings->filter[sizeof(settings->filter) - 1] ||
	    (*settings->filter && !filter_parse(settings->filter, &filter)))
		return error_set(err, -EBADMSG,
				 "%s: found the filter \"%.*s\", which this firmware does not support", path,
				 (int)sizeof(settings->filter), settings->filter);
	return 0;
}

/* Reads the header; a header of version 1 is converted. */
static int read_header(struct plan *plan, const char *path, struct error *err)
{
	struct plan_header *header = &plan->header;
	struct plan_header_1 old;

	memcpy(&old, plan->memory, sizeof(old));
	plan->header_bytes = old.version == 1 ? sizeof(old) : sizeof(*header);
	if (old.version == PLAN_VERSION_MAX)
		plan->header_bytes += sizeof(plan->header_classes);
	if (old.magic != PLAN_MAGIC || old.version < 1 || old.version > PLAN_VERSION_MAX)
		return error_set(err, -EBADMSG,
				 "%s: found magic %016" PRIx64
				 " version %u, expected a plan of version 1 .. %u",
				 path, old.magic, old.version, PLAN_VERSION_MAX);
	if (plan->bytes < plan->header_bytes)
		return error_set(err, -EBADMSG,
				 "%s: a file of %" PRIu64 " bytes, the header alone has %" PRIu64, path,
				 plan->bytes, plan->header_bytes);
	if (old.version != 1) {
		memcpy(header, plan->memory, sizeof(*header));
		memcpy(&plan->header_classes, plan->memory + sizeof(*header),
		       plan->header_bytes - sizeof(*header));
		return 0;
	}
	header->version = old.version;
	header->heap_bytes = old.heap_bytes;
	memcpy(&header->settings, old.settings, sizeof(old.settings));
	memcpy(header->shards[0], old.shards, sizeof(old.shards));
	if (header->settings.sources != 1)
		return error_set(err, -EBADMSG, "%s: found version 1 with %u sources, expected 1", path,
				 header->settings.sources);
	return 0;
}

/* Sets where each split of each source begins; checks that the file has exactly these entries and the heap.
 */
static int check_sizes(struct plan *plan, const char *path, uint64_t *ret_shards, struct error *err)
{
	const struct plan_header *header = &plan->header;
	uint64_t shards = 0;

	for (uint32_t source = 0; source < PLAN_SOURCES_MAX; source++)
		for (int split = 0; split < SPLIT_MAX; split++) {
			uint64_t count = header->shards[source][split];

			if (count > PLAN_SHARDS_MAX || (count > 0 && source >= header->settings.sources))
				return error_set(err, -EBADMSG,
						 "%s: found %" PRIu64 " shards of source %u, at most %" PRIu64
						 " of each of %u",
						 path, count, source, PLAN_SHARDS_MAX,
						 header->settings.sources);
			plan->first[source][split] = shards;
			shards += count;
		}
	if (header->heap_bytes > plan->bytes || plan->header_classes.bytes > plan->bytes ||
	    plan->bytes != plan->header_bytes + shards * sizeof(struct plan_entry) + header->heap_bytes +
				   plan->header_classes.bytes)
		return error_set(err, -EBADMSG,
				 "%s: a file of %" PRIu64 " bytes, expected %" PRIu64 " + %" PRIu64
				 " entries + %" PRIu64 " bytes of keys + %" PRIu64 " of classes",
				 path, plan->bytes, plan->header_bytes, shards, header->heap_bytes,
				 plan->header_classes.bytes);
	*ret_shards = shards;
	return 0;
}

static bool entry_fits(const struct plan *plan, uint32_t source, const struct plan_entry *entry)
{
	uint64_t bytes = (uint64_t)entry->key_bytes + entry->etag_bytes + entry->version_bytes + 3;
	uint64_t heap_bytes = plan->header.heap_bytes;
	const char *key;

	if (entry->heap_offset > heap_bytes || bytes > heap_bytes - entry->heap_offset)
		return false;
	key = plan->heap + entry->heap_offset;
	return entry->key_bytes > 0 && entry->key_bytes <= PLAN_TEXT_MAX &&
	       entry->etag_bytes <= PLAN_TEXT_MAX && entry->version_bytes <= PLAN_TEXT_MAX &&
	       entry->source == source &&
	       memchr(key, '\0', entry->key_bytes + 1u) == key + entry->key_bytes &&
	       key[entry->key_bytes + 1u + entry->etag_bytes] == '\0' && key[bytes - 1] == '\0';
}

/* Returns whether a text may stand in a header of a request: a control character could end the header. */
static bool is_value(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '"')
			return false;
	return true;
}

/* Checks a split of a source: every entry lies inside the heap, keys rise in bytewise order, and the sizes of
 * all shards so far, *bytes, are at most PLAN_BYTES_MAX. */
static int check_entries(struct plan *plan, const char *path, uint32_t source, enum split split,
			 uint64_t *bytes, struct error *err)
{
	uint64_t first = plan->first[source][split], class;

	for (uint64_t i = 0; i < plan->header.shards[source][split]; i++) {
		const struct plan_entry *entry = &plan->entries[first + i];

		if (!entry_fits(plan, source, entry))
			return error_set(err, -EBADMSG,
					 "%s: entry %" PRIu64
					 " points outside the heap, or has a text of more than %u bytes",
					 path, first + i, PLAN_TEXT_MAX);
		if (!is_value(plan->heap + entry->heap_offset + entry->key_bytes + 1))
			return error_set(err, -EBADMSG,
					 "%s: entry %" PRIu64
					 " has an ETag with a quote or a control character",
					 path, first + i);
		if (i > 0 && strcmp(plan->heap + entry[-1].heap_offset, plan->heap + entry->heap_offset) >= 0)
			return error_set(err, -EBADMSG, "%s: entry %" PRIu64 " is not in bytewise key order",
					 path, first + i);
		if (plan_is_of_objects(plan) &&
		    !plan_classes_number(&plan->classes, plan->heap + entry->heap_offset, &class))
			return error_set(err, -EBADMSG,
					 "%s: entry %" PRIu64 " is of a class that the plan does not have",
					 path, first + i);
		if (__builtin_add_overflow(*bytes, entry->bytes, bytes) || *bytes > PLAN_BYTES_MAX)
			return error_set(err, -EBADMSG,
					 "%s: entry %" PRIu64 " has %" PRIu64
					 " bytes: all shards together have more than %" PRIu64,
					 path, first + i, entry->bytes, PLAN_BYTES_MAX);
	}
	return 0;
}

static int open_mapped(struct plan *plan, const char *path, struct error *err)
{
	uint64_t shards = 0, bytes = 0;
	int r;

	if ((r = read_header(plan, path, err)) < 0 || (r = check_settings(path, &plan->header, err)) < 0 ||
	    (r = check_sizes(plan, path, &shards, err)) < 0)
		return r;
	plan->entries = (const struct plan_entry *)(const void *)(plan->memory + plan->header_bytes);
	plan->heap = (const char *)(plan->entries + shards);
	r = plan_classes_read(&plan->classes, plan->heap + plan->header.heap_bytes,
			      plan->header_classes.bytes, plan->header_classes.classes, err);
	if (r < 0)
		return error_prefix(err, "%s", path);
	for (uint32_t source = 0; r == 0 && source < plan->header.settings.sources; source++)
		for (int split = 0; r == 0 && split < SPLIT_MAX; split++)
			r = check_entries(plan, path, source, (enum split)split, &bytes, err);
	return r;
}

int plan_open(const char *path, struct plan **ret_plan, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(plan_closep) struct plan *plan = calloc(1, sizeof(*plan));
	struct stat st;
	void *memory;
	int r;

	if (!plan)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	if ((uint64_t)st.st_size < sizeof(struct plan_header_1))
		return error_set(err, -EBADMSG, "%s: %jd bytes, a plan has at least %zu", path,
				 (intmax_t)st.st_size, sizeof(struct plan_header_1));
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, -errno, "%s: cannot map it: %s", path, strerror(errno));
	plan->memory = memory;
	plan->bytes = (uint64_t)st.st_size;
	r = open_mapped(plan, path, err);
	if (r < 0)
		return r;
	*ret_plan = TAKE(plan);
	return 0;
}

void plan_close(struct plan *plan)
{
	if (!plan)
		return;
	if (plan->memory)
		(void)munmap((void *)(uintptr_t)plan->memory, plan->bytes);
	plan_classes_done(&plan->classes);
	free(plan);
}

void plan_closep(struct plan **plan)
{
	plan_close(*plan);
}

const struct plan_settings *plan_settings_of(const struct plan *plan)
{
	return &plan->header.settings;
}

void plan_reorder(struct plan *plan, const struct plan_settings *settings)
{
	assert(settings->sources == plan->header.settings.sources &&
	       settings->order_version == plan->header.settings.order_version);
	plan->header.settings = *settings;
}

bool plan_is_of_objects(const struct plan *plan)
{
	return plan->header.settings.order_version == ORDER_OBJECTS;
}

uint64_t plan_class_count(const struct plan *plan)
{
	return plan->classes.count;
}

const char *plan_class(const struct plan *plan, uint64_t number)
{
	assert(number < plan->classes.count);
	return plan->classes.name[number];
}

bool plan_label(const struct plan *plan, const char *key, uint64_t *ret_number)
{
	char class[PLAN_CLASS_BYTES];

	return plan_class_of(key, class, NULL) == 0 && plan_classes_find(&plan->classes, class, ret_number);
}

uint64_t plan_shards(const struct plan *plan, enum split split)
{
	uint64_t shards = 0;

	for (uint32_t source = 0; source < plan->header.settings.sources; source++)
		shards += plan->header.shards[source][split];
	return shards;
}

uint64_t plan_source_shards(const struct plan *plan, uint32_t source, enum split split)
{
	return plan->header.shards[source][split];
}

uint64_t plan_record_bits(const struct plan *plan, const struct plan_shard *shard, uint64_t pass,
			  uint64_t offset)
{
	return order_record_bits(plan_settings_of(plan)->seed, shard->source, pass, shard->index, offset);
}

uint64_t plan_windows(const struct plan *plan, uint32_t source, uint32_t lane, enum split split)
{
	const struct plan_settings *settings = &plan->header.settings;

	return order_lane_windows(plan->header.shards[source][split], settings->lanes, lane,
				  settings->window_shards);
}

bool plan_next_segment(const struct plan *plan, enum split *split, uint64_t *segment)
{
	if (*split == SPLIT_TRAIN && plan_shards(plan, SPLIT_VALIDATION) > 0) {
		*split = SPLIT_VALIDATION;
		return true;
	}
	if (*split != SPLIT_TEST && *segment + 1 < plan->header.settings.epochs) {
		*split = SPLIT_TRAIN;
		(*segment)++;
		return true;
	}
	if (*split != SPLIT_TEST && plan_shards(plan, SPLIT_TEST) > 0) {
		*split = SPLIT_TEST;
		*segment = 0;
		return true;
	}
	return false;
}

struct plan_shard plan_shard(const struct plan *plan, uint32_t source, enum split split, uint64_t index)
{
	const struct plan_entry *entry = &plan->entries[plan->first[source][split] + index];
	const char *key = plan->heap + entry->heap_offset;
	uint64_t label = 0;

	assert(index < plan->header.shards[source][split]);
	/* plan_open() has found each key's class. */
	if (plan_is_of_objects(plan))
		(void)plan_label(plan, key, &label);
	return (struct plan_shard){ .key = key,
				    .etag = key + entry->key_bytes + 1,
				    .version = key + entry->key_bytes + entry->etag_bytes + 2,
				    .bytes = entry->bytes,
				    .source = entry->source,
				    .index = index,
				    .label = label };
}

bool plan_find(const struct plan *plan, uint32_t source, enum split split, const char *key,
	       uint64_t *ret_index)
{
	uint64_t low = 0, high = plan_source_shards(plan, source, split);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int order = strcmp(plan_shard(plan, source, split, middle).key, key);

		if (order == 0) {
			*ret_index = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}
