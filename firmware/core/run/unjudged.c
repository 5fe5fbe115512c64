/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/unjudged.h"
#include "core/base/paths.h"

#include <unistd.h>

#define UNJUDGED "unjudged"
#define JUDGE    "judge"

int unjudged_note(struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(path_of(PATH_RUNS, UNJUDGED, path), "", 0, err);
}

bool unjudged_is_noted(void)
{
	char path[PATH_BYTES];

	return file_exists(path_of(PATH_RUNS, UNJUDGED, path), NULL) > 0;
}

int unjudged_ask(struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	return file_rename_durable(path_of(PATH_RUNS, UNJUDGED, from), path_of(PATH_RUNS, JUDGE, to), err);
}

void unjudged_forget(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_RUNS, UNJUDGED, path));
	(void)unlink(path_of(PATH_RUNS, JUDGE, path));
}
