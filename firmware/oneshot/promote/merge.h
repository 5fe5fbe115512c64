/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promotion in a sink with branches (drivers/versions). The champion is that of the branch merged into:
 * sink.merge_into, or the branch of sink.url. Everything that a promotion writes goes to the branch of the
 * winner's run, is committed there, and appears with one merge. The branch's newest commit gets the tag
 * nightly-YYYYMMDD, by the day (UTC) of the promotion; a second one of the day gets "-2", and so on.
 *
 * The files of a run of its own are on the branch of sink.url. Its promotion has the branch promote-RUN,
 * which goes with the outcome (branches.h).
 *
 * Order: merge_open -> merge_begin -> merge_refresh -> the files -> merge_promote; or, where the champion
 * stays, merge_open -> merge_keep_begin -> the records -> merge_keep. On a store without branches the calls
 * do nothing. Crash: the whole order is gone through again. A call that finds its commit, merge or tag makes
 * no other one; where the champion is the winner's already, merge_promote() alone follows, with `merged`.
 *
 * Errors of each call: -ESTALE both branches changed the paths that the text names, and nothing is merged;
 * -EPERM a hook refused; -EBUSY waiting may help: somebody's changes on the branch merged into are not
 * committed, or another champion came between; others of drivers/lakefs.
 */
#pragma once

#include "oneshot/promote/winner.h"

#include "drivers/versions/versions.h"

#define MERGE_TAG_BYTES 32u

struct merge {
	struct config_store from; /* the sink with the branch that has the winner's files */
	struct config_store into; /* the sink with the branch merged into */
	bool branches;            /* the sink has branches */
	bool alone;               /* a run of its own */
	/* The winner's branch is not there, and `from` is another one that has the winner's files. A trial's
	 * was merged and tagged; that of a run of its own may not be made yet. */
	bool gone;
	/* the branch merged into has this champion: an earlier call has merged, and may not have tagged */
	bool merged;
	char commit[VERSIONS_ID_BYTES]; /* the winner's newest commit, once merge_promote() has merged it */
	char tag[MERGE_TAG_BYTES];      /* "" = the server makes none, and waiting does not help */
};

/* Finds the branches of the winner's sink. Forgets a trial's branch as one to be deleted (left.h). Errors:
 * also -EBUSY files of the winner are not in the store yet; -EINVAL the store refuses them ("uploads_refused"
 * of run.json).
 */
MUST_CHECK int merge_open(const struct winner *winner, struct merge *ret_merge, struct error *err);

/* Makes the winner's branch where it is gone, at the newest commit of `from`: for a run of its own, or a
 * model that is to be the champion once more. */
MUST_CHECK int merge_begin(const struct winner *winner, struct merge *merge, struct error *err);

/* Brings the newest of the branch merged into to the winner's branch, before anything is written there. Of
 * the champion's folder and the records of series, which the promotion writes anew, that branch has the last
 * word, so that what an earlier promotion has left on the winner's branch is no conflict. */
MUST_CHECK int merge_refresh(const struct winner *winner, const struct merge *merge, struct error *err);

/* Commits, merges and tags, for the champion `number` that was promoted at `promoted_s`. Sends an event,
 * unless the winner's record has this commit already. Where the server makes no tag, and waiting does not
 * help, the commit has none, with a warning: the merge stands. */
MUST_CHECK int merge_promote(const struct winner *winner, struct merge *merge, uint64_t number,
			     int64_t promoted_s, struct error *err);

/* Begins the branch for the records of a winner whose champion stays: the winner's, or for a run of its own a
 * stage (drivers/versions/versions_stage.h). Returns 1 where no record is to be put: an earlier start has
 * committed them already, and was killed before it noted the outcome; or a hook refuses the branch, with a
 * warning. On a store without branches 0. */
MUST_CHECK int merge_keep_begin(const struct winner *winner, struct merge *merge, struct error *err);
/* Commits the records there; those of a run of its own appear on the branch of sink.url. What a hook refuses
 * gets no commit, with a warning: it stays uncommitted on a trial's branch, and is deleted with the stage of
 * a run of its own. */
MUST_CHECK int merge_keep(const struct winner *winner, const struct merge *merge, struct error *err);

/* Turns the branch of a store into its newest commit, whose objects can be read alone. Does nothing on a
 * store without branches. */
MUST_CHECK int merge_newest(const struct config *config, struct config_store *where, struct error *err);
