/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/claim.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

/* Puts the claim (run.json with this machine's id) into the store. The local record gets the machine's id
 * later, so that after a kill between the two steps the next attempt claims again. */
static int put_claim(struct store *sink, const struct run *run, const char *machine, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL, *claim = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	char key[STORE_KEY_MAX];
	int r;

	(void)snprintf(key, sizeof(key), "%s/run.json", run->id);
	if ((r = run_json(&text, err)) < 0 ||
	    (r = json_parse("run.json", text, strlen(text), &record, err)) < 0)
		return r;
	if (*machine && !cJSON_AddStringToObject(record, "machine", machine))
		return error_set(err, -ENOMEM, "run.json: no memory");
	r = json_print(record, &claim, err);
	return r < 0 ? r : store_put_new(sink, key, claim, strlen(claim), err);
}

/* Looks whether the store has a run with this id. Returns 0 where it has none, or where an earlier attempt of
 * this box put it there (*ret_ours); -EEXIST where another box did. */
static int look(struct store *sink, const struct run *run, bool goes_on, bool *ret_ours, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run there = { 0 };
	uint64_t bytes;
	int r = stored_record_get(sink, run->id, &there, &text, &bytes, err);

	*ret_ours = r == 0 && goes_on && !stored_record_is_anothers(&there);
	if (r == -ENOENT || *ret_ours)
		return 0;
	return r == 0 || r == -EBADMSG ? -EEXIST : r;
}

static int claim(struct store *sink, const struct run *run, const char *machine, bool goes_on,
		 struct error *err)
{
	bool ours;
	int r = look(sink, run, goes_on, &ours, err);

	if (r < 0 || ours)
		return r;
	/* -EOPNOTSUPP: the server does not support a conditional PUT. Then look() is the only check. */
	r = put_claim(sink, run, machine, err);
	return r == -EOPNOTSUPP ? 0 : r;
}

static int note_machine(const struct run *run, const char *machine, struct error *err)
{
	char note[MACHINE_ID_BYTES + 32];

	if (!*machine || strcmp(run->machine, machine) == 0)
		return 0;
	(void)snprintf(note, sizeof(note), "{\"machine\": \"%s\"}", machine);
	return run_note(note, err);
}

static int claim_an_id(struct store *sink, struct run *run, const char *machine, bool goes_on,
		       struct error *err)
{
	int r;

	while ((r = claim(sink, run, machine, goes_on, err)) == -EEXIST) {
		log_info("%s: the store has a run with this id already, so this run gets a later id",
			 run->id);
		(void)sleep(1);
		if ((r = run_rename(run, err)) < 0)
			break;
	}
	return r;
}

int claim_run(struct store *sink, struct run *run, bool goes_on, struct error *err)
{
	char machine[MACHINE_ID_BYTES];
	int r = 0;

	(void)machine_id(machine);
	if (!*run->machine)
		r = claim_an_id(sink, run, machine, goes_on, err);
	return r < 0 ? r : note_machine(run, machine, err);
}
