/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provides hugepages for the ring, or the rings of all ranks, of the run that begins: the pages of 1 GiB that
 * were set aside at boot, where ring.pages asks for them and there are enough; else pages of 2 MiB.
 * Afterwards systemd starts run-kiln-huge.mount, with pages of the same size.
 *
 * Why hugepages: a ring of gigabytes would need hundreds of thousands of small pages, more than the
 * processor's table of recent translations (TLB) holds. Why on the memory node of the GPU: the
 * trainer and the GPU read each batch there, often more than once, while fetchd writes it once. Without a
 * GPU, or where its node is not known, the node of the network interface's cores, where fetchd runs. Why
 * before the daemons start: the kernel assembles a page of 2 MiB only from contiguous free memory, so root
 * tries once, early, and where the pool stays too small reports the pages needed and free.
 */
#include "oneshot/boot/hugepages.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/run/run.h"
#include "core/series/series.h"
#include "data/batch.h"
#include "data/order.h"
#include "drivers/cores/cores.h"
#include "drivers/gpu/place.h"
#include "drivers/hugepage/hugepage.h"
#include "drivers/manager/manager.h"
#include "drivers/nic/nic.h"
#include "oneshot/boot/boot.h"
#include "oneshot/boot/release.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

#define MOUNT "[Mount]\nOptions=\nOptions=nosuid,nodev,noexec,uid=0,gid=480,mode=0770,pagesize=1G,size=100%\n"

int hugepages_mount(bool gib, struct error *err)
{
	char path[PATH_BYTES], folder[PATH_BYTES];
	int r = file_exists(path_of(PATH_MOUNT_PAGES, NULL, path), err);

	if (r < 0 || (r > 0) == gib)
		return r < 0 ? r : 0;
	(void)snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if (!gib && unlink(path) < 0)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	if (gib && ((r = path_make(folder, err)) < 0 ||
		    (r = file_write_durable(path, MOUNT, strlen(MOUNT), err)) < 0))
		return r;
	return 1;
}

/* Sets the page size of the mount. Its drop-in file may still be that of an earlier run, with another size.
 */
static int mount_with(bool gib, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = hugepages_mount(gib, err);

	if (r <= 0)
		return r;
	return (r = manager_open(&manager, err)) < 0 ? r : manager_reload(manager, err);
}

/* Tells whether the ring of slot 0 is on pages of 1 GiB; `bytes`: its size, which is that of the other slots.
 */
static bool fits_gib_pages(int pages, uint64_t bytes)
{
	return pages == PAGES_1GIB && hugepage_gib_pages() * HUGEPAGE_GIB_BYTES >= bytes;
}

static uint64_t held_by_all(unsigned first, unsigned slots)
{
	const unsigned mine = slot_now();
	uint64_t bytes = 0;
	char path[PATH_BYTES];

	for (unsigned slot = first; slot < slots; slot++) {
		(void)slot_use(slot);
		bytes += ring_held_bytes(path_of(PATH_RING, NULL, path));
	}
	(void)slot_use(mine);
	return bytes;
}

/* Reserves pages of 2 MiB for the rings of the slots from `first` on, because those that begin at the same
 * time would count the same free pages. Where there are too few, for this slot's ring alone. */
static int reserve(int node, uint64_t bytes, unsigned first, struct error *err)
{
	const unsigned slots = series_slots_tonight();
	char path[PATH_BYTES];
	uint64_t pages;
	int r = -ENOMEM;

	if (slots > 1)
		r = hugepage_node_reserve("", node, bytes * (slots - first), held_by_all(first, slots),
					  &pages, err);
	if (r < 0)
		r = hugepage_node_reserve("", node, bytes, ring_held_bytes(path_of(PATH_RING, NULL, path)),
					  &pages, err);
	if (r == 0)
		log_info("node %d: %" PRIu64 " pages of 2 MiB, for a ring of %" PRIu64 " bytes", node, pages,
			 bytes);
	return r;
}

/* Returns the bytes of the rings of all ranks of the run. */
static uint64_t bytes_of_rings(const struct config *config, const struct example_schema *schema)
{
	const uint32_t ranks = (uint32_t)config->device.count;
	struct ring_geometry geometry;
	uint64_t bytes = 0;

	for (uint32_t rank = 0; rank < ranks; rank++) {
		const struct order_part part =
			order_part((uint32_t)config->order.lanes, ranks, rank, config->run.batch_rows);

		batch_geometry(config, schema, part.own * part.lane_rows, &geometry);
		bytes += ring_file_bytes(&geometry);
	}
	return bytes;
}

static int hugepages(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct example_schema schema;
	struct nic_cores cores;
	struct gpu_wish wish;
	uint64_t bytes;
	bool gib;
	int r = run_load(&run, err);

	if (r < 0 || (r = batch_schema(&run.config, &schema, err)) < 0 ||
	    (r = nic_cores_find("", run.config.fetch.nic, run.config.fetch.cores, &cores, err)) < 0)
		return r;
	/* The mounts of other slots are not this one's. */
	if (slot_now() == 0)
		release_slots(series_slots_tonight());
	/* Remove the old rings: the mount that follows would hide it. Fails with -EBUSY while fetchd or
	 * traind has the ring open. */
	r = release_rings(err);
	if (r == -EBUSY)
		log_notice("%s: the ring stays on the pages it has", err->text);
	if (r < 0)
		return r == -EBUSY ? 0 : r;
	bytes = bytes_of_rings(&run.config, &schema);
	gib = fits_gib_pages(run.config.ring.pages, bytes);
	if (slot_now() == 0 && (r = mount_with(gib, err)) < 0)
		return r;
	if (gib && slot_now() == 0) {
		log_info("%" PRIu64 " pages of 1 GiB were set aside at boot, for a ring of %" PRIu64 " bytes",
			 hugepage_gib_pages(), bytes);
		return 0;
	}
	wish = gpu_wish_of(&run.config);
	return reserve(gpu_ring_node("", &wish, &cores.network), bytes, gib, err);
}

int oneshot_hugepages(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return hugepages(&err) < 0 ? fatal(&err) : EX_OK;
}
