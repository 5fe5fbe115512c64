/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot preload: fills the cache with what the next run of kiln.conf reads, and with what is pinned.
 *
 *     preload.c    decides which objects; lists them twice, first to count and touch, then to fetch
 *     space.c      makes space in the cache: decides which files are evicted
 *     progress.c   writes the progress to the cache's preload.json (drivers/cache/cache.h)
 *
 * drivers/cache/fetcher.h copies the objects.
 *
 * Why it lists twice: the first pass sets the time of use of each wanted object that is in the cache already.
 * So the second pass may evict every object with an older time of use: this preload does not want it.
 *
 * Threads: one; kiln-fetchd may write into the same cache at the same time, so the folder of the cache is
 * listed again whenever another process has changed it.
 * Crash: harmless at any point. An object appears in the cache only when it is complete, by rename; the next
 * start removes unfinished files. preload.json says "running" until the next preload.
 */
#pragma once

/* The verb preload. [--config FILE] */
int oneshot_preload(int argc, char **argv);
