/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/machine.h"

#include <string.h>

#define FILE_BYTES 64u

bool machine_is_id(const char *text, size_t length)
{
	return length == MACHINE_ID_BYTES - 1 && strspn(text, "0123456789abcdef") == length;
}

static const char *root_given(void)
{
	const char *root = getenv("KILN_ROOT");

	return root ? root : "";
}

int machine_id_read(char out[static MACHINE_ID_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	const char *file = path_of(PATH_MACHINE_ID, NULL, path);
	int r = file_exists(file, err);

	*out = '\0';
	if (r < 0)
		return r;
	if (r == 0)
		file += strlen(root_given());
	r = file_read(file, FILE_BYTES, &text, NULL, err);
	if (r == 0 && machine_is_id(text, strcspn(text, "\n")))
		(void)snprintf(out, MACHINE_ID_BYTES, "%.*s", (int)(MACHINE_ID_BYTES - 1), text);
	return r == -ENOENT || r == -E2BIG || r == -EINVAL ? 0 : r;
}

char *machine_id(char out[static MACHINE_ID_BYTES])
{
	(void)!machine_id_read(out, NULL);
	return out;
}

char *machine_root(char out[static PATH_BYTES])
{
	CLEANUP(free_ptr) char *path = *root_given() ? realpath(root_given(), NULL) : NULL;

	(void)snprintf(out, PATH_BYTES, "%s", path && strcmp(path, "/") != 0 ? path : "");
	return out;
}
