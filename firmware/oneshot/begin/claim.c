/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/claim.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

/* Adds the members that say which box works on the run. */
static int add_box(cJSON *record, struct error *err)
{
	char machine[MACHINE_ID_BYTES], root[PATH_BYTES];
	int r = machine_id_read(machine, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "root");
	if ((!*machine || cJSON_AddStringToObject(record, "machine", machine)) &&
	    (!*machine_root(root) || cJSON_AddItemToObject(record, "root", json_string(root))))
		return 0;
	return error_set(err, -ENOMEM, "run.json: no memory");
}

/* Puts the claim (run.json with the members of this box) into the store. The local record gets these members
 * later, so that after a kill between the two steps the next attempt claims again. */
static int put_claim(struct store *sink, const struct run *run, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL, *claim = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	char key[STORE_KEY_MAX];
	int r;

	(void)snprintf(key, sizeof(key), "%s/run.json", run->id);
	if ((r = run_json(&text, err)) < 0 ||
	    (r = json_parse("run.json", text, strlen(text), &record, err)) < 0 ||
	    (r = add_box(record, err)) < 0)
		return r;
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
	int anothers = r == 0 && goes_on ? stored_record_is_anothers(&there, err) : 1;

	*ret_ours = anothers == 0;
	if (anothers < 0)
		return anothers;
	if (r == -ENOENT || *ret_ours)
		return 0;
	return r == 0 || r == -EBADMSG ? -EEXIST : r;
}

static int claim(struct store *sink, const struct run *run, bool goes_on, struct error *err)
{
	bool ours;
	int r = look(sink, run, goes_on, &ours, err);

	if (r < 0 || ours)
		return r;
	/* -EOPNOTSUPP: the server does not support a conditional PUT. Then look() is the only check. */
	r = put_claim(sink, run, err);
	return r == -EOPNOTSUPP ? 0 : r;
}

static int note_box(const struct run *run, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char machine[MACHINE_ID_BYTES];
	int r = machine_id_read(machine, err);

	if (r < 0 || !*machine)
		return r;
	if ((r = run_is_ours(run, err)) != 0)
		return r < 0 ? r : 0;
	if ((r = add_box(note, err)) < 0)
		return r;
	if (!cJSON_HasObjectItem(note, "root") && !cJSON_AddNullToObject(note, "root"))
		return error_set(err, -ENOMEM, "run.json: no memory");
	r = json_print(note, &text, err);
	return r < 0 ? r : run_note(text, err);
}

static int claim_an_id(struct store *sink, struct run *run, bool goes_on, struct error *err)
{
	int r;

	while ((r = claim(sink, run, goes_on, err)) == -EEXIST) {
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
	int r = *run->machine ? 0 : claim_an_id(sink, run, goes_on, err);

	return r < 0 ? r : note_box(run, err);
}
