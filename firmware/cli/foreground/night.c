/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreground/night.h"
#include "cli/foreground/daemons.h"
#include "core/run/tracking.h"
#include "core/series/series.h"

#include <string.h>
#include <sysexits.h>

static int begin(const char *config, struct error *err)
{
	const char *const words[] = { "kiln-oneshot", "begin", "--config", config, NULL };

	return daemons_run_program(words, err);
}

/* Tells what follows: EX_OK = another trial, or an enum series_exit. `code`: how the daemons ended. */
static int trial_ended(int code, struct error *err)
{
	char text[16];
	const char *const words[] = { "kiln-oneshot", "trial-ended", code ? "--code" : NULL, text, NULL };

	(void)snprintf(text, sizeof(text), "%d", code);
	return daemons_run_program(words, err);
}

/* Trains run after run. Uploads never delay a trial: they go on beside it. *ret_began: there is a run whose
 * outputs may wait for their upload. Returns EX_OK after the last one, or where begin has ended a series, or
 * the exit code of what failed. */
static int train_all(const char *config, bool *ret_began, struct error *err)
{
	int r, code;

	do {
		r = begin(config, err);
		*ret_began = *ret_began || r == EX_OK || r == SERIES_EXIT_OVER;
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

/* A tracking_each_champion() function that ends the walk. */
static int one_champion(void *context, const char *name)
{
	(void)context;
	(void)name;
	return 1;
}

int night_run(const char *config, struct error *err)
{
	static const char *const drain[] = { "kiln-uploadd", "--drain", NULL };
	static const char *const promote[] = { "kiln-oneshot", "promote", NULL };
	bool began = false;
	int code, r;

	daemons_catch_signals();
	code = train_all(config, &began, err);
	daemons_end_uploads();
	if (code < 0 || daemons_are_stopped() || code == EX_TEMPFAIL || !began)
		return code;
	/* What is left to upload. */
	r = daemons_run_program(drain, err);
	/* Where promote.against asks for it; else this does nothing. The tracking server is told of a
	 * champion by the uploader. */
	if (r == EX_OK && code == EX_OK && (r = daemons_run_program(promote, err)) == EX_OK &&
	    tracking_each_champion(one_champion, NULL, NULL) > 0)
		r = daemons_run_program(drain, err);
	return code == EX_OK ? r : code;
}
