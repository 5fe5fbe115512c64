/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker thread: pops a span of rows and gathers it (gather.h), or pops a shard and decodes it
 * (decode/decode.h).
 *
 * All workers are alike and share one queue (shard/work.h). A worker owns a shard from pop to
 * window_settle(), and the rows of a span in their slot until the span is finished. Each has its own
 * inflater. No worker has a state that a crash could lose.
 */
#pragma once

void *worker_thread(void *fetch);
