/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/take_back.h"

#include "core/base/log.h"

void take_back(const struct promotion *promotion, const struct winner *winner,
	       const struct champion *champion, const struct merge *merge)
{
	struct error err = { 0 };

	if (!promotion->put || merge->alone || merge->gone)
		return;
	if (outcome_put(promotion, winner, champion, merge, &err) < 0 || merge_keep(winner, merge, &err) < 0)
		log_warning("%s; the records on the winner's branch say \"promoted\"", err.text);
}
