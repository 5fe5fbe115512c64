/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/box: code that only the programs on a box use: nights (night.h, tonight.h), reports of nights
 * (reports.h), the update of the box (update.h), the identity of box and image (image.h), and the state of
 * the data disk (data_disk.h). No threads; all state is in files.
 *
 * The current night, from its start by the timer or by hand: PATH_RUNS/tonight.json. A night that is over
 * becomes PATH_REPORTS/<id of its report>.night, until `kiln-oneshot report` has made its report, so that any
 * number of nights may wait for a report. Every step replaces or renames a whole file, so a power cut loses
 * no night.
 *
 * Order: tonight_begin() by kiln-oneshot nightly, or by kiln-oneshot begin for a start by hand ->
 * tonight_say() by a program that keeps a run from starting -> tonight_end() by the program that ends the
 * night -> tonight_load_over() and tonight_reported() by kiln-oneshot report.
 */
#pragma once

#include "core/box/reports.h"
#include "core/run/run.h"

#define TONIGHT_REASON_BYTES 1024u

struct tonight {
	int64_t from_s;            /* Unix time */
	int64_t over_s;            /* Unix time of the end; 0 = the night has not ended */
	bool by_timer;             /* true: the timer started the night; false: a person did */
	bool before_boot;          /* the night began before the last boot */
	char run_id[RUN_ID_BYTES]; /* the unfinished run that continues in the night; after the end: the run
				      of the night; "" = none */
	/* after the end: the unfinished series that worked in the night, also where slot 0 has no run;
	 * "" = none */
	char series_id[RUN_ID_BYTES];
	char reason[TONIGHT_REASON_BYTES]; /* why no run was started or continued; "" = no reason */
};

/* Begins a night now. A start by hand during a night does not begin a new night. A start by the timer, or a
 * start after the run or the series of the last night has ended, ends the last night first. If the current
 * run is unfinished, it becomes the run of the new night. */
MUST_CHECK int tonight_begin(bool by_timer, struct error *err);
/* Loads the current night. Errors: -ENOENT there is no current night; -EBADMSG a damaged file. */
MUST_CHECK int tonight_get(struct tonight *ret_tonight, struct error *err);
/* Tells whether the run belongs to the night: it began in the night, or was unfinished when the night
 * began. */
bool tonight_has(const struct tonight *tonight, const struct run *run);
/* Sets the reason why no run was started or continued; replaces an earlier reason. Begins a night by hand
 * where there is none. */
MUST_CHECK int tonight_say(const char *reason, struct error *err);

/* Ends the night that began at `from_s`. Its run is the current one, where this belongs to the night, or to a
 * series that worked in the night. Does nothing where this is not the current night. Errors: -EBADMSG a
 * damaged file, which is removed. */
MUST_CHECK int tonight_end(int64_t from_s, struct error *err);
/* Finishes tonight_end() where a power cut interrupted it. */
MUST_CHECK int tonight_settle(struct error *err);
/* Loads a night that has ended. `id`: an id of report_list("night"). */
MUST_CHECK int tonight_load_over(const char *id, struct tonight *ret_tonight, struct error *err);
/* Removes a night. Call it after the report of the night was made. */
MUST_CHECK int tonight_reported(const char *id, struct error *err);
