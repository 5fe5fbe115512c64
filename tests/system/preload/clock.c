/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: the clock that KILN_TEST_CLOCK names: "set" by a time server, "unset", or "1970", which is
 * unset and begins in 1970, as after a boot without a battery.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

static int clock_is(const char *what)
{
	const char *wanted = getenv("KILN_TEST_CLOCK");

	return wanted && strcmp(wanted, what) == 0;
}

int adjtimex(struct timex *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	ret_state->status = clock_is("set") ? 0 : STA_UNSYNC;
	ret_state->maxerror = clock_is("set") ? 0 : 16000000;
	return clock_is("set") ? TIME_OK : TIME_ERROR;
}

time_t time(time_t *ret_now)
{
	struct timespec now = { 1000000, 0 };

	if (!clock_is("1970"))
		(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret_now)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}
