/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/paths.h"
#include "drivers/hugepage/hugepage.h"
#include "oneshot/boot/boot.h"

#include <stdio.h>
#include <sysexits.h>

int oneshot_release(int argc, char **argv)
{
	struct error err = { 0 };
	char folder[PATH_BYTES];

	(void)argc;
	(void)argv;
	return hugepage_release(path_of(PATH_HUGE, NULL, folder), &err) < 0 ? fatal(&err) : EX_OK;
}
