/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/update/failed.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "oneshot/update/update.h"

#include <stdlib.h>
#include <sysexits.h>

int update_failed(struct update *update, struct error *err)
{
	struct error note_err;

	update_discard();
	update->state = UPDATE_FAILED;
	(void)snprintf(update->text, sizeof(update->text), "%.1000s", err->text);
	if (update_save(update, &note_err) < 0)
		log_warning("%s", note_err.text);
	event_send(&(struct event){ .id = EVENT_UPDATE_FAILED, .url = update->url }, "%s", err->text);
	return error_exit_code(err);
}

/* Called by systemd's OnFailure=. Writes the failure of a service that was killed or never started, and so
 * could not write it itself. */
int oneshot_update_failed(int argc, char **argv)
{
	static struct update update;
	const char *unit = getenv("MONITOR_UNIT"), *result = getenv("MONITOR_SERVICE_RESULT");
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	if (update_load(&update, &err) < 0)
		return fatal(&err);
	if (!update_goes_on(&update))
		return EX_OK;
	(void)error_set(&err, -EIO, "%s ended: %s", unit ? unit : "kiln-update", result ? result : "killed");
	return update_failed(&update, &err);
}
