/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot preload: fills the cache with what the next run of kiln.conf reads, and with what is pinned.
 *
 *     preload.c    which objects: listed twice, first to count and touch, then to fetch
 *     space.c      space for them in the cache: which files are evicted
 *     fetcher.c    from the store into the cache
 *     progress.c   how far it is, in the cache's preload.json (drivers/cache/cache.h)
 *
 * Why it lists twice: the first pass sets the time of use of each needed object that is already in the cache.
 * So an object with an older time of use is not needed by this preload, and the second pass may evict it.
 *
 * Threads: one; kiln-fetchd may write into the same cache at the same time, so the listing of the cache is
 * read again whenever somebody else changed it.
 * Crash: at any point. An object appears in the cache whole, by rename; half written files are swept by the
 * next start. preload.json says "running" until the next preload.
 */
#pragma once

/* [--config FILE] */
int oneshot_preload(int argc, char **argv);
