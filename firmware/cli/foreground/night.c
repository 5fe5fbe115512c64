/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreground/night.h"
#include "cli/foreground/daemons.h"
#include "cli/foreground/slots.h"
#include "cli/foreground/trial.h"
#include "core/base/paths.h"
#include "core/series/series.h"

#include <string.h>
#include <sysexits.h>

#define SLOTS "16" /* as many as there may be: SLOTS_MAX */

static int begin(const char *config, struct error *err)
{
	const char *const words[] = { "kiln-oneshot", "begin", "--config", config, "--slots", SLOTS, NULL };

	return daemons_run_program(words, err);
}

/* Notes how many devices the trials of a night may use. */
static int count_devices(const char *config, struct error *err)
{
	const char *const words[] = { "kiln-traind", "--count-devices", "--config", config, NULL };

	return daemons_run_program(words, err);
}

/* Trains the trials of the unfinished series side by side. `begun`: slot 0 has begun a trial. Returns -ENOENT
 * where the night has one slot. */
static int train_beside(const char *config, bool begun, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_load_unfinished(&series, err);

	if (r == 0 && series_slots(series) == 1)
		return -ENOENT;
	if (r < 0 || (r = daemons_start_uploads(err)) < 0)
		return r;
	return slots_train(config, series_id(series), series_slots(series), begun, err);
}

/* Tells whether no series is unfinished. Where one is, what is left in the spool waits for the night that
 * ends it: an unfinished run gets more files. */
static bool is_over(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == -ENOENT;
}

/* Trains run after run. Uploads never delay a trial: they go on beside it. *ret_began: there is a run whose
 * outputs may wait for their upload. Returns EX_OK after the last one, or where begin has ended a series, or
 * the exit code of what failed. */
static int train_all(const char *config, bool *ret_began, struct error *err)
{
	int r = count_devices(config, err), code;

	if (r != EX_OK)
		return r;
	do {
		r = begin(config, err);
		*ret_began = *ret_began || r == EX_OK || r == SERIES_EXIT_OVER || r == SERIES_EXIT_WAIT;
		if ((r == EX_OK || r == SERIES_EXIT_WAIT) &&
		    (code = train_beside(config, r == EX_OK, err)) != -ENOENT) {
			*ret_began = *ret_began && is_over();
			return code;
		}
		if (r != EX_OK)
			return r == SERIES_EXIT_OVER ? EX_OK : r;
		if ((code = daemons_start_uploads(err)) < 0 || (code = daemons_train(false, err)) < 0)
			return code;
		if (daemons_are_stopped())
			return EX_TEMPFAIL;
		r = trial_ended(code, err);
	} while (r == EX_OK);
	if (r == SERIES_EXIT_NONE)
		return code;
	return r == SERIES_EXIT_OVER ? EX_OK : r == SERIES_EXIT_REST ? EX_TEMPFAIL : r;
}

/* Has the model judged, where promote.against asks for it. Then the uploader tells the tracking server of a
 * champion, and puts the record of a series with its outcome. */
static int promote_and_tell(const char *const drain[], struct error *err)
{
	static const char *const promote[] = { "kiln-oneshot", "promote", NULL };
	const int r = daemons_run_program(promote, err);
	int told;

	if (r != EX_OK && r != EX_DATAERR)
		return r;
	told = daemons_run_program(drain, err);
	return told == EX_OK ? r : told;
}

int night_run(const char *config, struct error *err)
{
	static const char *const drain[] = { "kiln-uploadd", "--drain", NULL };
	bool began = false;
	int code, r;

	daemons_catch_signals();
	code = train_all(config, &began, err);
	daemons_end_uploads();
	if (code < 0 || daemons_are_stopped() || code == EX_TEMPFAIL || !began)
		return code;
	/* Upload the files that are left. */
	r = daemons_run_program(drain, err);
	if (r == EX_OK && code == EX_OK)
		r = promote_and_tell(drain, err);
	return code == EX_OK ? r : code;
}
