/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/refused.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/run/run.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_US     (60 * UINT64_C(1000000))
#define PAUSE_MAX_US (60 * PAUSE_US)

/* Notes why. `run_id`: of an archived run; NULL = the current one. */
static int note(const char *run_id, const char *why, struct error *err)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!cJSON_AddStringToObject(members, "uploads_refused", why))
		return error_set(err, -ENOMEM, "run.json: no memory");
	if ((r = json_print(members, &text, err)) < 0)
		return r;
	return run_id ? run_note_archived(run_id, text, err) : run_note(text, err);
}

static struct refusal *find(struct refused *refused, const char *run_id)
{
	for (uint32_t i = 0; i < refused->count; i++)
		if (strcmp(refused->of[i].run_id, run_id) == 0)
			return &refused->of[i];
	return NULL;
}

bool refused_rests(struct refused *refused, const char *run_id)
{
	struct refusal *found = find(refused, run_id);

	return found && !pause_is_over(&found->pause, PAUSE_US, PAUSE_MAX_US);
}

/* Without memory the run is tried, and told of, at each pass. */
static void add(struct refused *refused, const char *run_id)
{
	struct refusal *grown = realloc(refused->of, (refused->count + 1) * sizeof(*grown));

	if (!grown)
		return;
	refused->of = grown;
	grown += refused->count++;
	*grown = (struct refusal){ 0 };
	(void)snprintf(grown->run_id, sizeof(grown->run_id), "%s", run_id);
	(void)pause_is_over(&grown->pause, PAUSE_US, PAUSE_MAX_US);
}

void refused_archived(struct refused *refused, const char *run_id, const struct error *why)
{
	struct error err;

	if (find(refused, run_id))
		return;
	event_send(&(struct event){ .id = EVENT_UPLOADS_REFUSED, .run_id = run_id },
		   "%s: %s, leaving it in the spool", run_id, why->text);
	if (note(run_id, why->text, &err) < 0)
		log_warning("%s", err.text);
	add(refused, run_id);
}

bool refused_current(const struct error *why)
{
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	const char *noted;
	struct error err;

	if (run_load(&run, NULL) < 0 || !run_state_is_final(run.state) || run_record(&record, NULL) < 0)
		return false;
	noted = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(record, "uploads_refused"));
	if ((!noted || strcmp(noted, why->text) != 0) && note(NULL, why->text, &err) < 0)
		log_warning("%s", err.text);
	return true;
}
