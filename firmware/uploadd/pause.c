/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/pause.h"
#include "core/base/clock.h"

bool pause_is_over(struct pause *pause, uint64_t first_us, uint64_t max_us)
{
	const uint64_t now = clock_us();

	if (now < pause->next_us)
		return false;
	if (!pause->pause_us || now - pause->next_us > max_us)
		pause->pause_us = first_us;
	pause->next_us = now + pause->pause_us;
	pause->pause_us = pause->pause_us < max_us / 2 ? 2 * pause->pause_us : max_us;
	return true;
}
