/* SPDX-License-Identifier: Apache-2.0 */
#include "data/plan.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_split(const struct plan *plan, uint32_t source, enum split split, size_t size)
{
	for (uint64_t i = 0; i < plan_source_shards(plan, source, split); i++) {
		struct plan_shard shard = plan_shard(plan, source, split, i);

		if (strlen(shard.key) + strlen(shard.etag) + strlen(shard.version) > size)
			abort();
		if (plan_is_of_objects(plan) && strlen(plan_class(plan, shard.label)) > strlen(shard.key))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct plan *plan;
	char path[64];
	int fd = memfd_create("plan", 0);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (plan_open(path, &plan, &err) == 0) {
		for (uint32_t source = 0; source < plan_settings_of(plan)->sources; source++)
			for (int split = 0; split < SPLIT_MAX; split++)
				use_split(plan, source, (enum split)split, size);
		plan_close(plan);
	} else if (!*err.text) {
		abort();
	}
	(void)close(fd);
	return 0;
}
