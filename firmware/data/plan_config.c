/* SPDX-License-Identifier: Apache-2.0 */
#include "data/plan_config.h"

#include "data/order.h"

#include <inttypes.h>
#include <string.h>

static_assert(sizeof(struct plan_settings) == 584, "settings have no padding, so memcmp() compares them");

struct plan_settings plan_settings_for(const struct config *config)
{
	const bool objects = config_reads_objects(config);
	struct plan_settings settings = { .order_version = objects ? ORDER_OBJECTS : ORDER_VERSION,
					  .lanes = (uint32_t)config->order.lanes,
					  .sources = config->sources,
					  .remainder = (uint32_t)config->order.remainder,
					  .seed = config->run.seed,
					  .epochs = config->run.epochs,
					  .window_shards =
						  objects ? PLAN_WINDOW_OBJECTS : config->order.window_shards,
					  .batch_rows = config->run.batch_rows,
					  .skip_rows = config->order.skip_rows,
					  .take_rows = config->order.take_rows,
					  .mode = (uint32_t)config->order.mode };

	(void)snprintf(settings.filter, sizeof(settings.filter), "%s", config->order.filter);
	for (uint32_t i = 0; i < config->sources; i++)
		settings.weight[i] = config->source[i].weight;
	return settings;
}

/* Says which key differs. Returns false where no number does. */
static bool name_number(const struct plan_settings *found, const struct plan_settings *expected, char *out,
			size_t out_bytes)
{
	const struct {
		const char *key;
		uint64_t found, expected;
	} numbers[] = {
		{ "source.format: version of the order", found->order_version, expected->order_version },
		{ "sources", found->sources, expected->sources },
		{ "order.lanes", found->lanes, expected->lanes },
		{ "order.window_shards", found->window_shards, expected->window_shards },
		{ "order.mode", found->mode, expected->mode },
		{ "order.remainder", found->remainder, expected->remainder },
		{ "order.skip_rows", found->skip_rows, expected->skip_rows },
		{ "order.take_rows", found->take_rows, expected->take_rows },
		{ "run.batch_rows", found->batch_rows, expected->batch_rows },
		{ "run.epochs", found->epochs, expected->epochs },
		{ "run.seed", found->seed, expected->seed },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].found != numbers[i].expected) {
			(void)snprintf(out, out_bytes, "%s: found %" PRIu64 ", expected %" PRIu64,
				       numbers[i].key, numbers[i].found, numbers[i].expected);
			return true;
		}
	return false;
}

static void name_difference(const struct plan_settings *found, const struct plan_settings *expected,
			    char *out, size_t out_bytes)
{
	if (name_number(found, expected, out, out_bytes))
		return;
	if (strcmp(found->filter, expected->filter) != 0) {
		(void)snprintf(out, out_bytes, "order.filter: found \"%s\", expected \"%s\"", found->filter,
			       expected->filter);
		return;
	}
	for (uint32_t i = 0; i < expected->sources; i++)
		if (found->weight[i] != expected->weight[i]) {
			(void)snprintf(out, out_bytes, "weight of source %u: found %g, expected %g", i,
				       found->weight[i], expected->weight[i]);
			return;
		}
	(void)snprintf(out, out_bytes, "an unused byte is not 0");
}

int plan_check_config(const struct plan *plan, const char *path, const struct config *config,
		      struct error *err)
{
	const struct plan_settings *found = plan_settings_of(plan);
	struct plan_settings expected = plan_settings_for(config);
	char difference[2 * FILTER_BYTES + 64];

	/* plan_open() decides which versions of the order there are; a version is for objects, or it is not.
	 */
	if (plan_is_of_objects(plan) == config_reads_objects(config))
		expected.order_version = found->order_version;
	/* Also the bytes that no key uses.
	 * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
	if (memcmp(found, &expected, sizeof(expected)) == 0)
		return 0;
	name_difference(found, &expected, difference, sizeof(difference));
	return error_set(err, -EBADMSG, "%s: %s: this plan was not made with the run's configuration", path,
			 difference);
}
