/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

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
	CLEANUP(json_free) cJSON *json = NULL;
	struct run_want want = { .state = RUN_RUNNING };
	char path[PATH_BYTES];
	const char *state;
	int r = json_read(path_of(PATH_RUN, "want", path), WANT_BYTES_MAX, &json, err);

	if (r == -ENOENT) {
		*ret_want = want;
		return 0;
	}
	if (r < 0 || (r = json_get_u64(path, json, "seq", &want.seq, err)) < 0 ||
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

bool run_want_is_stop(void)
{
	struct run_want want;

	return run_want_get(&want, NULL) == 0 && want.state == RUN_STOPPED;
}

void run_want_forget_stop(void)
{
	char path[PATH_BYTES];

	if (run_want_is_stop())
		(void)unlink(path_of(PATH_RUN, "want", path));
}

/* ---- RUN_ASKED_FILE ---- */

int run_asked_get(int64_t *ret_since_s, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], *end;
	int r = file_read(path_of(PATH_SLOT, RUN_ASKED_FILE, path), 32, &text, NULL, err);

	if (r < 0)
		return r;
	*ret_since_s = strtoll(text, &end, 10);
	return end != text && *end == '\n'
		       ? 0
		       : error_set(err, -EBADMSG, "%s: found \"%.32s\", expected a time", path, text);
}

int run_asked_set(int64_t since_s, struct error *err)
{
	char path[PATH_BYTES], text[32];
	int bytes = snprintf(text, sizeof(text), "%" PRId64 "\n", since_s);
	int r = path_make(path_of(PATH_SLOT, NULL, path), err);

	return r < 0 ? r
		     : file_write_durable(path_of(PATH_SLOT, RUN_ASKED_FILE, path), text, (uint64_t)bytes,
					  err);
}

void run_asked_over(bool forgotten)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_SLOT, RUN_ASKED_FILE, path));
	if (forgotten)
		(void)unlink(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path));
}

void run_want_forget_stops(void)
{
	const unsigned mine = slot_now();

	for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		run_want_forget_stop();
	}
	(void)slot_use(mine);
}
