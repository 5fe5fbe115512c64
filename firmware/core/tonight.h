/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The night that goes on, from the timer or a person's start until it is reported: PATH_RUNS/tonight.json.
 * Whoever ends a night leaves it there; `kiln-oneshot report` makes the report of it and takes it away. It
 * outlives a power cut.
 *
 * Order: tonight_begin by kiln-oneshot nightly, and where there is none by kiln-oneshot begin -> tonight_say
 * by whoever keeps a run from starting -> tonight_over.
 */
#pragma once

#include "core/run.h"

#define TONIGHT_REASON_BYTES 1024u

struct tonight {
	int64_t from_s;                    /* Unix time */
	bool by_timer;                     /* not by hand: whoever started it need not be there any more */
	char run_id[RUN_ID_BYTES];         /* the unfinished run that it goes on with; "" = none */
	char reason[TONIGHT_REASON_BYTES]; /* what kept a run from starting, or from going on; "" = nothing */
};

/* From now on; by hand it is the one that goes on, if any. The current record, if it is unfinished, is the
 * run. */
MUST_CHECK int tonight_begin(bool by_timer, struct error *err);
/* Errors: -ENOENT no night goes on; -EBADMSG a damaged file. */
MUST_CHECK int tonight_get(struct tonight *ret_tonight, struct error *err);
/* Whether it is this night's: begun in it, or unfinished when it began. */
bool tonight_has(const struct tonight *tonight, const struct run *run);
/* What is said last stays. Without a night it is one by hand, from now on. */
MUST_CHECK int tonight_say(const char *reason, struct error *err);
/* It is reported, or somebody begins another. */
void tonight_over(void);
