/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of 1 GiB for the ring. The kernel finds a contiguous GiB only at boot, while memory is not fragmented
 * yet. So the number of pages that the ring of kiln.conf needs is written beside the boot loader for the next
 * boot: a file of GRUB's environment, which the boot loader reads whole or not at all
 * (rootfs/esp/kiln/grub.cfg). GRUB passes the number to the kernel only at the first attempt to boot a slot.
 * So a number that leaves too little memory makes one attempt fail, and the next attempt boots.
 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "data/batch.h"
#include "drivers/hugepage/hugepage.h"
#include "oneshot/boot/boot.h"
#include "oneshot/boot/hugepages.h"
#include "oneshot/boot/last_good.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

/* size of the file, filled up with '#' (GRUB manual, "The GRUB environment block") */
#define BLOCK_BYTES 1024u
#define PAGES_MAX   64u /* the largest number that rootfs/esp/kiln/grub.cfg accepts */
/* Memory that is not set aside: this much, or a quarter of all memory where that is more. */
#define RESERVED_BYTES (UINT64_C(768) << 20)

static uint64_t pages_allowed(void)
{
	const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t reserved = memory / 4 > RESERVED_BYTES ? memory / 4 : RESERVED_BYTES;
	const uint64_t pages = memory > reserved ? (memory - reserved) / HUGEPAGE_GIB_BYTES : 0;

	return pages < PAGES_MAX ? pages : PAGES_MAX;
}

static int pages_needed(const struct config *config, uint64_t *ret_pages, struct error *err)
{
	struct ring_geometry geometry;
	struct example_schema schema;
	int r;

	*ret_pages = 0;
	if (config->ring.pages != PAGES_1GIB)
		return 0;
	r = batch_schema(config, &schema, err);
	if (r < 0)
		return r;
	batch_geometry(config, &schema, config->run.batch_rows, &geometry);
	*ret_pages = (ring_file_bytes(&geometry) + HUGEPAGE_GIB_BYTES - 1) / HUGEPAGE_GIB_BYTES;
	if (*ret_pages > pages_allowed())
		return error_set(err, -EINVAL,
				 "ring.pages = \"1GiB\": the ring needs %" PRIu64
				 " pages of 1 GiB, and at most %" PRIu64
				 " of this box's memory can be set aside",
				 *ret_pages, pages_allowed());
	return 0;
}

/* Writes the number of pages for the boot loader. Does not write where the file has this number already,
 * because a power cut during a write may damage a FAT partition. */
static int tell_loader(uint64_t pages, struct error *err)
{
	CLEANUP(free_ptr) char *before = NULL;
	char block[BLOCK_BYTES + 1], path[PATH_BYTES];
	uint64_t bytes = 0;
	int used = snprintf(block, sizeof(block), "# GRUB Environment Block\nkiln_gib=%" PRIu64 "\n", pages);

	memset(block + used, '#', BLOCK_BYTES - (size_t)used);
	(void)path_of(PATH_ESP_PAGES, NULL, path);
	if (file_read(path, BLOCK_BYTES, &before, &bytes, NULL) < 0 && pages == 0)
		return 0;
	if (before && bytes == BLOCK_BYTES && memcmp(before, block, BLOCK_BYTES) == 0)
		return 0;
	log_info("%" PRIu64 " pages of 1 GiB at the next boot", pages);
	return file_write_durable(path, block, BLOCK_BYTES, err);
}

static int boot_pages(struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	const uint64_t there = hugepage_gib_pages();
	struct error loader_err;
	uint64_t needed;
	int r = last_good_load(&config, err);

	/* No error here for a kiln.conf with mistakes: kiln-config.service reports them. */
	if (r < 0)
		return r == -ENOENT ? tell_loader(0, err) : 0;
	if ((r = pages_needed(&config, &needed, err)) < 0) {
		if (tell_loader(0, &loader_err) < 0)
			log_warning("%s", loader_err.text);
		return r;
	}
	if ((r = tell_loader(needed, err)) < 0 || needed == 0)
		return r;
	if (there >= needed)
		return hugepages_mount(true, err);
	log_notice("ring.pages = \"1GiB\": %" PRIu64 " pages of 1 GiB needed, %" PRIu64
		   " there: pages of 2 MiB until the next boot",
		   needed, there);
	return 0;
}

int oneshot_boot_pages(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	return boot_pages(&err) < 0 ? fatal(&err) : EX_OK;
}
