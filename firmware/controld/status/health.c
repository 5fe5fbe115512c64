/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/health.h"
#include "controld/status/beside.h"
#include "controld/status/figure.h"
#include "core/base/paths.h"
#include "core/box/clock_wait.h"
#include "core/box/data_disk.h"
#include "core/box/esp.h"
#include "core/config/config.h"
#include "core/series/series.h"
#include "drivers/notify/alive.h"

#include <string.h>

#define DISK_LOW_PERCENT 5.0
#define DEAD_US          15000000u /* systemd needs less time to restart a daemon */
#define REASON_MAX       65536u
#define BEGIN_S          60u /* every daemon begins in less time, even with a slow device */

static bool is_dead(const struct view *view, const struct status *page)
{
	return page && !watch_is_alive(page) && view->now_us > page->updated_us + DEAD_US;
}

/* Returns whether the run began so long ago that every daemon should have begun too. */
static bool is_under_way(const struct view *view)
{
	uint64_t started_s;

	return json_get_u64("run.json", view->record, "started_s", &started_s, NULL) == 0 &&
	       view->now_us > (started_s + BEGIN_S) * 1000000u;
}

/* Returns why nothing is uploaded; NULL = uploadd runs. uploadd ends, and is not restarted, where an error
 * that does not go away by itself (a wrong credential, for example) lasts until the run has ended. Its status
 * page then disappears. */
static const char *no_uploads(const struct view *view, char *out, size_t size)
{
	const struct status *page = watch_newest(&view->box->watch, STATUS_UPLOADD);
	char words[512];

	if (page && watch_is_alive(page))
		return NULL;
	if (alive_last_words(STATUS_UPLOADD, words, sizeof(words)))
		(void)snprintf(out, size, "uploadd ended: %s", words);
	else if (!page && is_under_way(view))
		(void)snprintf(out, size, "kiln-uploadd does not run; kiln log tells why");
	else
		return NULL;
	return out;
}

/* Returns what prevents the next run from beginning, whatever the record says of the last run; NULL =
 * nothing. */
static const char *obstacle(struct box *box, char *out, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	const char *mistake = conf_mistake(&box->conf);
	char path[PATH_BYTES];
	struct error err;

	if (data_disk_check(&err) < 0 || esp_check(&err) < 0)
		return (void)snprintf(out, size, "%.500s", err.text), out;
	if (mistake)
		return mistake;
	if (file_read(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), REASON_MAX, &text, NULL, NULL) < 0)
		return NULL;
	(void)snprintf(out, size, "the run does not begin: %s", text);
	return out;
}

/* Returns what is wrong with an unfinished run; NULL = nothing. */
static const char *trouble(const struct view *view, char *out, size_t size)
{
	const struct status *pages[] = { view->fetchd, view->traind, view->uploadd };
	const cJSON *free_percent = cJSON_GetObjectItemCaseSensitive(view->disk, "free_percent");
	const cJSON *reason = view_noted(view, "reason");
	const char *why;

	if (cJSON_IsString(reason))
		return reason->valuestring;
	for (int i = 0; i < STATUS_DAEMONS; i++) {
		const char *name = status_daemon_name((enum status_daemon)i);

		if (pages[i] && strcmp(pages[i]->phase, "degraded") == 0)
			return (void)snprintf(out, size, "%s: %s", name, pages[i]->text), out;
		if (pages[i] && *pages[i]->degraded)
			return (void)snprintf(out, size, "%s: %s", name, pages[i]->degraded), out;
		if (is_dead(view, pages[i]))
			return (void)snprintf(out, size, "%s does not run: %s", name, pages[i]->text), out;
	}
	if ((why = obstacle(view->box, out, size)))
		return why;
	/* kiln-traind has a status page of this run as soon as it begins. */
	if (!view->traind && is_under_way(view))
		return "kiln-traind has not begun; kiln log tells why";
	if ((why = no_uploads(view, out, size)))
		return why;
	if (cJSON_IsNumber(free_percent) && free_percent->valuedouble < DISK_LOW_PERCENT)
		return (void)snprintf(out, size, "the disk has %.1f %% left", free_percent->valuedouble), out;
	return NULL;
}

static bool is_active(const struct view *view)
{
	return strcmp(view->state, "running") == 0 || strcmp(view->state, "paused") == 0 ||
	       strcmp(view->state, "stopping") == 0;
}

/* Returns why a person should look at the box; NULL = all is well. */
static const char *degraded(const struct view *view, char *out, size_t size)
{
	const char *why = is_active(view) ? trouble(view, out, size) : obstacle(view->box, out, size);

	if (why || (why = beside_trouble(out, size)) || !*view->box->metrics.error)
		return why;
	/* Report this: a person who sees the metrics only would see old values and not notice. */
	(void)snprintf(out, size, "control.metrics_dir: %s", view->box->metrics.error);
	return out;
}

/* Returns a remark on a box without a run. */
static const char *remark_without(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) == 0)
		return "no trial of the series is at work";
	return access(config_path(0, NULL), F_OK) == 0 ? "there was no run yet"
						       : "there was no run yet, and there is no "
							 "configuration: kiln config apply FILE";
}

/* Returns a remark on a run that is well, or on a box without a run; NULL = no remark. */
static const char *remark(const struct view *view)
{
	const cJSON *reason = view_noted(view, "reason");

	if (!view->record)
		return remark_without();
	if (cJSON_IsString(reason))
		return reason->valuestring;
	return view->traind && watch_is_alive(view->traind) ? view->traind->text : NULL;
}

/* Returns why nothing happens while the timer or the boot waits for the clock; NULL = nobody waits.
 * *ret_state is changed where a run is due, or goes on. */
static const char *clock_wait(const struct view *view, const char **ret_state, char *out, size_t size)
{
	char verb[CLOCK_WAIT_VERB_BYTES];
	bool is_timer;
	unsigned left_s;

	if (!clock_wait_find(verb, &left_s))
		return NULL;
	is_timer = strcmp(verb, "nightly") == 0;
	*ret_state = is_timer || is_active(view) ? "beginning" : view->state;
	(void)snprintf(
		out, size,
		is_timer ? "the timer waits for the clock to be set, at most %u s more; then a run begins if "
			   "one is due"
			 : "the boot waits for the clock to be set, at most %u s more; then a run goes on if "
			   "one was interrupted",
		left_s);
	return out;
}

void health_add(cJSON *object, const struct view *view)
{
	const char *state = "degraded", *why;
	char text[1024];
	bool beside;

	if (!view->record && view->record_error.code && view->record_error.code != -ENOENT) {
		why = view->record_error.text;
	} else if (view->begins) {
		state = "beginning";
		why = "kiln-begin prepares a run";
	} else if (!obstacle(view->box, text, sizeof(text)) &&
		   (why = clock_wait(view, &state, text, sizeof(text)))) {
		/* state and why are set */
	} else if (!(why = degraded(view, text, sizeof(text)))) {
		beside = !is_active(view) && beside_goes_on();
		state = beside ? "running" : view->state;
		why = beside ? "slot 0 waits until a trial of another slot ends" : remark(view);
	}
	figure_text(object, "state", state);
	figure_text(object, "why", why);
}
