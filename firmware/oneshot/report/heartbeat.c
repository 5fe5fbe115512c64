/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/heartbeat.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/base/version.h"
#include "core/box/box_health.h"
#include "core/box/image.h"
#include "core/box/tonight.h"
#include "core/run/status.h"
#include "core/series/series.h"
#include "drivers/people/people.h"
#include "oneshot/report/whom.h"

#include <ctype.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define STATE_BYTES_MAX 65536u
#define REASON_BYTES    512u
#define TEXT_BYTES      1024u
#define UNBEGUN_AFTER_S 300 /* a run that has not begun after this time is worth telling */

struct heartbeat {
	struct config config;
	struct tonight night;
	int64_t now_s;
	cJSON *state, *told;
	bool url_fails, mail_fails; /* in this call: then other notices wait for the next one */
};

/* ---- The end of a night ---- */

void heartbeat_end(const struct config *config, const char *outcome, const char *text)
{
	const bool good = strcmp(outcome, "finished") == 0 || strcmp(outcome, "stopped") == 0 ||
			  strcmp(outcome, "expired") == 0 || strcmp(outcome, "pruned") == 0;
	struct error err;

	if (people_have_monitor(config) && people_beat(config, good ? PEOPLE_BEAT_GOOD : PEOPLE_BEAT_FAIL,
						       text, config->notify.wait_min * 60000, &err) < 0)
		log_warning("notify.heartbeat_url: %s; the monitor does not know that the night is over",
			    err.text);
}

/* ---- What was said ---- */

static int64_t number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
}

/* Reads the state from a file. Returns NULL where it has none. */
static cJSON *read_state(enum path folder, const char *name)
{
	CLEANUP(json_free) cJSON *state = NULL;
	char path[PATH_BYTES];

	if (json_read(path_of(folder, name, path), STATE_BYTES_MAX, &state, NULL) < 0 ||
	    !cJSON_IsObject(state))
		return NULL;
	return TAKE(state);
}

/* Loads the state; begins a new one for another night, and where no file can be read. What people were told
 * of lately stays. A file below /run is newer than the one on the disk. */
static int load_state(struct heartbeat *heartbeat, struct error *err)
{
	heartbeat->state = read_state(PATH_RUNTIME, HEARTBEAT_FULL_FILE);
	if (!heartbeat->state)
		heartbeat->state = read_state(PATH_RUNS, HEARTBEAT_FILE);
	if (!heartbeat->state)
		heartbeat->state = cJSON_CreateObject();
	heartbeat->told = cJSON_GetObjectItemCaseSensitive(heartbeat->state, "told");
	if (!cJSON_IsObject(heartbeat->told)) {
		cJSON_DeleteItemFromObjectCaseSensitive(heartbeat->state, "told");
		heartbeat->told = cJSON_AddObjectToObject(heartbeat->state, "told");
	}
	if (!heartbeat->told)
		return error_set(err, -ENOMEM, "no memory for the heartbeat");
	if (number_of(heartbeat->state, "night") != heartbeat->night.from_s)
		cJSON_DeleteItemFromObjectCaseSensitive(heartbeat->state, "beat_s");
	return 0;
}

static bool set_number(cJSON *object, const char *key, int64_t value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	return json_add_u64(object, key, (uint64_t)value);
}

/* Writes the state below /run, because the disk takes none: else people would be told every minute. */
static int save_in_memory(const char *text, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNTIME, HEARTBEAT_FULL_FOLDER, path), err);

	return r < 0 ? r
		     : file_write_durable(path_of(PATH_RUNTIME, HEARTBEAT_FULL_FILE, path), text,
					  strlen(text), err);
}

static int save_state(struct heartbeat *heartbeat, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = set_number(heartbeat->state, "night", heartbeat->night.from_s)
			? json_print_line(heartbeat->state, &text, err)
			: error_set(err, -ENOMEM, "no memory for the heartbeat");

	if (r < 0)
		return r;
	r = file_write_durable(path_of(PATH_RUNS, HEARTBEAT_FILE, path), text, strlen(text), err);
	if (r < 0) {
		log_warning("%s; what was said is noted until the next boot only", err->text);
		return save_in_memory(text, err);
	}
	(void)unlink(path_of(PATH_RUNTIME, HEARTBEAT_FULL_FILE, path));
	return 0;
}

/* ---- What people are told in the night ---- */

/* Writes the reason without its digits: "failed 6 times" and "failed 7 times" are one reason. */
static void name_reason(const char *who, const char *why, char out[static REASON_BYTES])
{
	char *to = out;

	(void)snprintf(out, REASON_BYTES, "%s: %s", who, why);
	for (const char *from = out; *from; from++)
		if (!isdigit((unsigned char)*from))
			*to++ = *from;
	*to = '\0';
}

/* Forgets reasons that may be told again, and those of a clock that was wrong. */
static void forget_old(struct heartbeat *heartbeat)
{
	cJSON *item = heartbeat->told->child;

	while (item) {
		cJSON *next = item->next;
		const int64_t age_s = heartbeat->now_s - (int64_t)item->valuedouble;

		if (age_s < 0 || age_s >= HEARTBEAT_TOLD_S)
			cJSON_Delete(cJSON_DetachItemViaPointer(heartbeat->told, item));
		item = next;
	}
}

static bool fill_notice(cJSON *notice, const struct heartbeat *heartbeat, const char *who, const char *why,
			const char *text)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	return cJSON_AddNumberToObject(notice, "schema", REPORT_SCHEMA) &&
	       cJSON_AddItemToObject(notice, "text", json_string(text)) &&
	       cJSON_AddStringToObject(notice, "notice", "degraded") &&
	       cJSON_AddStringToObject(notice, "who", who) &&
	       cJSON_AddItemToObject(notice, "why", json_string(why)) &&
	       json_add_u64(notice, "at_s", (uint64_t)heartbeat->now_s) &&
	       cJSON_AddItemToObject(notice, "host", json_string(host)) &&
	       cJSON_AddStringToObject(notice, "version", KILN_VERSION) && image_add(notice);
}

/* Returns whether anybody was told. */
static bool send_notice(struct heartbeat *heartbeat, const char *who, const char *why, const char *text)
{
	CLEANUP(json_free) cJSON *notice = cJSON_CreateObject();
	CLEANUP(free_ptr) char *json = NULL;
	const struct config *config = &heartbeat->config;
	struct error err = { 0 };
	bool told = false;

	if (!fill_notice(notice, heartbeat, who, why, text) || json_print_line(notice, &json, &err) < 0) {
		log_warning("no memory for a notice: %s", text);
		return false;
	}
	if (people_have_url(config) && !heartbeat->url_fails) {
		heartbeat->url_fails = people_post(config, json, strlen(json), 0, &err) < 0;
		if (heartbeat->url_fails)
			log_warning("notify.url: %s", err.text);
		told = !heartbeat->url_fails;
	}
	if (people_have_mail(config) && !heartbeat->mail_fails) {
		heartbeat->mail_fails = people_mail(config, text, text, 0, &err) < 0;
		if (heartbeat->mail_fails)
			log_warning("%s", err.text);
		told = told || !heartbeat->mail_fails;
	}
	return told;
}

/* Tells people of a reason, unless they were told of it within the hour. */
static void tell(struct heartbeat *heartbeat, const char *who, const char *why)
{
	char reason[REASON_BYTES], host[256] = "", text[TEXT_BYTES];

	name_reason(who, why, reason);
	if (cJSON_HasObjectItem(heartbeat->told, reason))
		return;
	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(text, sizeof(text), "%s: %s: %.700s", host, who, why);
	if (send_notice(heartbeat, who, why, text) && !set_number(heartbeat->told, reason, heartbeat->now_s))
		log_warning("no memory for the heartbeat");
}

/* Tells of a daemon of this slot. */
static void tell_daemon(struct heartbeat *heartbeat, enum status_daemon daemon)
{
	struct status page;
	char name[32], unit[SLOT_UNIT_BYTES], who[SLOT_UNIT_BYTES + 16];

	if (status_read(daemon, &page, NULL) < 0 || !*page.degraded)
		return;
	(void)snprintf(name, sizeof(name), "kiln-%s", status_daemon_name(daemon));
	(void)snprintf(who, sizeof(who), "%s is degraded", slot_unit(name, "", unit));
	tell(heartbeat, who, page.degraded);
}

static void tell_degraded(struct heartbeat *heartbeat)
{
	const unsigned mine = slot_now(), slots = series_slots_tonight();

	tell_daemon(heartbeat, STATUS_UPLOADD);
	for (unsigned slot = 0; slot < slots; slot++) {
		(void)slot_use(slot);
		tell_daemon(heartbeat, STATUS_FETCHD);
		tell_daemon(heartbeat, STATUS_TRAIND);
	}
	(void)slot_use(mine);
}

/* Returns whether tell_degraded() or tell_unbegun() speaks of this reason. */
static bool is_told_elsewhere(const char *why)
{
	struct status page;

	for (int i = 0; i < STATUS_DAEMONS; i++)
		if (status_read((enum status_daemon)i, &page, NULL) == 0 && *page.degraded &&
		    strstr(why, page.degraded))
			return true;
	return strncmp(why, "the run does not begin", strlen("the run does not begin")) == 0;
}

/* Tells of what only kiln-controld sees: a daemon that is dead, uploads that ended, a disk without space, a
 * mistake in kiln.conf. */
static void tell_health(struct heartbeat *heartbeat)
{
	struct box_health health;

	if (box_health_read(&health, NULL) < 0)
		return;
	if (health.old)
		tell(heartbeat, "kiln-controld does not run", "it has noted nothing for minutes");
	else if (health.degraded && !is_told_elsewhere(health.why))
		tell(heartbeat, "the box is degraded", health.why);
}

static void tell_unbegun(struct heartbeat *heartbeat)
{
	CLEANUP(free_ptr) char *why = NULL;
	char path[PATH_BYTES];

	if (heartbeat->now_s - heartbeat->night.from_s >= UNBEGUN_AFTER_S &&
	    file_read(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), STATE_BYTES_MAX, &why, NULL, NULL) == 0)
		tell(heartbeat, "no run has begun yet", why);
}

/* ---- The verb ---- */

static void beat(struct heartbeat *heartbeat)
{
	const struct config *config = &heartbeat->config;
	const int64_t last_s = number_of(heartbeat->state, "beat_s"), age_s = heartbeat->now_s - last_s;
	struct error err;

	if (!people_have_monitor(config) ||
	    (age_s >= 0 && age_s < (int64_t)config->notify.heartbeat_min * 60))
		return;
	if (people_beat(config, PEOPLE_BEAT_START, last_s ? "the night goes on" : "the night has begun", 0,
			&err) < 0)
		log_warning("notify.heartbeat_url: %s", err.text);
	else if (!set_number(heartbeat->state, "beat_s", heartbeat->now_s))
		log_warning("no memory for the heartbeat");
}

static void heartbeat_done(struct heartbeat *heartbeat)
{
	config_done(&heartbeat->config);
	json_free(&heartbeat->state);
}

int oneshot_heartbeat(int argc, char **argv)
{
	CLEANUP(heartbeat_done) struct heartbeat heartbeat = { .now_s = time(NULL) };
	struct error err = { 0 };
	int r = tonight_get(&heartbeat.night, &err);

	(void)argc;
	(void)argv;
	if (r < 0)
		return r == -ENOENT ? EX_OK : fatal(&err);
	whom_load(&heartbeat.config);
	if (load_state(&heartbeat, &err) < 0)
		return fatal(&err);
	forget_old(&heartbeat);
	tell_degraded(&heartbeat);
	tell_health(&heartbeat);
	tell_unbegun(&heartbeat);
	/* the monitor last: people do not wait for one that is slow */
	beat(&heartbeat);
	return save_state(&heartbeat, &err) < 0 ? fatal(&err) : EX_OK;
}
