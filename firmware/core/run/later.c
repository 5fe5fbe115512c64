/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/later.h"
#include "core/base/paths.h"

#include <assert.h>
#include <unistd.h>

static const struct {
	const char *noted, *asked; /* files in PATH_RUNS */
} marks[] = { [LATER_JUDGE] = { "unjudged", "judge" }, [LATER_REPORT] = { "unsent", "send" } };

static_assert(sizeof(marks) / sizeof(marks[0]) == LATERS, "every work has its files");

int later_note(enum later work, struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(path_of(PATH_RUNS, marks[work].noted, path), "", 0, err);
}

bool later_is_noted(enum later work)
{
	char path[PATH_BYTES];

	return file_exists(path_of(PATH_RUNS, marks[work].noted, path), NULL) > 0;
}

int later_ask(enum later work, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	return file_rename_durable(path_of(PATH_RUNS, marks[work].noted, from),
				   path_of(PATH_RUNS, marks[work].asked, to), err);
}

void later_forget(enum later work)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_RUNS, marks[work].noted, path));
	(void)unlink(path_of(PATH_RUNS, marks[work].asked, path));
}
