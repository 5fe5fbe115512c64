/* SPDX-License-Identifier: Apache-2.0 */
/* What a night with several trials, or with a promotion, does other than its configuration may mean. */
#include "drivers/cache/room.h"
#include "preflight/preflight.h"

#include <inttypes.h>

/* Trials read the store once where the cache has room for all that they read. */
static void check_cache(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	const uint64_t room = config->fetch.cache_bytes ? config->fetch.cache_bytes : cache_room();

	if (config_has_trials(config) && room > 0 && preflight->cached_bytes > room)
		preflight_add(preflight, "cache", PREFLIGHT_WARNING,
			      "raise fetch.cache_bytes, or give the box a larger disk",
			      "the trials read %" PRIu64 " bytes, and their disk cache has room for %" PRIu64
			      ": each trial reads the rest from the store again",
			      preflight->cached_bytes, room);
}

static void check_promotion(struct preflight *preflight)
{
	const struct config *config = preflight->config;

	if (config->promote.against == AGAINST_OFF && config->promote.min_gain > 0)
		preflight_add(
			preflight, "promote", PREFLIGHT_WARNING,
			"set promote.against = \"champion\", or remove promote.min_gain",
			"promote.min_gain is given, but promote.against is \"off\": no night promotes its "
			"model");
}

void preflight_series(struct preflight *preflight)
{
	check_cache(preflight);
	check_promotion(preflight);
}
