/* SPDX-License-Identifier: Apache-2.0 */
/* The list of records that a run leaves out, in its two forms: the first byte of the input says which. 0: the
 * page in a slot of the ring, which another process writes; else: the JSON in a checkpoint, which comes from
 * the store. */
#include "traind/quarantine.c" // NOLINT(bugprone-suspicious-include): programs make no archive

#include "data/order.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct quarantine list;

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void make_plan(void)
{
	const struct plan_settings settings = { .order_version = ORDER_VERSION,
						.lanes = 1,
						.sources = 1,
						.epochs = 1,
						.window_shards = 1,
						.batch_rows = 1,
						.weight = { 1 } };
	char folder[] = "/tmp/kiln-fuzz-XXXXXX", path[64];
	struct plan_writer *writer;

	must(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/plan", folder);
	must(plan_create(path, &settings, &writer, NULL) == 0);
	for (int split = 0; split < SPLIT_MAX; split++) {
		struct plan_shard shard = { .key = split_name((enum split)split), .etag = "", .version = "" };

		must(plan_add(writer, (enum split)split, &shard, NULL) == 0);
	}
	must(plan_finish(writer, NULL) == 0 && plan_open(path, &list.plan, NULL) == 0);
	must(unlink(path) == 0 && rmdir(folder) == 0);
}

/* A list that was accepted can be written, and what was written is accepted. */
static void comes_back(void)
{
	CLEANUP(json_free) cJSON *object = quarantine_json(&list);
	CLEANUP(free_ptr) char *text = NULL;
	const struct quarantine was = list;
	struct model_tensor tensor;
	struct error err;

	must(list.all.records <= QUARANTINE_MAX && !object == (list.all.records == 0));
	if (!object)
		return;
	must(json_print(object, &text, &err) == 0);
	tensor = (struct model_tensor){ .data = text, .bytes = strlen(text) };
	list = (struct quarantine){ .plan = was.plan };
	must(read_text(&list, "checkpoint", &tensor, &err) == 0);
	must(list.all.records == was.all.records && list.all.more == was.all.more);
	for (uint32_t i = 0; i < list.all.records; i++)
		must(list.all.record[i].shard == was.all.record[i].shard &&
		     list.all.record[i].offset == was.all.record[i].offset &&
		     list.all.record[i].split == was.all.record[i].split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct model_tensor tensor = { .data = data + 1, .bytes = size - 1 };
	struct error err = { 0 };
	int r;

	if (size < 1)
		return 0;
	if (!list.plan)
		make_plan();
	list = (struct quarantine){ .plan = list.plan };
	r = *data == 0 ? quarantine_add(&list, data + 1, size - 1, true, &err)
		       : read_text(&list, "checkpoint", &tensor, &err);
	must(r == 0 || *err.text);
	if (r == 0)
		comes_back();
	return 0;
}
