/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of kiln-oneshot begin that a trial of a series shares with any other run (begin.c). */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

/* Sets the current record aside where no program can read it, because no later night could begin with it. */
MUST_CHECK int begin_set_aside(struct error *err);

/* A new run. */
struct new_run {
	const char *file;       /* its configuration, which run.json freezes */
	struct config *config;  /* what `file` says, with the lines of the file that a person wrote, and the
				 * commits that the run reads; NULL = begin_new() loads it */
	const struct run *last; /* the last run of this box; its id is "" where there is none */
	bool unstarted;         /* the last run is unfinished, but never started: give it up */
	const cJSON *overrides; /* what run.start asked for, which goes to run.json; NULL = nothing. Not with
				 * `config` */
	const cJSON *members;   /* more members of run.json; NULL = none */
};

/* Begins a new run after every check of its configuration, its weights and its data. The last run is given up
 * only after the checks, so that a mistake in kiln.conf does not end it. */
MUST_CHECK int begin_new(const struct new_run *new, struct run *ret_run, struct error *err);

/* Goes on with the unfinished current run, with the configuration that its record has frozen; later changes
 * of `file` have no effect on it. `brought`: the run comes from the store. */
MUST_CHECK int begin_go_on(const char *file, bool brought, struct run *ret_run, struct error *err);

struct set_up {
	int64_t since_s; /* when the run was asked for: its night ends at the first run.ends_at after it */
	int64_t budget_ends_s; /* clock_boot_s() at which the run ends at the latest; 0 = no limit */
	bool adopted;          /* the run goes on */
	const char *repeats;   /* id of the run that this one repeats; "" = none */
};

/* Prepares what a run needs in addition to its record: the claim of its id, the end of its night, its spool,
 * the encoder, and a copy of the record in the store. Prints its id. */
MUST_CHECK int begin_set_up(struct run *run, const struct set_up *how, struct error *err);
