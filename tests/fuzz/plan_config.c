/* SPDX-License-Identifier: Apache-2.0 */
/* A plan with the configuration of its run. The input is the text of the configuration, a NUL, and the plan.
 * Where both are accepted, memory of the configuration's sizes is filled as kiln-fetchd fills it by the plan.
 */
#include "fetchd/produce/deal.c"    // NOLINT(bugprone-suspicious-include): programs make no archive
#include "fetchd/produce/segment.c" // NOLINT(bugprone-suspicious-include)

#include "data/lanes.h"
#include "data/next_use.h"
#include "data/order.h"
#include "data/plan_config.h"

#include <math.h>
#include <stddef.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static int in_memory(const void *data, size_t bytes, char path[static 64])
{
	int fd = memfd_create("input", 0);

	(void)snprintf(path, 64, "/proc/self/fd/%d", fd);
	must(write(fd, data, bytes) == (ssize_t)bytes);
	return fd;
}

/* Shards of a window: the configuration's, or the number that all windows of objects have. */
static uint64_t window_of(const struct config *config)
{
	return config_reads_objects(config) ? PLAN_WINDOW_OBJECTS : config->order.window_shards;
}

static bool is_same(const struct plan_settings *settings, const struct config *config)
{
	bool same = settings->lanes == config->order.lanes && settings->sources == config->sources &&
		    settings->remainder == (uint32_t)config->order.remainder &&
		    settings->mode == (uint32_t)config->order.mode && settings->seed == config->run.seed &&
		    settings->epochs == config->run.epochs && settings->window_shards == window_of(config) &&
		    (settings->order_version == ORDER_OBJECTS) == config_reads_objects(config) &&
		    settings->batch_rows == config->run.batch_rows &&
		    settings->skip_rows == config->order.skip_rows &&
		    settings->take_rows == config->order.take_rows &&
		    strcmp(settings->filter, config->order.filter) == 0;

	for (uint32_t i = 0; same && i < config->sources; i++)
		same = settings->weight[i] == config->source[i].weight;
	return same;
}

/* ---- Rows of a batch: one byte for each row of a slot ---- */

static struct streams streams;
static struct fetch fetch = { .streams = &streams, .world = 1 };

static void make_streams(const struct plan *plan)
{
	fetch.plan = (struct plan *)(uintptr_t)plan;
	fetch.settings = plan_settings_of(plan);
	streams.count = 0;
	streams.lanes = fetch.settings->lanes;
	fetch.part = order_part(streams.lanes, 1, 0, fetch.settings->batch_rows);
	for (uint32_t source = 0; source < fetch.settings->sources; source++)
		for (uint32_t lane = 0; lane < streams.lanes; lane++) {
			struct stream *stream = &streams.stream[streams.count++];

			stream->source = source;
			stream->lane = lane;
		}
}

static void deal_batch(const struct config *config)
{
	static struct producer producer;
	uint64_t rows = config->run.batch_rows;
	CLEANUP(free_ptr) uint32_t *dealt = calloc(rows, 2 * sizeof(*dealt));
	CLEANUP(free_ptr) uint8_t *slot = calloc(rows, 1);

	must(dealt && slot);
	producer = (struct producer){ .fetch = &fetch };
	deal_rows(&producer, fetch.settings->batch_rows, dealt);
	for (uint32_t i = 0; i < streams.count; i++)
		for (uint32_t k = 0; k < producer.batch.share[i].rows; k++)
			slot[share_row(&producer.batch.share[i], k)]++;
	for (uint64_t row = 0; row < rows; row++)
		must(slot[row] == 1);
}

/* ---- Shards of a window: each has a place in arrays of settings->window_shards ---- */

static void load_window(const struct plan *plan, const struct config *config, const struct stream *stream,
			enum split split, uint64_t window)
{
	const struct plan_settings *settings = fetch.settings;
	CLEANUP(free_ptr) uint64_t *bytes = calloc(window_of(config), sizeof(*bytes));
	uint64_t shards = plan_source_shards(plan, stream->source, split),
		 left = order_lane_shards(shards, settings->lanes, stream->lane) -
			window * settings->window_shards,
		 sum = 0;

	must(bytes && left > 0);
	for (uint64_t k = 0; k < left && k < settings->window_shards; k++) {
		uint64_t position =
			order_position(settings->lanes, stream->lane, settings->window_shards, window, k);

		must(position < shards);
		if (split == SPLIT_TRAIN)
			position = order_shard(settings->seed, stream->source, 0, shards, position);
		must(!plan_is_of_objects(plan) ||
		     plan_shard(plan, stream->source, split, position).label < plan_class_count(plan));
		bytes[k] = plan_shard(plan, stream->source, split, position).bytes;
		must(!__builtin_add_overflow(sum, bytes[k], &sum) && sum <= PLAN_BYTES_MAX);
	}
}

static void load_windows(const struct plan *plan, const struct config *config)
{
	for (uint32_t i = 0; i < streams.count; i++)
		for (int split = 0; split < SPLIT_MAX; split++) {
			uint64_t windows = plan_windows(plan, streams.stream[i].source,
							streams.stream[i].lane, (enum split)split);

			must(windows <= PLAN_SHARDS_MAX);
			for (uint64_t window = 0; window < windows; window++)
				load_window(plan, config, &streams.stream[i], (enum split)split, window);
		}
}

/* ---- Cursors ---- */

static void move_cursors(const struct plan *plan)
{
	struct cursor cursor = { .version = CURSOR_VERSION }, merged;
	enum split split = SPLIT_TRAIN;
	uint64_t segment = 0;
	struct error err;

	must(lanes_merge(plan, &cursor, &cursor, 1, &merged, &err) == 0);
	for (uint32_t source = 0; source < fetch.settings->sources; source++)
		for (int of = 0; of < SPLIT_MAX; of++)
			for (uint64_t i = 0; i < plan_source_shards(plan, source, (enum split)of); i++)
				must(!isnan(next_use(plan, &cursor, source, (enum split)of, i, 2)));
	for (int i = 0; i < 4; i++) {
		cursor.split = split;
		cursor.segment = segment;
		(void)!segment_check(&fetch, &cursor, &err);
		if (!plan_next_segment(plan, &split, &segment))
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(plan_closep) struct plan *plan = NULL;
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	struct error err = { 0 };
	char config_file[64], plan_file[64];

	if (!nul)
		return 0;
	CLEANUP(close_fd) int config_fd = in_memory(data, (size_t)(nul - data), config_file);
	CLEANUP(close_fd)
	int plan_fd = in_memory(nul + 1, size - 1 - (size_t)(nul - data), plan_file);

	must(config_fd >= 0 && plan_fd >= 0);
	if (config_load(config_file, &config, &err) < 0 || plan_open(plan_file, &plan, &err) < 0 ||
	    plan_check_config(plan, plan_file, &config, &err) < 0) {
		must(*err.text);
		return 0;
	}
	must(is_same(plan_settings_of(plan), &config));
	make_streams(plan);
	deal_batch(&config);
	load_windows(plan, &config);
	move_cursors(plan);
	return 0;
}
