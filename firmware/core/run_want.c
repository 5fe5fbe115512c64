/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"
#include "core/paths.h"
#include "core/run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define WANT_BYTES_MAX 4096u

static const enum run_state allowed[] = { RUN_RUNNING, RUN_PAUSED, RUN_STOPPED };

static int state_of(const char *path, const char *name, enum run_state *ret_state, struct error *err)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (strcmp(name, run_state_name(allowed[i])) == 0) {
			*ret_state = allowed[i];
			return 0;
		}
	return error_set(err, -EBADMSG, "%s: found state \"%.20s\", expected running, paused or stopped",
			 path, name);
}

int run_want_get(struct run_want *ret_want, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	struct run_want want = { .state = RUN_RUNNING };
	char path[PATH_BYTES];
	const char *state;
	uint64_t bytes;
	int r = file_read(path_of(PATH_RUN, "want", path), WANT_BYTES_MAX, &text, &bytes, err);

	if (r == -ENOENT) {
		*ret_want = want;
		return 0;
	}
	if (r < 0 || (r = json_parse(path, text, bytes, &json, err)) < 0 ||
	    (r = json_get_u64(path, json, "seq", &want.seq, err)) < 0 ||
	    (r = json_get_u64(path, json, "checkpoint_seq", &want.checkpoint_seq, err)) < 0 ||
	    (r = json_get_string(path, json, "state", &state, err)) < 0 ||
	    (r = state_of(path, state, &want.state, err)) < 0)
		return r;
	*ret_want = want;
	return 0;
}

int run_want_set(const struct run_want *want, struct error *err)
{
	char path[PATH_BYTES], text[256];
	int bytes = snprintf(text, sizeof(text),
			     "{\"seq\": \"%" PRIu64 "\", \"checkpoint_seq\": \"%" PRIu64
			     "\", \"state\": \"%s\"}\n",
			     want->seq, want->checkpoint_seq, run_state_name(want->state));

	return file_write_durable(path_of(PATH_RUN, "want", path), text, (uint64_t)bytes, err);
}
