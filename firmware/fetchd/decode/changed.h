/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that are others than the plan has (-ESTALE). The run stops, unless the bytes are the same or the
 * configuration allows another object (fetch.changed_object = "replan").
 *
 * "The same bytes" means: the SHA-256 of the whole object is the one that manifest.jsonl had for this key
 * when the plan was made. The plan stays as it is: each time the shard is loaded, also after a restart, its
 * pin is found to be wrong and the object is looked up anew.
 *
 * A worker calls, without the lock. Blocks: on the network and on the disk.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/shard/shard.h"

/* The shard failed with -ESTALE: look the object up. True: fetch it once more, as what it is now; shard->pin
 * is set. False: shard->err stands, or says why the object cannot be looked up. */
bool changed_repin(struct fetch *fetch, struct shard *shard);

/* The changed object has arrived: note that the run goes on with it, or set shard->err. */
void changed_check(struct fetch *fetch, struct shard *shard);
