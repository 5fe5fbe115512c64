/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/send.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/later.h"
#include "drivers/people/people.h"
#include "oneshot/report/make.h"
#include "oneshot/report/upload.h"

#include <string.h>

#define TOLD_FOLDER "report"
#define NOT_TRIED   "it was not tried yet"

/* Where a report goes, in this order: so people do not have to wait for the store. The newest report is tried
 * once at each place before any place is waited for. */
enum target { TARGET_NOTIFY, TARGET_MAIL, TARGET_STORE, TARGETS };

static const struct {
	const char *key, *words;
} targets[TARGETS] = { [TARGET_NOTIFY] = { "notify", "posted" },
		       [TARGET_MAIL] = { "mail", "mailed" },
		       [TARGET_STORE] = { "store", "uploaded" } };

struct sending {
	const struct config *config;
	const char *id;
	char *text; /* the report's JSON as text */
	uint64_t bytes;
	cJSON *report, *pending;
	cJSON *before;      /* what was pending at the begin; NULL = not known */
	const char *run_id; /* id of the night's run; NULL = the night had no run */
	uint64_t wait_ms;   /* how long to try again; 0 = one attempt */
	bool again;         /* what fails now is tried again afterwards, for notify.wait_min */
};

static const char *run_id_of(const cJSON *report)
{
	const cJSON *run = cJSON_GetObjectItemCaseSensitive(report, "run");

	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "id"));
}

/* Tells whether another attempt may help. */
static bool may_pass(int code)
{
	return code != -EACCES && code != -EPERM && code != -ENOENT && code != -EKEYREJECTED &&
	       code != -EINVAL;
}

/* Says that a report is late, unless it is tried again at once, or an earlier start said so. */
static void say_late(const struct sending *sending, enum target target, const struct error *err)
{
	const char *said =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(sending->before, targets[target].key));

	if ((sending->again && may_pass(err->code)) || (said && strcmp(said, err->text) == 0)) {
		log_info("the report of %s is not %s yet: %s", sending->id, targets[target].words, err->text);
		return;
	}
	event_send(&(struct event){ .id = EVENT_REPORT_LATE, .run_id = sending->run_id },
		   "the report of %s is not %s: %s, trying again with the next report", sending->id,
		   targets[target].words, err->text);
}

/* Begins the second round, in which each target is waited for. Returns false where there is none. */
static bool begin_waiting(struct sending *sending)
{
	if (!sending->again)
		return false;
	sending->again = false;
	sending->wait_ms = sending->config->notify.wait_min * 60000;
	return true;
}

/* ---- What is pending ---- */

static int write_pending(const char *id, const cJSON *pending, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	(void)report_path(id, "pending", path);
	if (cJSON_GetArraySize(pending) == 0)
		return unlink(path) < 0 && errno != ENOENT
			       ? error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno))
			       : 0;
	r = json_print_line(pending, &text, err);
	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

/* Writes the path of the mark that says: people were told before this report could be written. The mark is
 * below /run, so the next boot removes it.
 */
static char *told_path(const char *id, enum target target, char out[static PATH_BYTES])
{
	char tail[64];

	(void)snprintf(tail, sizeof(tail), TOLD_FOLDER "/%s.%s", id, targets[target].key);
	return path_of(PATH_RUNTIME, tail, out);
}

static bool is_told(const char *id, enum target target)
{
	char path[PATH_BYTES];

	return access(told_path(id, target, path), F_OK) == 0;
}

int report_pend(const struct config *config, const char *id, struct error *err)
{
	CLEANUP(json_free) cJSON *pending = cJSON_CreateObject();
	/* Where there is no configuration, notify may exist, so count the post and the mail as pending. */
	const bool wanted[TARGETS] = {
		[TARGET_NOTIFY] = (!config->file || people_have_url(config)) && !is_told(id, TARGET_NOTIFY),
		[TARGET_MAIL] = (!config->file || people_have_mail(config)) && !is_told(id, TARGET_MAIL),
		[TARGET_STORE] = true,
	};

	for (unsigned i = 0; i < TARGETS; i++)
		if (wanted[i] && !cJSON_AddStringToObject(pending, targets[i].key, NOT_TRIED))
			return error_set(err, -ENOMEM, "no memory for the report");
	return write_pending(id, pending, err);
}

/* ---- People ---- */

static int post(const struct sending *sending, struct error *err)
{
	int r;

	if (!people_have_url(sending->config))
		return 0;
	r = people_post(sending->config, sending->text, sending->bytes, sending->wait_ms, err);
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_REPORT_POSTED, .run_id = sending->run_id },
			   "the report of %s is posted", sending->id);
	return r;
}

/* Mails the page of the report; its sentence is the subject. */
static int mail(const struct sending *sending, struct error *err)
{
	CLEANUP(free_ptr) char *page = NULL;
	CLEANUP(close_file) FILE *out = NULL;
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(sending->report, "text"));
	size_t bytes;
	int r;

	if (!people_have_mail(sending->config))
		return 0;
	out = open_memstream(&page, &bytes);
	if (out)
		report_print(sending->report, out);
	if (!out || fflush(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the report");
	r = people_mail(sending->config, text ? text : sending->id, page, sending->wait_ms, err);
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_REPORT_POSTED, .run_id = sending->run_id },
			   "the report of %s is mailed", sending->id);
	return r;
}

static int note_told(const char *id, enum target target, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNTIME, TOLD_FOLDER, path), err);

	return r < 0 ? r : file_write_durable(told_path(id, target, path), "", 0, err);
}

/* Returns whether another attempt may help. */
static bool tell(const struct sending *sending, enum target target)
{
	struct error err = { 0 };
	int r;

	if (is_told(sending->id, target))
		return false;
	r = target == TARGET_NOTIFY ? post(sending, &err) : mail(sending, &err);
	if (r < 0)
		say_late(sending, target, &err);
	else if (note_told(sending->id, target, &err) < 0)
		log_warning("%s; people are told once more when the report is written", err.text);
	return r < 0 && may_pass(r);
}

void report_tell(const struct config *config, const char *id, cJSON *report, bool wait)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct sending sending = {
		.config = config, .id = id, .report = report, .run_id = run_id_of(report)
	};
	bool url = people_have_url(config), by_mail = people_have_mail(config);
	struct error err = { 0 };

	if (json_print(report, &text, &err) < 0) {
		log_warning("%s", err.text);
		return;
	}
	sending.text = text;
	sending.bytes = strlen(text);
	sending.again = wait && config->notify.wait_min > 0;
	do {
		url = url && tell(&sending, TARGET_NOTIFY);
		by_mail = by_mail && tell(&sending, TARGET_MAIL);
	} while (begin_waiting(&sending));
}

/* ---- One report to every target ---- */

static int load(struct sending *sending, struct error *err)
{
	CLEANUP(free_ptr) char *pending = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(report_path(sending->id, "json", path), REPORT_BYTES_MAX, &sending->text,
			  &sending->bytes, err);

	if (r < 0 || (r = json_parse(path, sending->text, sending->bytes, &sending->report, err)) < 0 ||
	    (r = file_read(report_path(sending->id, "pending", path), REPORT_BYTES_MAX, &pending, &bytes,
			   err)) < 0 ||
	    (r = json_parse(path, pending, bytes, &sending->pending, err)) < 0)
		return r;
	sending->before = cJSON_Duplicate(sending->pending, true);
	sending->run_id = run_id_of(sending->report);
	return 0;
}

static void sending_done(struct sending *sending)
{
	free(sending->text);
	json_free(&sending->report);
	json_free(&sending->pending);
	json_free(&sending->before);
}

static int upload(const struct sending *sending, struct error *err)
{
	return report_upload(&(struct report_upload){ .config = sending->config,
						      .id = sending->id,
						      .run_id = sending->run_id,
						      .wait_ms = sending->wait_ms },
			     err);
}

/* Delivers the report to one target, unless that has it. Returns 0 or the error. */
static int deliver(struct sending *sending, enum target target)
{
	const char *key = targets[target].key;
	struct error err = { 0 };
	int r;

	if (!cJSON_HasObjectItem(sending->pending, key))
		return 0;
	r = target == TARGET_NOTIFY ? post(sending, &err)
	    : target == TARGET_MAIL ? mail(sending, &err)
				    : upload(sending, &err);
	if (r < 0) {
		/* without memory for the new reason the old one stays */
		(void)cJSON_ReplaceItemInObjectCaseSensitive(sending->pending, key, json_string(err.text));
		say_late(sending, target, &err);
		/* others commit what they have on the branch: kiln-uploadd asks again */
		if (r == -EUCLEAN && later_note(LATER_REPORT, &err) < 0)
			log_warning("%s; the report goes with the next one", err.text);
	} else {
		cJSON_DeleteItemFromObjectCaseSensitive(sending->pending, key);
	}
	if (write_pending(sending->id, sending->pending, &err) < 0)
		log_warning("%s", err.text);
	return r;
}

/* Delivers the report to each target that is there. Where one fails, the older reports are not tried there.
 */
static void deliver_all(struct sending *sending, bool there[static TARGETS])
{
	bool wanted[TARGETS];

	memcpy(wanted, there, sizeof(wanted));
	do {
		for (int target = 0; target < TARGETS; target++) {
			int r = wanted[target] ? deliver(sending, (enum target)target) : 0;

			if (wanted[target])
				there[target] = r == 0;
			wanted[target] = r < 0 && may_pass(r);
		}
	} while (begin_waiting(sending));
}

void report_send(const struct config *config)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	bool there[TARGETS] = { true, true, true };
	struct error err = { 0 };
	uint32_t count = 0;

	if (report_list("pending", &ids, &count, &err) < 0)
		log_warning("%s", err.text);
	for (uint32_t i = count; i-- > 0;) {
		CLEANUP(sending_done)
		struct sending sending = { .config = config,
					   .id = ids[i],
					   .again = i + 1 == count && config->notify.wait_min > 0 };

		if (load(&sending, &err) < 0) {
			log_warning("%s, leaving it", err.text);
			continue;
		}
		deliver_all(&sending, there);
	}
}
