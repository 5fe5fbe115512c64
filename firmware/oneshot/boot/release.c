/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/boot/release.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/ring/ring.h"
#include "drivers/hugepage/hugepage.h"
#include "oneshot/boot/boot.h"

#include <stdio.h>
#include <sysexits.h>

/* Releases the mount of this slot. */
static int release(struct error *err)
{
	char folder[PATH_BYTES];

	return hugepage_release(path_of(PATH_HUGE, NULL, folder), err);
}

void release_slots(unsigned first)
{
	const unsigned mine = slot_now();
	char path[PATH_BYTES];
	struct error err;

	for (unsigned slot = first; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		if (file_exists(path_of(PATH_HUGE, NULL, path), NULL) <= 0)
			continue;
		if (ring_discard(path_of(PATH_RING, NULL, path), &err) < 0 || release(&err) < 0)
			log_notice("%s; the memory stays in use", err.text);
	}
	(void)slot_use(mine);
}

int oneshot_release(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	release_slots(1);
	return release(&err) < 0 ? fatal(&err) : EX_OK;
}
