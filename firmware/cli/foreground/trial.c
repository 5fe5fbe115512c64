/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreground/trial.h"
#include "cli/foreground/daemons.h"

int trial_ended(int code, struct error *err)
{
	char text[16];
	const char *const words[] = { "kiln-oneshot", "trial-ended", code ? "--code" : NULL, text, NULL };

	(void)snprintf(text, sizeof(text), "%d", code);
	return daemons_run_program(words, err);
}
