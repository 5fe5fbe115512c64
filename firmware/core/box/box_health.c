/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/box_health.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/paths.h"

#include <string.h>

#define FILE_NAME "health.json"
#define BYTES_MAX 65536u

int box_health_write(const char *state, const char *why, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if (!json_add_u64(object, "at_us", clock_us()) || !cJSON_AddStringToObject(object, "state", state) ||
	    !cJSON_AddItemToObject(object, "why", json_string(why ? why : "")))
		return error_set(err, -ENOMEM, FILE_NAME ": no memory");
	if ((r = json_print_line(object, &text, err)) < 0)
		return r;
	return file_write_durable(path_of(PATH_RUNTIME, FILE_NAME, path), text, strlen(text), err);
}

int box_health_read(struct box_health *ret_health, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const char *state, *why;
	char path[PATH_BYTES];
	uint64_t at_us;
	int r = json_read(path_of(PATH_RUNTIME, FILE_NAME, path), BYTES_MAX, &object, err);

	if (r < 0 || (r = json_get_u64(path, object, "at_us", &at_us, err)) < 0 ||
	    (r = json_get_string(path, object, "state", &state, err)) < 0 ||
	    (r = json_get_string(path, object, "why", &why, err)) < 0)
		return r;
	*ret_health = (struct box_health){ .degraded = strcmp(state, "degraded") == 0,
					   .old = clock_us() > at_us + BOX_HEALTH_OLD_S * UINT64_C(1000000) };
	(void)snprintf(ret_health->why, sizeof(ret_health->why), "%s", why);
	return 0;
}
