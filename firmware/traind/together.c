/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/together.h"

#include "core/base/log.h"
#include "core/run/run.h"
#include "drivers/ranks/mpirun.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define ONESHOT "kiln-oneshot"

/* Becomes mpirun, with a rank for each device of this box. */
static int become_mpirun(uint32_t devices, struct error *err)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	char folder[PATH_BYTES], self[PATH_BYTES];
	const char *const program[] = { path_beside("kiln-traind", self), "--rank-from-env", NULL };
	const struct ranks_alone alone = { .ranks = devices, .folder = folder, .program = program };
	int r;

	if ((r = mpirun_prepare(folder, err)) < 0 ||
	    (r = ranks_mpirun_alone(&alone, &words, &environment, err)) < 0)
		return r;
	log_info("%" PRIu32 " devices train together", devices);
	return mpirun_exec(&words, &environment, err);
}

/* Becomes `kiln-oneshot lead`, which lies beside this program. */
static int become_lead(struct error *err)
{
	char path[PATH_BYTES], oneshot[] = ONESHOT, lead[] = "lead";
	char *const words[] = { oneshot, lead, NULL };

	(void)execv(path_beside(ONESHOT, path), words);
	return error_set(err, -errno, "%s: cannot start it: %s", path, strerror(errno));
}

int together_become(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };

	/* The caller reports a run that cannot be read. */
	if (run_load(&run, NULL) < 0 || run_state_is_final(run.state))
		return 0;
	if (*run.config.ranks.boxes)
		return become_lead(err);
	return run.config.device.count > 1 ? become_mpirun((uint32_t)run.config.device.count, err) : 0;
}
