/* SPDX-License-Identifier: Apache-2.0 */
/* The label of a file in the cache, which any process that may write to the folder can change: what it says
 * about the file, where the file's readable link lies, and which shard of a run's plan the file is. */
#include "fetchd/cache/shard_evict.c"  // NOLINT(bugprone-suspicious-include): programs make no archive
#include "fetchd/cache/shard_object.c" // NOLINT(bugprone-suspicious-include)

#include "data/order.h"
#include "drivers/cache/internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sources sources = { .count = 2 };
static struct fetch fetch = {
	.sources = &sources,
	.run.config = { .sources = 2,
			.source = { { .store = { .url = "s3://bucket/data",
						 .endpoint = "https://store:9000" } },
				    { .store = { .url = "file:///data", .endpoint = "" } } } }
};
static struct shard_evictor evictor = { .fetch = &fetch };

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* A plan of one source's shards "train-0" and "train-1". */
static void make_plan(void)
{
	const struct plan_settings settings = { .order_version = ORDER_VERSION,
						.lanes = 1,
						.sources = 2,
						.epochs = 1,
						.window_shards = 1,
						.batch_rows = 1,
						.weight = { 1, 1 } };
	char folder[] = "/tmp/kiln-fuzz-XXXXXX", path[64];
	struct plan_writer *writer;

	must(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/plan", folder);
	must(plan_create(path, &settings, &writer, NULL) == 0);
	for (unsigned i = 0; i < 2; i++) {
		char key[16];
		struct plan_shard shard = { .key = key, .etag = "e", .version = "", .bytes = 7 };

		(void)snprintf(key, sizeof(key), "train-%u", i);
		must(plan_add(writer, SPLIT_TRAIN, &shard, NULL) == 0);
	}
	must(plan_finish(writer, NULL) == 0 && plan_open(path, &fetch.plan, NULL) == 0);
	must(unlink(path) == 0 && rmdir(folder) == 0);
}

/* The link lies below tree/: no name of its path is empty, "." or "..". */
static void check_link(const struct cache_item *item)
{
	char path[PATH_MAX];

	if (!cache_link_path(item->endpoint, item->bucket, item->key, path))
		return;
	must(strncmp(path, "tree/", 5) == 0);
	for (const char *name = path; name; name = strchr(name, '/')) {
		name += *name == '/';
		size_t bytes = strcspn(name, "/");

		must(bytes > 0 && bytes <= NAME_MAX);
		must(bytes > 2 || strspn(name, ".") < bytes);
	}
}

static void check_item(struct cache_item *item, size_t bytes)
{
	char name[CACHE_NAME_BYTES];
	uint64_t tag;

	must(sizeof(struct cache_label) + strlen(item->endpoint) + strlen(item->bucket) + strlen(item->key) +
		     strlen(item->pin_text) + 4 ==
	     bytes);
	cache_name_of_identity(item->endpoint, bytes - sizeof(struct cache_label), name);
	item->name = name;
	tag = evict_tag(&evictor, item);
	must(tag == TAG_NONE ||
	     ((tag >> INDEX_BITS & 3) == SPLIT_TRAIN && (tag & ((UINT64_C(1) << INDEX_BITS) - 1)) < 2));
	(void)cache_pins_cover(&evictor.pins, item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Memory that ends with the label, so that a read beyond it is seen. */
	struct cache_label *label = malloc(size ? size : 1);
	struct cache_item item = { 0 };

	if (!fetch.plan)
		make_plan();
	must(label);
	memcpy(label, data, size);
	if (cache_label_parse(label, size, &item)) {
		check_item(&item, size);
		check_link(&item);
	}
	free(label);
	return 0;
}
