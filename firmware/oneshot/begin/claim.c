/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/claim.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

int claim_add_box(cJSON *record, struct error *err)
{
	char machine[MACHINE_ID_BYTES], root[PATH_BYTES];
	int r = machine_id_read(machine, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "root");
	if ((!*machine || cJSON_AddStringToObject(record, "machine", machine)) &&
	    (!*machine_root(root) || cJSON_AddItemToObject(record, "root", json_string(root))))
		return 0;
	return error_set(err, -ENOMEM, "no memory for the name of this box");
}

/* Makes the claim: run.json with the members of this box. The local record gets these members later, so that
 * after a kill between the two steps the next attempt claims again. */
static int make_claim(char **ret_claim, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	int r;

	if ((r = run_record(&record, err)) < 0 || (r = claim_add_box(record, err)) < 0)
		return r;
	return json_print(record, ret_claim, err);
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

int claim_put(struct store *sink, const char *key, const char *claim, struct error *err)
{
	CLEANUP(free_ptr) char *second = NULL;
	int r = store_put_new(sink, key, claim, strlen(claim), err);

	if (r == -EOPNOTSUPP)
		return store_put(sink, key, claim, strlen(claim), err);
	if (r < 0)
		return r;
	if (asprintf(&second, "%s\n", claim) < 0)
		return error_set(err, -ENOMEM, "%s: no memory", key);
	r = store_put_new(sink, key, second, strlen(second), err);
	return r == -EEXIST ? 1 : r;
}

void claim_settle(struct store *sink)
{
	log_notice("%s: the store does not know If-None-Match: looking in %u s whether another box made the "
		   "same id",
		   store_url(sink), CLAIM_SETTLE_S);
	(void)sleep(CLAIM_SETTLE_S);
}

static int claim(struct store *sink, const struct run *run, bool goes_on, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	bool ours;
	int r = look(sink, run, goes_on, &ours, err);

	if (r < 0 || ours)
		return r;
	(void)snprintf(key, sizeof(key), "%s/run.json", run->id);
	if ((r = make_claim(&text, err)) < 0 ||
	    ((r = claim_put(sink, key, text, err)) < 0 && (r != -EEXIST || !goes_on)))
		return r;
	/* A begin that was killed may end its last request meanwhile. */
	if (r == -EEXIST)
		return look(sink, run, true, &ours, err);
	if (r > 0)
		return 0;
	claim_settle(sink);
	return look(sink, run, true, &ours, err);
}

static int note_box(const struct run *run, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	char machine[MACHINE_ID_BYTES];
	int r = machine_id_read(machine, err);

	if (r < 0 || !*machine)
		return r;
	if ((r = run_is_ours(run, err)) != 0)
		return r < 0 ? r : 0;
	if ((r = claim_add_box(note, err)) < 0)
		return r;
	if (!cJSON_HasObjectItem(note, "root") && !cJSON_AddNullToObject(note, "root"))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(note, err);
}

static int claim_an_id(struct store *sink, struct run *run, bool goes_on, struct error *err)
{
	uint32_t taken = 0;
	int r;

	while ((r = claim(sink, run, goes_on, err)) == -EEXIST) {
		if (++taken == CLAIM_IDS_MAX)
			return error_set(
				err, -EAGAIN,
				"%s: the store says that it has a run with each of the last %u ids, up to "
				"%s; look whether it answers PUT with If-None-Match as S3 does",
				store_url(sink), CLAIM_IDS_MAX, run->id);
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
	int r = *run->machine || !sink ? 0 : claim_an_id(sink, run, goes_on, err);

	return r < 0 ? r : note_box(run, err);
}
