/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first objects of the next trial of a series, while the last ones of this trial are trained on.
 *
 * Why: from the moment when the last window of a run has arrived, kiln-fetchd has nothing to fetch, while the
 * trainer still trains. The kiln-fetchd of the next trial would begin with the wait for its first window. So
 * this one copies the objects of that window into the disk cache (copy.h), where the next one finds them.
 * Nothing is copied where there is no cache, where another slot works on the series, or where it is not known
 * which trial is next (core/series/next.h).
 *
 * The next kiln-fetchd makes its own plan, as ever. Objects that it does not need, because the store has
 * changed or the next trial did not begin, cost their bytes, and the cache evicts them.
 *
 * Threads: one of its own, which waits for most of the run. It allocates, once the run has nothing to
 * allocate for. Failures: a message in the log; the run goes on. Crash: an object is in the cache when it is
 * complete. The copy ends with the process, and with it the claims of the objects in flight, which the next
 * kiln-fetchd then fetches itself.
 *
 *     trial.c   which trial is next, and its plan
 *     copy.c    copies the objects of its first windows
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/shared/fetch.h"

/* Starts the thread where a next trial is possible. Errors: -EAGAIN. */
MUST_CHECK int prefetch_start(struct fetch *fetch, struct error *err);

/* Looks whether the run has all that it needs from the cursor on. Only then anything is copied. The producer
 * calls this at each step, with the lock held. */
void prefetch_look(struct fetch *fetch, const struct cursor *cursor);

/* Sets the figures of the status page, and adds the bytes to those that came from the store. */
void prefetch_count(struct status_fetchd *status);
