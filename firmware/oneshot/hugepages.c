/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unless it has pages of 1 GiB: 2 MiB pages for the ring of the run that begins, on the node of its network
 * interface: set, then read back.
 */
#include "core/log.h"
#include "core/paths.h"
#include "data/batch.h"
#include "drivers/hugepage/hugepage.h"
#include "drivers/nic/nic.h"
#include "oneshot/oneshot.h"

#include <inttypes.h>
#include <sysexits.h>

static int first_core(const cpu_set_t *set)
{
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			return (int)cpu;
	return 0;
}

static int hugepages(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct ring_geometry geometry;
	struct example_schema schema;
	struct nic_cores cores;
	char path[PATH_BYTES];
	uint64_t pages;
	int node, r = run_load(&run, err);

	if (r < 0 || (r = batch_schema(&run.config, &schema, err)) < 0 ||
	    (r = nic_cores_find("", run.config.fetch.nic, run.config.fetch.cores, &cores, err)) < 0)
		return r;
	/* One that fetchd or traind works on must not vanish under the mount that follows. */
	r = ring_discard(path_of(PATH_RING, NULL, path), err);
	if (r == -EBUSY)
		log_notice("%s: it stays on the pages it has", err->text);
	if (r < 0)
		return r == -EBUSY ? 0 : r;
	batch_geometry(&run.config, &schema, &geometry);
	if (run.config.ring.pages == PAGES_1GIB &&
	    hugepage_gib_pages() * HUGEPAGE_GIB_BYTES >= ring_file_bytes(&geometry)) {
		log_info("%" PRIu64 " pages of 1 GiB were set aside at boot, for a ring of %" PRIu64 " bytes",
			 hugepage_gib_pages(), ring_file_bytes(&geometry));
		return 0;
	}
	node = hugepage_node_of_core("", first_core(&cores.network));
	r = hugepage_node_reserve("", node, ring_file_bytes(&geometry), ring_held_bytes(path), &pages, err);
	if (r == 0)
		log_info("node %d: %" PRIu64 " pages of 2 MiB, for a ring of %" PRIu64 " bytes", node, pages,
			 ring_file_bytes(&geometry));
	return r;
}

int oneshot_hugepages(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return hugepages(&err) < 0 ? fatal(&err) : EX_OK;
}
