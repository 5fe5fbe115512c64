/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and indexes the records of a plain shard while its bytes arrive.
 *
 * Why: the bytes are then in the processor's caches; to read them from memory later costs twice as much.
 *
 * How: parts of a shard arrive in any order, and a part begins in the middle of a record. The first offset in
 * the part at which 12 bytes look like the header of a record (the length has its CRC) starts a run of
 * records. That may be a coincidence, or data that holds a TFRecord file. So the run counts only when the
 * decoder, which walks the shard from its beginning, finds that a record begins at exactly this offset
 * (arrival_at). A fault ends the run and is judged by the decoder. The index is therefore the same with and
 * without this file.
 *
 * The network thread owns the arrivals until it hands the shard over to the workers.
 */
#pragma once

#include "fetchd/shard/shard.h"

/* Whether it pays to index on arrival. Not with a filter, which must look at each record, nor with many
 * workers: the network thread is then the bottleneck. */
bool arrival_pays(uint32_t workers, bool filtered);

/* Prepares a part before its request is submitted. `index`: the result of arrival_pays(). */
void arrival_expect(struct shard *shard, uint64_t part, bool index);

/* Returns the run that begins at this offset of the shard's plain bytes, or NULL. Offsets rise from call to
 * call; *part is 0 before the first call and is changed by this function only. */
const struct arrival *arrival_at(const struct shard *shard, uint64_t offset, uint64_t *part);
