/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/box: what only the programs of a box use: its nights (night.h, tonight.h), their reports (reports.h),
 * the update (update.h), the identity of the image (image.h) and the state of its disk (data_disk.h). No
 * threads; all state lies in files.
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
	int64_t over_s;            /* Unix time of the end; 0 = the night goes on */
	bool by_timer;             /* the timer started it; false: a person did */
	bool before_boot;          /* the night began before the last boot */
	char run_id[RUN_ID_BYTES]; /* the unfinished run that the night goes on with; of a night that is
				    * over, its run; "" = none */
	char reason[TONIGHT_REASON_BYTES]; /* why no run started or went on; "" = none */
};

/* Begins a night now. A start by hand in a night that goes on belongs to this night. A start by the timer, or
 * after the run of the night before has ended, ends the night before. The current run, if it is unfinished,
 * becomes the run of the night. */
MUST_CHECK int tonight_begin(bool by_timer, struct error *err);
/* Loads the current night. Errors: -ENOENT there is none; -EBADMSG a damaged file. */
MUST_CHECK int tonight_get(struct tonight *ret_tonight, struct error *err);
/* Tells whether the run belongs to the night: it began in the night, or was unfinished when the night
 * began. */
bool tonight_has(const struct tonight *tonight, const struct run *run);
/* Sets the reason; the last one counts. Begins a night by hand where there is none. */
MUST_CHECK int tonight_say(const char *reason, struct error *err);

/* Ends the night that began at `from_s`; does nothing where there is no night, or another one. Errors:
 * -EBADMSG a damaged file, which is removed. */
MUST_CHECK int tonight_end(int64_t from_s, struct error *err);
/* Completes the end of a night that a power cut interrupted. */
MUST_CHECK int tonight_settle(struct error *err);
/* Loads a night that is over, by an id of report_list("night"). */
MUST_CHECK int tonight_load_over(const char *id, struct tonight *ret_tonight, struct error *err);
/* Removes a night whose report is made. */
MUST_CHECK int tonight_reported(const char *id, struct error *err);
