/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/faults.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "core/run/spool.h"

#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define FILE_BYTES (1u << 16)
#define STEP_MAX   ((double)(UINT64_C(1) << 53))

bool ranks_fault_is_lasting(int exit_status)
{
	return exit_status == EX_DATAERR || exit_status == EX_NOPERM || exit_status == EX_CONFIG ||
	       exit_status == RANKS_NOT_EXECUTABLE || exit_status == RANKS_NOT_FOUND;
}

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

/* Tells whether a member is a whole number, least .. most. */
static bool get_whole(const cJSON *json, const char *member, double least, double most, int64_t *ret)
{
	const double number = json_number(json, member, least - 1);

	if (!(number >= least && number <= most) || number != (double)(int64_t)number)
		return false;
	*ret = (int64_t)number;
	return true;
}

/* Reads and checks the file. Returns NULL where it has nothing of this run since checkpoint `step`; else
 * *ret_faults is 1 .. RANKS_FAULTS_LIMIT. */
static cJSON *read_file(const char *run_id, const char *box, int64_t step, uint32_t *ret_faults)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	int64_t faults, found;

	if (json_read(file_of(box, path), FILE_BYTES, &json, NULL) < 0 ||
	    strcmp(text_of(json, "run"), run_id) != 0 ||
	    !get_whole(json, "faults", 1, RANKS_FAULTS_LIMIT, &faults) ||
	    !get_whole(json, "step", -1, STEP_MAX, &found) || found != step)
		return NULL;
	*ret_faults = (uint32_t)faults;
	return TAKE(json);
}

static bool is_lasting(const cJSON *json)
{
	return cJSON_IsTrue(json_member(json, "lasting"));
}

void ranks_fault_read(const char *run_id, const char *box, struct ranks_fault *ret_fault)
{
	CLEANUP(json_free) cJSON *json = NULL;
	uint32_t faults;

	*ret_fault = (struct ranks_fault){ .step = -1 };
	if (spool_find_step(run_id, &ret_fault->step, NULL) < 0 ||
	    !(json = read_file(run_id, box, ret_fault->step, &faults)))
		return;
	ret_fault->faults = faults;
	ret_fault->lasting = is_lasting(json);
	(void)snprintf(ret_fault->why, sizeof(ret_fault->why), "%s", text_of(json, "why"));
}

int ranks_fault_note(const char *run_id, const char *box, const char *job, bool lasting, const char *why,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *before = NULL, *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	uint32_t faults = 0;
	int64_t step;
	int r = run_lock(&lock, err);

	if (r < 0 || (r = spool_find_step(run_id, &step, err)) < 0)
		return r;
	before = read_file(run_id, box, step, &faults);
	if ((!before || strcmp(text_of(before, "job"), job) != 0) && faults < RANKS_FAULTS_LIMIT)
		faults++;
	if (!cJSON_AddStringToObject(json, "run", run_id) ||
	    !cJSON_AddNumberToObject(json, "faults", faults) ||
	    !cJSON_AddBoolToObject(json, "lasting", lasting && (!before || is_lasting(before))) ||
	    !cJSON_AddNumberToObject(json, "step", (double)step) ||
	    !cJSON_AddStringToObject(json, "job", job) || !cJSON_AddStringToObject(json, "why", why))
		return error_set(err, -ENOMEM, "no memory");
	r = json_print_line(json, &text, err);
	return r < 0 ? r : file_write_durable(file_of(box, path), text, strlen(text), err);
}

int ranks_fault_forget(const char *box, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	int r = run_lock(&lock, err);

	if (r == 0 && unlink(file_of(box, path)) < 0 && errno != ENOENT)
		r = error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	return r;
}
