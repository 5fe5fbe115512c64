/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-oneshot trial-ended: `kiln run` asks what follows the run of a slot. */
#include "core/base/events.h"
#include "core/base/program.h"
#include "drivers/notify/alive.h"
#include "oneshot/series/after.h"
#include "oneshot/series/move.h"

#include <sysexits.h>

/* Fails the trial by the exit code that `kiln run` saw, or moves it; fetchd's and traind's last words say
 * why. Returns 1 where it has moved it. */
static int fail_by(const char *code, struct error *err)
{
	char words[600] = "a program of the run ended", reason[700];
	uint64_t number;
	int r;

	if (!code || !program_number(code, 255, &number))
		return 0;
	if (number == SERIES_EXIT_MOVE)
		return (r = move_current(err)) < 0 ? r : 1;
	for (int i = STATUS_FETCHD; i <= STATUS_TRAIND; i++)
		(void)alive_last_words((enum status_daemon)i, words, sizeof(words));
	(void)snprintf(reason, sizeof(reason), "%s (exit code %s)", words, code);
	r = after_failure((int)number, reason, err);
	return r < 0 ? r : 0;
}

/* Tells whether the current run waits for another night. */
static bool is_at_rest(void)
{
	enum run_state state;

	return run_state_get(&state, NULL) == 0 && (state == RUN_STOPPED || state == RUN_EXPIRED);
}

int oneshot_trial_ended(int argc, char **argv)
{
	enum after after = AFTER_NO_SERIES;
	struct error err = { 0 };
	int r = fail_by(program_option(argc, argv, "--code"), &err);

	if (r > 0)
		return EX_OK;
	if (r < 0 || after_run(&after, &err) < 0)
		return fatal(&err);
	switch (after) {
	case AFTER_NEXT:
		return EX_OK;
	case AFTER_WAIT:
		return SERIES_EXIT_WAIT;
	case AFTER_REST:
		return SERIES_EXIT_REST;
	case AFTER_OVER:
	case AFTER_GIVEN_UP:
		return SERIES_EXIT_OVER;
	default:
		return is_at_rest() ? SERIES_EXIT_REST : SERIES_EXIT_NONE;
	}
}
