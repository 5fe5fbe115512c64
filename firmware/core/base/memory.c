/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/memory.h"
#include "core/base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t memory_available(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			return kib * 1024;
	return 0;
}
