/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a plain shard are checked and indexed as their bytes arrive.
 *
 * Why: the bytes then lie in the processor's caches; reading them from memory again costs twice as much.
 *
 * How: a part begins in the middle of a record. The first offset in the part at which a record's length has
 * its CRC starts a run. The run counts only when the decoder, which walks the shard from its beginning, finds
 * a record that begins at exactly this offset (arrival_at). Anything wrong ends the run and is judged by the
 * decoder. The index is therefore the same with and without this file.
 *
 * The network thread owns the arrivals until it hands the shard over to the workers.
 */
#pragma once

#include "fetchd/shard/shard.h"

/* Whether this pays in a process: not where a filter looks at each record, nor with many workers, as then the
 * network thread is the bottleneck and not CPU time. */
bool arrival_pays(uint32_t workers, bool filtered);

/* Call before the request of a part is submitted. `index`: of arrival_pays(). */
void arrival_expect(struct shard *shard, uint64_t part, bool index);

/* The run that begins at this offset of the shard's plain bytes, or NULL. Offsets rise from call to call;
 * *part is 0 at first and belongs to the function afterwards. */
const struct arrival *arrival_at(const struct shard *shard, uint64_t offset, uint64_t *part);
