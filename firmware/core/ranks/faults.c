/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/faults.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/spool.h"

#include <string.h>

#define FILE_BYTES (1u << 16)

static char *file_of(const char *box, char out[static PATH_BYTES])
{
	char tail[128];

	(void)snprintf(tail, sizeof(tail), "fault-%.100s.json", box);
	return path_of(PATH_RUN, tail, out);
}

static const char *text_of(const cJSON *json, const char *member)
{
	const char *text = cJSON_GetStringValue(json_member(json, member));

	return text ? text : "";
}

/* Reads the file. Returns NULL where it has nothing of checkpoint `step`. */
static cJSON *read_file(const char *box, int64_t step)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];

	if (json_read(file_of(box, path), FILE_BYTES, &json, NULL) < 0 ||
	    (int64_t)json_number(json, "step", -2) != step)
		return NULL;
	return TAKE(json);
}

/* -1 = there is none. */
static int64_t newest_step(const char *run_id)
{
	const int64_t step = spool_newest_step(run_id, NULL);

	return step < 0 ? -1 : step;
}

void ranks_fault_read(const char *run_id, const char *box, struct ranks_fault *ret_fault)
{
	const int64_t step = newest_step(run_id);
	CLEANUP(json_free) cJSON *json = read_file(box, step);
	const double faults = json ? json_number(json, "faults", 0) : 0;

	*ret_fault = (struct ranks_fault){ .step = step };
	if (faults < 1 || faults > UINT32_MAX)
		return;
	ret_fault->faults = (uint32_t)faults;
	(void)snprintf(ret_fault->why, sizeof(ret_fault->why), "%s", text_of(json, "why"));
}

int ranks_fault_note(const char *run_id, const char *box, const char *job, const char *why, struct error *err)
{
	const int64_t step = newest_step(run_id);
	CLEANUP(json_free) cJSON *before = read_file(box, step), *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	double faults = before ? json_number(before, "faults", 0) : 0;
	char path[PATH_BYTES];
	int r;

	if (!before || strcmp(text_of(before, "job"), job) != 0)
		faults++;
	if (!cJSON_AddNumberToObject(json, "faults", faults) ||
	    !cJSON_AddNumberToObject(json, "step", (double)step) ||
	    !cJSON_AddStringToObject(json, "job", job) || !cJSON_AddStringToObject(json, "why", why))
		return error_set(err, -ENOMEM, "no memory");
	r = json_print_line(json, &text, err);
	return r < 0 ? r : file_write_durable(file_of(box, path), text, strlen(text), err);
}
