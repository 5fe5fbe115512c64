/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/backend.h"

#include <string.h>

#define CONNECTIONS_DEFAULT   8u
#define CONNECT_TIMEOUT_MS    10000u
#define LOW_SPEED_BYTES_PER_S 1024u
#define LOW_SPEED_S           30u
#define ATTEMPTS_MAX          8u
#define PART_BYTES_DEFAULT    (8u << 20)
#define PART_BYTES_MIN        (5u << 20) /* S3 API, "Amazon S3 multipart upload limits" */

static void default_u64(uint64_t *value, uint64_t fallback)
{
	if (!*value)
		*value = fallback;
}

struct store_options store_options_of(const struct config *config)
{
	return (struct store_options){ .connect_timeout_ms = config->fetch.connect_timeout_ms,
				       .low_speed_bytes_per_s = config->fetch.low_speed_bytes_per_s,
				       .low_speed_s = config->fetch.low_speed_s,
				       .attempts_max = (uint32_t)config->fetch.attempts_max };
}

static struct store_options with_defaults(const struct store_options *given)
{
	struct store_options options = given ? *given : (struct store_options){ 0 };

	if (!options.connections)
		options.connections = CONNECTIONS_DEFAULT;
	if (!options.attempts_max)
		options.attempts_max = ATTEMPTS_MAX;
	default_u64(&options.connect_timeout_ms, CONNECT_TIMEOUT_MS);
	default_u64(&options.low_speed_bytes_per_s, LOW_SPEED_BYTES_PER_S);
	default_u64(&options.low_speed_s, LOW_SPEED_S);
	default_u64(&options.part_bytes, PART_BYTES_DEFAULT);
	if (options.part_bytes < PART_BYTES_MIN)
		options.part_bytes = PART_BYTES_MIN;
	return options;
}

static bool is_local(const struct config_store *where)
{
	return strncmp(where->url, "file://", 7) == 0;
}

int store_open(const struct config_store *where, const struct store_options *options,
	       struct store **ret_store, struct error *err)
{
	struct store_options full = with_defaults(options);
	int r = config_store_check(where, err);

	if (r < 0)
		return r;
	return is_local(where) ? store_file_open(where, &full, ret_store, err)
			       : store_s3_open(where, &full, ret_store, err);
}

int store_host(const struct config_store *where, char out[static STORE_HOST_BYTES], struct error *err)
{
	int r = config_store_check(where, err);

	*out = '\0';
	return r < 0 || is_local(where) ? r : store_s3_host(where, out, err);
}
