/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/slot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
	bool known;
	unsigned slot;
} now;

static unsigned of_environment(void)
{
	const char *text = getenv("KILN_SLOT");
	char *end;
	unsigned long slot;

	if (!text || strspn(text, "0123456789") == 0)
		return 0;
	slot = strtoul(text, &end, 10);
	return *end || slot >= SLOTS_MAX ? 0 : (unsigned)slot;
}

unsigned slot_now(void)
{
	if (!now.known)
		(void)slot_use(of_environment());
	return now.slot;
}

unsigned slot_use(unsigned slot)
{
	const unsigned before = now.known ? now.slot : of_environment();

	now.known = true;
	now.slot = slot;
	return before;
}

static unsigned rank_now, local_now;
static bool local_known;

unsigned slot_rank(void)
{
	return rank_now;
}

unsigned slot_use_rank(unsigned rank)
{
	const unsigned before = rank_now;

	rank_now = rank;
	return before;
}

unsigned slot_local(void)
{
	return local_known ? local_now : rank_now;
}

void slot_use_local(unsigned local)
{
	local_now = local;
	local_known = true;
}

const char *slot_unit(const char *name, const char *suffix, char out[static SLOT_UNIT_BYTES])
{
	if (slot_now() == 0)
		(void)snprintf(out, SLOT_UNIT_BYTES, "%s%s", name, suffix);
	else
		(void)snprintf(out, SLOT_UNIT_BYTES, "%s@%u%s", name, slot_now(), suffix);
	return out;
}
