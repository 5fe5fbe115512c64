/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/refusals.h"

#include <inttypes.h>
#include <string.h>

#define EVERY_MS (REFUSALS_EVERY_S * 1000u)

static bool is_equal(const struct refusal *refusal, bool dropped, const char *who, const char *what)
{
	return refusal->sent_ms && refusal->dropped == dropped && strcmp(refusal->who, who) == 0 &&
	       strcmp(refusal->what, what) == 0;
}

/* Returns the place of equal events; else a free place; else the first place. */
static struct refusal *place_of(struct refusals *refusals, bool dropped, const char *who, const char *what)
{
	struct refusal *found = &refusals->of[0];

	for (struct refusal *at = &refusals->of[1]; at < refusals->of + REFUSALS_MAX; at++) {
		if (is_equal(at, dropped, who, what))
			return at;
		if (found == refusals->of && !at->sent_ms)
			found = at;
	}
	return found;
}

static void send_event(const struct refusal *refusal, uint64_t count, const char *words)
{
	event_send(&(struct event){ .id = refusal->dropped ? EVENT_CLIENT_DROPPED : EVENT_CLIENT_REFUSED,
				    .client = refusal->who,
				    .count = count },
		   "%s: %s%s", refusal->who, refusal->what, words);
}

void refusals_say(struct refusals *refusals, bool dropped, const char *who, const char *what, uint64_t now_ms)
{
	struct refusal *refusal = place_of(refusals, dropped, who, what);

	refusal->dropped = dropped;
	(void)snprintf(refusal->who, sizeof(refusal->who), "%s", who);
	(void)snprintf(refusal->what, sizeof(refusal->what), "%s", what);
	if (refusal->sent_ms) {
		refusal->more++;
		return;
	}
	refusal->sent_ms = now_ms;
	send_event(refusal, 1, "");
}

/* Sends the count of a place. A minute without another event frees the place. */
static void send_count(struct refusal *refusal, uint64_t now_ms)
{
	char words[64];

	(void)snprintf(words, sizeof(words), "; %" PRIu64 " more within %u s", refusal->more,
		       REFUSALS_EVERY_S);
	if (refusal->more)
		send_event(refusal, refusal->more, words);
	refusal->sent_ms = refusal->more ? now_ms : 0;
	refusal->more = 0;
}

void refusals_sweep(struct refusals *refusals, uint64_t now_ms)
{
	for (struct refusal *at = refusals->of; at < refusals->of + REFUSALS_MAX; at++)
		if (at->sent_ms && now_ms - at->sent_ms >= EVERY_MS)
			send_count(at, now_ms);
}
