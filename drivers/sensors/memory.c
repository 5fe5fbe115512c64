/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/sensors/memory.h"

#include <glob.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Sums the counters "ue: N" of one device, which is the folder of the files. */
static bool count_device(const char *device, uint64_t *ret_errors)
{
	char pattern[PATH_MAX], line[64];
	glob_t found = { 0 };
	uint64_t errors;
	bool any = false;

	*ret_errors = 0;
	(void)snprintf(pattern, sizeof(pattern), "%s/ras/*_err_count", device);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (sensors_line(found.gl_pathv[i], line, sizeof(line)) &&
			    strncmp(line, "ue: ", 4) == 0) {
				errors = strtoull(line + 4, NULL, 10);
				*ret_errors += errors;
				any = true;
			}
	globfree(&found);
	return any;
}

void memory_amd(const char *folder, memory_each *each, void *context)
{
	char pattern[PATH_MAX], target[PATH_MAX];
	glob_t found = { 0 };

	(void)snprintf(pattern, sizeof(pattern), "%s/card*/device", folder);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const ssize_t length = readlink(found.gl_pathv[i], target, sizeof(target) - 1);
			uint64_t errors;

			if (length < 0 || !count_device(found.gl_pathv[i], &errors))
				continue;
			target[length] = '\0';
			each(context, strrchr(target, '/') ? strrchr(target, '/') + 1 : target, errors);
		}
	globfree(&found);
}

struct pass {
	struct memory_state *state;
	memory_each *grown;
};

static void compare(void *context, const char *gpu, uint64_t errors)
{
	const struct pass *pass = context;
	struct memory_state *state = pass->state;
	unsigned i = 0;

	while (i < state->gpus && strcmp(state->gpu[i].name, gpu) != 0)
		i++;
	if (i == MEMORY_GPUS_MAX)
		return;
	if (i == state->gpus) {
		(void)snprintf(state->gpu[i].name, sizeof(state->gpu[i].name), "%s", gpu);
		state->gpus++;
	} else if (errors > state->gpu[i].errors) {
		pass->grown(NULL, gpu, errors - state->gpu[i].errors);
	}
	state->gpu[i].errors = errors;
}

void memory_pass(struct memory_state *state, const char *folder, memory_each *grown)
{
	struct pass pass = { state, grown };

	memory_amd(folder, compare, &pass);
	memory_nvidia(compare, &pass);
}
