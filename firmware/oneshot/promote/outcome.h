/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came out of a promotion: an event, and the member "promotion" of run.json and of series.json, on this
 * disk and in the store:
 *
 *     outcome     "promoted", "kept" (the champion stays), "refused" (there was nothing to compare)
 *     why         a sentence
 *     at_s        Unix time
 *     number      number of the new champion; missing otherwise
 *     champion    id of the run that the model was compared with; missing where there was none
 *     test        the paired test (outcome_test()); missing where there was none
 *     merged      {into, commit, tag}: the branch merged into, and the commit that was merged (merge.h); tag
 * "" = it has none; on this disk alone; missing in a sink without branches
 *
 * Beside it series.json on this disk has "branches_left", the id of the run whose branch is kept ("" = of
 * none), until the branches of the series are gone that sink.keep_branches does not keep (branches.h). A
 * refusal leaves all branches.
 */
#pragma once

#include "core/series/series.h"
#include "oneshot/promote/champion.h"
#include "oneshot/promote/judge.h"
#include "oneshot/promote/merge.h"
#include "oneshot/promote/winner.h"

#define OUTCOME_BRANCHES_LEFT SERIES_BRANCHES_LEFT

enum outcome { OUTCOME_PROMOTED, OUTCOME_KEPT, OUTCOME_REFUSED };

struct promotion {
	enum outcome outcome;
	char why[1024];
	uint64_t number; /* number of the new champion; 0 = none */
	int64_t at_s;    /* Unix time */
	bool unmerged;   /* the judgement is done, and what is refused is the merge */
	bool put;        /* the winner's branch may have the records of a promotion */
	cJSON *test;     /* owned; NULL = none */
};

/* Makes the JSON of a paired test: {method, metric, gain, low, high, p, rows, left_out, won, lost, seed,
 * resamples, min_gain, model {loss, accuracy}, champion {run_id, loss, accuracy}}. NULL: no memory. */
cJSON *outcome_test(const struct judgement *judgement, const struct judge_wish *wish, double min_gain,
		    const char *champion);

/* Sends the event. */
void outcome_say(const struct promotion *promotion, const struct winner *winner);

/* Returns whether the outcome of a night's model is noted: in its series, which is noted last, or else in its
 * run. Either record may be NULL. */
bool outcome_is_noted(const cJSON *series, const cJSON *record);

/* Returns "branches_left" of the record of a series, where branches are still to be deleted, else NULL. */
const char *outcome_left_branches(const cJSON *record);

/* Puts run.json and series.json with the outcome on the winner's branch, before it is committed. Does nothing
 * on a store without branches. `champion`: the champion that the model was compared with; its record may be
 * NULL. */
MUST_CHECK int outcome_put(const struct promotion *promotion, const struct winner *winner,
			   const struct champion *champion, const struct merge *merge, struct error *err);

/* Notes the outcome in run.json and series.json, on this disk and, where the store has no branches, in the
 * store. A record that this disk no longer has is not noted. Errors: those of the records and of the store.
 */
MUST_CHECK int outcome_note(const struct promotion *promotion, const struct winner *winner,
			    const struct champion *champion, const struct merge *merge, struct error *err);
