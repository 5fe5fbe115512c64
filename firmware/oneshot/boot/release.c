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

int release_rings(struct error *err)
{
	const unsigned mine = slot_rank();
	char path[PATH_BYTES];
	int first = 0;

	for (unsigned rank = 0; rank < CURSOR_PLACES_MAX; rank++) {
		struct error why;
		int r;

		(void)slot_use_rank(rank);
		r = ring_discard(path_of(PATH_RING, NULL, path), &why);
		if (r < 0 && first == 0) {
			first = r;
			*err = why;
		}
	}
	(void)slot_use_rank(mine);
	return first;
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
		if (release_rings(&err) < 0 || release(&err) < 0)
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
