/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The night that goes on, from the timer's or a person's start: PATH_RUNS/tonight.json. One that is over lies
 * beside the reports, PATH_REPORTS/<its report's id>.night, until `kiln-oneshot report` has made its report,
 * so that any number of them may wait. Neither is lost by a power cut, at whatever moment.
 *
 * Order: tonight_begin by kiln-oneshot nightly, and where there is none by kiln-oneshot begin -> tonight_say
 * by whoever keeps a run from starting -> tonight_end by whoever ends it -> tonight_load_over and
 * tonight_reported by kiln-oneshot report.
 */
#pragma once

#include "core/box/reports.h"
#include "core/run/run.h"

#define TONIGHT_REASON_BYTES 1024u

struct tonight {
	int64_t from_s;                    /* Unix time */
	int64_t over_s;                    /* Unix time; 0 = it goes on */
	bool by_timer;                     /* not by hand: whoever started it need not be there any more */
	bool before_boot;                  /* it began before the box was last started */
	char run_id[RUN_ID_BYTES];         /* the unfinished run that it goes on with, or once it is over the
					    * one that it had; "" = none */
	char reason[TONIGHT_REASON_BYTES]; /* what kept a run from starting, or from going on; "" = nothing */
};

/* From now on; by hand it is the one that goes on, if any. The current record, if it is unfinished, is the
 * run. Where the timer begins one, or the run of the one before has come to its end, that one is over. */
MUST_CHECK int tonight_begin(bool by_timer, struct error *err);
/* Errors: -ENOENT no night goes on; -EBADMSG a damaged file. */
MUST_CHECK int tonight_get(struct tonight *ret_tonight, struct error *err);
/* Whether it is this night's: begun in it, or unfinished when it began. */
bool tonight_has(const struct tonight *tonight, const struct run *run);
/* What is said last stays. Without a night it is one by hand, from now on. */
MUST_CHECK int tonight_say(const char *reason, struct error *err);

/* The one that began at `from_s` is over; another one stays, and where there is none nothing is done.
 * -EBADMSG: a damaged file, which goes. */
MUST_CHECK int tonight_end(int64_t from_s, struct error *err);
/* The rest of an end that a power cut left half done. */
MUST_CHECK int tonight_settle(struct error *err);
/* Of an id that report_list("night") has. */
MUST_CHECK int tonight_load_over(const char *id, struct tonight *ret_tonight, struct error *err);
MUST_CHECK int tonight_reported(const char *id, struct error *err);
