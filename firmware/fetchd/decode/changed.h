/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that changed since the plan was made (-ESTALE): the store has another ETag, version or size. The
 * run stops, unless the bytes are the same or the configuration allows another object (fetch.changed_object =
 * "replan").
 *
 * Where the store still has the pinned object, the answer was wrong and not the object: the shard is fetched
 * once more.
 *
 * "The same bytes" means: the SHA-256 of the whole object is the SHA-256 that manifest.jsonl had for this key
 * when the plan was made. The plan is never changed: each time the shard is loaded, also after a restart, the
 * plan's pin is wrong again and the object is looked up again.
 *
 * A worker calls, without the lock. Blocks: on the network and on the disk.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

/* Looks up the object of a shard that failed with -ESTALE. True: fetch the shard once more; shard->pin is the
 * object as it is now. False: shard->err is unchanged, or says why the object cannot be looked up. */
bool changed_repin(struct fetch *fetch, struct shard *shard);

/* Judges a changed object that has arrived: notes that the run goes on with it, or sets shard->err. */
void changed_check(struct fetch *fetch, struct shard *shard);
