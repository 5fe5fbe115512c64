/* SPDX-License-Identifier: Apache-2.0 */
/* update.install: writes the requested update into a note (core/box/update.h), then asks kiln-steer to start
 * the unit that reads the note and installs the update. */
#include "core/box/update.h"
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "core/base/log.h"
#include "drivers/manager/manager.h"

#include <string.h>
#include <time.h>

/* Accepts the URLs that kiln-oneshot update-fetch can open. A URL never contains a credential. */
static int check_url(struct call *call, const char *url, struct error *err)
{
	bool known = strncmp(url, "s3://", 5) == 0 || strncmp(url, "file:///", 8) == 0;

	for (const char *c = url; *c; c++)
		known &= (unsigned char)*c >= 0x20 && *c != 0x7f;
	if (known && !strstr(url, "/../") && url[strlen(url) - 1] != '/')
		return 0;
	call->code = CONTROL_PARAMS;
	return error_set(err, -EINVAL, "url: found \"%.200s\", expected s3://BUCKET/KEY or file:///PATH",
			 url);
}

/* If the unit does not start, nobody installs the update: the note then says that the update failed
 * (steer_done_fn). */
static int started(struct call *call, int r, struct error *err)
{
	struct update update;
	struct error note_err;

	call->box->update_said = false;
	if (r < 0 && r != -ETIMEDOUT && update_load(&update, &note_err) == 0) {
		update.state = UPDATE_FAILED;
		(void)snprintf(update.text, sizeof(update.text), "%.1000s", err->text);
		if (update_save(&update, &note_err) < 0)
			log_warning("%s", note_err.text);
	}
	return r;
}

/* Returns whether an update is in progress. The note alone does not tell: the unit that reads it may never
 * have started, or may have died. */
static bool is_at_work(const struct box *box, const struct update *update)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err;
	bool busy;

	if (box->update_said || update->state == UPDATE_RESTARTING || !update_goes_on(update))
		return update_goes_on(update);
	if (manager_open(&manager, &err) < 0 || manager_update_is_busy(manager, &busy, &err) < 0) {
		log_debug("%s", err.text);
		return true;
	}
	return busy;
}

int method_update_install(struct call *call, struct error *err)
{
	struct update update, last;
	const char *url = control_text(&call->request, "url", "");
	struct timespec now;
	int r = check_url(call, url, err);

	if (r < 0)
		return r;
	if (update_load(&last, err) == 0 && is_at_work(call->box, &last)) {
		call->code = CONTROL_STATE;
		return error_set(err, -EBUSY, "an update is %s already: %s", update_state_name(last.state),
				 last.url);
	}
	(void)clock_gettime(CLOCK_REALTIME, &now);
	update = (struct update){ .state = UPDATE_ASKED,
				  .restart = control_flag(&call->request, "restart"),
				  .started_s = (uint64_t)now.tv_sec };
	(void)snprintf(update.url, sizeof(update.url), "%s", url);
	if ((r = update_save(&update, err)) < 0)
		return r;
	if ((r = call_result_true(call, "started", err)) < 0)
		return r;
	call->box->update_said = true;
	r = steer_say(call,
		      control_flag(&call->request, "allow_downgrade") ? "update.downgrade" : "update.install",
		      started, err);
	return r < 0 ? started(call, r, err) : r;
}
