/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/boot/wait_option.h"
#include "core/base/program.h"

#include <stdio.h>

#define WAIT_S_MAX 86400u

bool wait_option(int argc, char **argv, const char *option, unsigned *wait_s)
{
	const char *text = program_option(argc, argv, option);
	uint64_t seconds;

	if (!text)
		return true;
	if (!program_number(text, WAIT_S_MAX, &seconds)) {
		fprintf(stderr,
			"kiln-oneshot %s: %s: found \"%s\", expected a whole number of seconds, 0 .. %u\n",
			argv[0], option, text, WAIT_S_MAX);
		return false;
	}
	*wait_s = (unsigned)seconds;
	return true;
}
