/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/machine.h"

#include "core/base/paths.h"

#include <string.h>

#define FILE_BYTES 64u

bool machine_is_id(const char *text, size_t length)
{
	return length == MACHINE_ID_BYTES - 1 && strspn(text, "0123456789abcdef") == length;
}

char *machine_id(char out[static MACHINE_ID_BYTES])
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	*out = '\0';
	if (file_read(path_of(PATH_MACHINE_ID, NULL, path), FILE_BYTES, &text, NULL, NULL) == 0 &&
	    machine_is_id(text, strcspn(text, "\n")))
		(void)snprintf(out, MACHINE_ID_BYTES, "%.*s", (int)(MACHINE_ID_BYTES - 1), text);
	return out;
}
