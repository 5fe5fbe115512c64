/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "oneshot/promote/merge.h"
#include "oneshot/promote/outcome.h"

struct installing {
	const struct winner *winner;
	const struct merge *merge;
	const struct champion *champion; /* the one so far; its record may be NULL */
	struct promotion *promotion;     /* gets the number, and the time of the promotion */
};

/* Copies the files of the winner to the champion's folders on the winner's branch, and writes champion.json
 * there, last. Returns 0; 1 where that branch, which has the newest of the branch merged into
 * (merge_refresh()), has another champion than `champion`: then nothing is written. Errors: those of the
 * stores; -ENOENT the run has no finished model. */
MUST_CHECK int install_model(const struct installing *installing, struct error *err);
