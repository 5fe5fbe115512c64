/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for each started 25 Gbit/s: 3.1 GB/s. From nginx kiln-fetchd needs 0.61 CPU-seconds a GB, of
 * which the network thread has about half (tests/bench/README.md).
 */
#include "drivers/nic/nic.h"

#include <inttypes.h>
#include <string.h>

#define THREAD_MBIT_PER_S UINT64_C(25000)

static uint64_t parts(uint64_t all, uint64_t part)
{
	return all / part + (all % part != 0);
}

static void limit(struct nic_threads *threads, uint64_t most, const char *why)
{
	if (threads->count <= most)
		return;
	threads->count = (unsigned)most;
	(void)snprintf(threads->why, sizeof(threads->why), "%s", why);
}

static void share(struct nic_threads *threads, unsigned sources)
{
	const size_t used = strlen(threads->why);

	if (sources == 1 || threads->count == 1)
		return;
	threads->count = (unsigned)parts(threads->count, sources);
	(void)snprintf(threads->why + used, sizeof(threads->why) - used, ", shared by %u sources", sources);
}

/* Returns the threads that the link needs, for all sources together. */
static struct nic_threads for_the_link(const struct nic_cores *cores)
{
	struct nic_threads threads = { .count = 1, .why = "the speed of the link is not known" };
	const uint64_t mbit_per_s = cores->mbit_per_s;

	if (mbit_per_s == 0)
		return threads;
	threads.count = (unsigned)parts(mbit_per_s, THREAD_MBIT_PER_S);
	(void)snprintf(threads.why, sizeof(threads.why),
		       threads.count > 1 ? "one for each started 25 Gbit/s of %" PRIu64 " Mbit/s"
					 : "one is enough for %" PRIu64 " Mbit/s",
		       mbit_per_s);
	limit(&threads, CONFIG_THREADS_MAX, "the link is faster, but there are no more threads");
	limit(&threads, (uint64_t)CPU_COUNT(&cores->network), "the link is faster, but no more cores fetch");
	return threads;
}

struct nic_threads nic_threads_of(const struct config *config, const struct nic_cores *cores)
{
	struct nic_threads threads = { .count = (unsigned)config->fetch.network_threads,
				       .why = "fetch.network_threads says so" };

	if (threads.count == 0) {
		threads = for_the_link(cores);
		share(&threads, config->sources);
	}
	limit(&threads, config_source_connections(config), "a source has no more connections");
	return threads;
}
