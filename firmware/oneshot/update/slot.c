/* SPDX-License-Identifier: Apache-2.0 */
/* Sends events for kiln-mark-good and kiln-trial, which are shell scripts and cannot send events themselves.
 */
#include "core/base/events.h"
#include "oneshot/update/update.h"

#include <string.h>
#include <sysexits.h>

int oneshot_slot(int argc, char **argv)
{
	const char *slot = argc == 3 ? argv[2] : "";

	if (argc == 3 && strcmp(argv[1], "good") == 0)
		event_send(&(struct event){ .id = EVENT_SLOT_GOOD, .slot = slot },
			   "slot %s is good: the box stays on it", slot);
	else if (argc == 3 && strcmp(argv[1], "bad") == 0)
		event_send(
			&(struct event){ .id = EVENT_SLOT_BAD, .slot = slot },
			"slot %s was not found good in time after its update: restarting into the other slot",
			slot);
	else if (argc == 3 && strcmp(argv[1], "back") == 0)
		event_send(&(struct event){ .id = EVENT_SLOT_BACK, .slot = slot },
			   "slot %s failed to start three times, or was not found good after its update: "
			   "the box is on the other slot",
			   slot);
	else
		return EX_USAGE;
	return EX_OK;
}
