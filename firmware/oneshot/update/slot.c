/* SPDX-License-Identifier: Apache-2.0 */
/* What kiln-mark-good and kiln-trial, which are shell, found of a slot: an event. */
#include "core/base/events.h"
#include "oneshot/update/update.h"

#include <string.h>
#include <sysexits.h>

int oneshot_slot(int argc, char **argv)
{
	const char *slot = argc == 3 ? argv[2] : "";

	if (argc == 3 && strcmp(argv[1], "good") == 0)
		event_send(&(struct event){ .id = EVENT_SLOT_GOOD, .slot = slot },
			   "slot %s is good: it stays", slot);
	else if (argc == 3 && strcmp(argv[1], "bad") == 0)
		event_send(&(struct event){ .id = EVENT_SLOT_BAD, .slot = slot },
			   "slot %s was not good in time after its update: restarting into the other", slot);
	else if (argc == 3 && strcmp(argv[1], "back") == 0)
		event_send(&(struct event){ .id = EVENT_SLOT_BACK, .slot = slot },
			   "slot %s did not come up three times, or was not well after its update: "
			   "the box is on the other one",
			   slot);
	else
		return EX_USAGE;
	return EX_OK;
}
