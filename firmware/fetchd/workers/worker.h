/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker thread: pops a span of rows and gathers it, or pops a shard and decodes it.
 */
#pragma once

void *worker_thread(void *fetch);
