/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a run as kiln-traind sees them: processes that train one model together. Each has a device, a
 * ring and a kiln-fetchd of its own, with the rows of its lanes (data/order.h). Their gradients are added in
 * the tree of the lanes (plan/parts.h), so all ranks have the same weights after each step: with ranks.exact
 * the same bits for any number of ranks.
 *
 * Rank 0 leads. It alone reads checkpoints and writes files, the record and the state of the run, obeys the
 * operator, and decides what follows an epoch. The other ranks get the state of the model from it.
 *
 * Every call with several ranks is made by all ranks in the same order; it blocks until all have made it.
 * With one rank each call returns at once. Main thread only.
 *
 * Errors: an error that all ranks know ends all of them in order; rank 0 then notes the state of the run.
 * world_all() makes an error known. After any other error the rank ends the others (world_leave): it cannot
 * know what they wait for.
 */
#pragma once

#include "core/ring/cursor.h"
#include "data/plan.h"
#include "drivers/ranks/ranks.h"

struct model_metrics;
struct train;

struct world {
	uint32_t count, rank;
	struct ranks *ranks; /* NULL: world_join() was not called, or there is one rank */
	struct plan *plan;   /* rank 0 of several has it open */
	struct cursor from;  /* the cursor from which all ranks went on */
	struct cursor own;   /* the cursor of this rank, while its model has the cursor of the whole run */
	bool agreed;         /* the error with which this rank ends is known to all ranks */
};

/* Finds out which rank this process is: with `launched` as its launcher says, else the only one. Errors:
 * -EINVAL. */
MUST_CHECK int world_find(struct world *world, bool launched, struct error *err);
static inline bool world_leads(const struct world *world)
{
	return world->rank == 0;
}

/* Joins the other ranks, once the model is open and the plan is known, and gives the model its share of the
 * lanes. `opened` and `err` are the result of opening them: a rank that fails joins, too, so that all ranks
 * hear of it, with the rank before its text. Where the rank is on another box than the one that leads, the
 * error is -EREMOTEIO. Rank 0 notes each such box on which a rank fails (core/ranks/faults.h). Errors:
 * -EINVAL the configuration does not allow so many ranks, or the ranks differ; those of ranks_open();
 * `opened` of any rank. */
MUST_CHECK int world_join(struct train *train, int opened, struct error *err);
/* Gives all ranks the state of rank 0's model and of its callbacks, after restore() in rank 0. Sets
 * train->adapt of the others. */
MUST_CHECK int world_spread(struct train *train, struct error *err);
/* Returns the exit code of this rank for an error: `code`, but EX_UNAVAILABLE for an error that a rank on a
 * box that does not lead has alone. Nothing that is wrong with one box ends the run for good. */
int world_exit_code(const struct world *world, int code);
/* Leaves the other ranks. After an error that they do not know it ends them, and this process with
 * `exit_code`; then it does not return. */
void world_leave(struct train *train, bool failed, int exit_code);

/* Makes the results of all ranks known to all: returns the first error of them, with the rank before its
 * text, or 0. After an error of -EDOM, a number that is none, the first that names a record. `r` and `err`
 * are the result of this rank. */
MUST_CHECK int world_all(struct train *train, int r, struct error *err);
/* Returns the error of a rank that all ranks know, with the rank before its text. */
int world_fail(struct train *train, uint32_t rank, int code, const char *text, struct error *err);
/* Gives all ranks the records of all: `all` has world.count of `bytes` bytes, RANKS_RECORD_BYTES at most. */
MUST_CHECK int world_gather(struct train *train, const void *record, uint32_t bytes, void *all,
			    struct error *err);
/* Gives all ranks what rank `root` has. */
MUST_CHECK int world_broadcast(struct train *train, void *data, uint64_t bytes, uint32_t root,
			       struct error *err);

/* Collect what a checkpoint needs of all ranks: rank 0's model gets the cursor of the whole run, the sums of
 * the metrics, and the list of records that were left out. world_part() gives the model its own back, after
 * the snapshot. *ret_whole false: in the middle of an evaluation there is nothing to save. */
MUST_CHECK int world_collect(struct train *train, bool *ret_whole, struct error *err);
MUST_CHECK int world_part(struct train *train, struct error *err);
/* Collects the sums of a whole segment, in all ranks, before its metrics are reported. */
MUST_CHECK int world_collect_sums(struct train *train, struct error *err);
/* Does what model_metrics() does, with the rows of all ranks, in the middle of a segment. Only rank 0 gets
 * them. The model keeps the sums of its own lanes. */
MUST_CHECK int world_metrics(struct train *train, struct model_metrics *ret_metrics, struct error *err);
/* Gives all ranks the sums of all lanes, before adapt_end(). */
MUST_CHECK int world_collect_adapt(struct train *train, struct error *err);
/* Does what model_confusion() does, with the counts of all ranks. */
MUST_CHECK int world_confusion(struct train *train, uint32_t **ret_counts, uint64_t *ret_classes,
			       struct error *err);
