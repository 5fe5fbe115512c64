/* SPDX-License-Identifier: Apache-2.0 */
/* A run.json of the store: parsed, and restored as the record of a run on a new disk. */
#include "core/run/run.h"

#include "core/base/paths.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/kiln-fuzz-XXXXXX";

static void remove_root(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	(void)!system(command); // NOLINT(cert-env33-c): the name is ours
}

static void make_root(void)
{
	static bool made;

	if (!made && (!mkdtemp(root) || setenv("KILN_ROOT", root, 1) < 0 || atexit(remove_root) != 0))
		abort();
	made = true;
}

static void check(const struct run *run)
{
	if (!*run->id || run->id[0] == '.' || strchr(run->id, '/') || strchr(run->start_run, '/') ||
	    strchr(run->repeats, '/') || strchr(run->before, '/') || run->started_s < 0 || run->ends_s < 0 ||
	    (*run->machine && !machine_is_id(run->machine, strlen(run->machine))) ||
	    (*run->root && *run->root != '/') || (*run->plan_sha256 && strlen(run->plan_sha256) != 64))
		abort();
	(void)!run_is_ours(run, NULL);
}

/* A record that was restored is loaded again, and printed. */
static void restore(const char *text, size_t size)
{
	CLEANUP(run_done) struct run run = { 0 }, again = { 0 };
	CLEANUP(free_ptr) char *json = NULL;
	char folder[PATH_BYTES];
	struct error err = { 0 };

	path_empty(path_of(PATH_RUN, NULL, folder));
	(void)rmdir(folder);
	if (run_restore(text, size, NULL, NULL, &run, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	if (run_load(&again, &err) < 0 || strcmp(run.id, again.id) != 0 || run_json(&json, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct run run = { 0 };

	make_root();
	if (run_parse("run.json", (const char *)data, size, &run, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	check(&run);
	restore((const char *)data, size);
	return 0;
}
