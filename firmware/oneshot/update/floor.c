/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/floor.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "oneshot/update/update.h"

#include <string.h>
#include <sysexits.h>

int oneshot_floor(int argc, char **argv)
{
	struct error err = { 0 };
	int r;

	if (argc == 3 && strcmp(argv[1], "check") == 0)
		r = floor_is_open() ? 0 : floor_check(argv[2], &err);
	else if (argc == 2 && strcmp(argv[1], "raise") == 0)
		r = floor_raise(&err);
	else {
		fprintf(stderr, "kiln-oneshot floor: %s\n",
			argc == 3 ? "found a VERSION after raise, expected none: raise takes that of this box"
				  : "expected the VERSION of a bundle after check");
		return EX_USAGE;
	}
	return r < 0 ? fatal(&err) : EX_OK;
}
