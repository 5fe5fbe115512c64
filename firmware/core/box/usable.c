/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/usable.h"
#include "core/base/paths.h"
#include "core/base/program.h"

#include <string.h>

#define NUMBER_MAX 32u /* bytes of the file */

static char *count_path(char out[static PATH_BYTES])
{
	return path_of(PATH_USABLE, "count", out);
}

int usable_note(unsigned devices, struct error *err)
{
	char path[PATH_BYTES], text[NUMBER_MAX];
	int r = path_make(path_of(PATH_USABLE, NULL, path), err);

	(void)snprintf(text, sizeof(text), "%u\n", devices);
	return r < 0 ? r : file_write_durable(count_path(path), text, strlen(text), err);
}

unsigned usable_noted(void)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t devices;

	if (file_read(count_path(path), NUMBER_MAX, &text, NULL, NULL) < 0)
		return 1;
	text[strcspn(text, "\n")] = '\0';
	return program_number(text, UINT16_MAX, &devices) && devices > 0 ? (unsigned)devices : 1;
}
