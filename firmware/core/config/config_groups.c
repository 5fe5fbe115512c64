/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_keys.h"

#include <string.h>

bool config_key_is_replaced(const struct config_memory *memory, const struct config_key *key)
{
	return memory->sources_given && strncmp(key->name, "source.", 7) == 0;
}

bool config_key_is_hidden(const struct config_memory *memory, const struct config_key *key)
{
	return config_key_is_replaced(memory, key) ||
	       (memory->is_trial && strncmp(key->name, "series.", 7) == 0);
}

bool config_opens_group(size_t row)
{
	size_t length = strcspn(config_keys[row].name, ".") + 1;

	return row == 0 || strncmp(config_keys[row].name, config_keys[row - 1].name, length) != 0;
}

bool config_closes_group(size_t row)
{
	return row + 1 == config_keys_count || config_opens_group(row + 1);
}

int config_group_length(const struct config_key *key)
{
	return (int)strcspn(key->name, ".");
}
