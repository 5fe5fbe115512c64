/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/cadence.h"

#define MINUTE_US 60e6

struct cadence cadence_of(const struct config *config, uint64_t now_us)
{
	return (struct cadence){
		.every_steps = config->checkpoint.every_steps,
		.every_us = (uint64_t)(config->checkpoint.every_minutes * MINUTE_US),
		.automatic = config->checkpoint.automatic,
		.last_us = now_us,
	};
}

/* Returns the time from one checkpoint to the next with which a checkpoint costs at most 1 / CADENCE_SHARE of
 * the time. */
static uint64_t automatic_us(const struct cadence *cadence)
{
	const uint64_t paid_us = cadence->cost_us * CADENCE_SHARE;

	return paid_us > CADENCE_AUTO_LEAST_US ? paid_us : CADENCE_AUTO_LEAST_US;
}

bool cadence_is_due(const struct cadence *cadence, uint64_t step, uint64_t now_us)
{
	const uint64_t passed_us = now_us - cadence->last_us;

	if (cadence->every_steps)
		return step % cadence->every_steps == 0;
	if (cadence->every_us)
		return passed_us >= cadence->every_us;
	return cadence->automatic && passed_us >= automatic_us(cadence);
}

void cadence_started(struct cadence *cadence, uint64_t now_us)
{
	cadence->last_us = now_us;
}

void cadence_cost(struct cadence *cadence, uint64_t stalled_us, uint64_t worked_us)
{
	cadence->cost_us = stalled_us + worked_us;
}
