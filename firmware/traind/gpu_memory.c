/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/gpu_memory.h"
#include "core/base/events.h"
#include "core/base/paths.h"
#include "drivers/sensors/memory.h"

#include <inttypes.h>

static void say(void *context, const char *gpu, uint64_t errors)
{
	(void)context;
	event_send(&(struct event){ .id = EVENT_GPU_MEMORY, .device = gpu, .count = errors },
		   "GPU %s: %" PRIu64
		   " errors in its memory that it could not correct: the numbers of this run may be "
		   "wrong; restart the machine; if it happens again, ask who sold the GPU",
		   gpu, errors);
}

void gpu_memory_look(void)
{
	static struct memory_state state;
	static unsigned calls;
	char folder[PATH_BYTES];

	if (calls++ % GPU_MEMORY_EVERY == 0)
		memory_pass(&state, path_of(PATH_DRM, NULL, folder), say);
}
