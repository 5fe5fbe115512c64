/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are computed from a loaded configuration. */
#include "core/config/config_keys.h"

#include <string.h>

#define CONNECTIONS_LEAST 8u
#define CONNECTIONS_MOST  256u
#define PART_LEAST_BYTES  (UINT64_C(64) << 10)
#define PART_MOST_BYTES   (UINT64_C(32) << 20)

size_t config_next_name(const char **list)
{
	*list += strspn(*list, ", ");
	return strcspn(*list, ", ");
}

const struct config_feature *config_feature_named(const struct config *config, const char *name)
{
	for (uint32_t i = 0; name && i < config->features; i++)
		if (strcmp(config->feature[i].name, name) == 0)
			return &config->feature[i];
	return NULL;
}

bool config_has_trials(const struct config *config)
{
	return config->memory && (config_lookup(&config->memory->file, "experiments") ||
				  config_lookup(&config->memory->file, "vary"));
}

const char *config_validation_monitor(const struct config *config)
{
	return config->early_stopping.monitor >= MONITOR_VAL_LOSS      ? "early_stopping.monitor"
	       : config->reduce_on_plateau.monitor >= MONITOR_VAL_LOSS ? "reduce_on_plateau.monitor"
	       : config->keep_best.monitor >= MONITOR_VAL_LOSS         ? "keep_best.monitor"
								       : NULL;
}

uint64_t config_fetch_cache_backlog_bytes(const struct config *config)
{
	return config->fetch.cache_bytes > 0 ? config->fetch.memory_bytes / 8 : 0;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

uint64_t config_fetch_connections(const struct config *config)
{
	uint64_t budget = config->fetch.memory_bytes / 8;

	return config->fetch.connections
		       ? config->fetch.connections
		       : within(budget / CONFIG_CONNECTION_BYTES, CONNECTIONS_LEAST, CONNECTIONS_MOST);
}

uint64_t config_source_connections(const struct config *config)
{
	uint64_t connections = config_fetch_connections(config) / config->sources;

	return connections ? connections : 1;
}

/* Each range costs processor time at the client and at the server. From radosgw, ranges of 32 MiB needed 0.70
 * CPU-s/GB and ranges of 8 MiB 0.88; ranges larger than 32 MiB were not better. One 64th of the memory budget
 * is the limit, so that a small budget has space for 64 ranges. */
uint64_t config_fetch_part_bytes(const struct config *config)
{
	return config->fetch.part_bytes
		       ? within(config->fetch.part_bytes, PART_LEAST_BYTES, UINT64_MAX)
		       : within(config->fetch.memory_bytes / 64, PART_LEAST_BYTES, PART_MOST_BYTES);
}
