/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a sandbox allows the calls of core/base/clock.h: prints "answered", or the error. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

int main(void)
{
	struct timex now = { 0 };

	if (adjtimex(&now) < 0) {
		printf("adjtimex: %s\n", strerror(errno));
		return 1;
	}
	puts("adjtimex: answered");
	return 0;
}
