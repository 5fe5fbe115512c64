/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"
#include "core/series/trials.h"
#include "model/build.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* A file whose check is good gives its trials, and each of them is a good configuration, also from JSON. */
static void make_trials(const char *path, int checked)
{
	CLEANUP(trials_done) struct trials trials = { 0 };
	struct error err = { 0 };
	int r = trials_make(path, &trials, &err);

	must((r < 0) == (*err.text != '\0') && (checked < 0 || r == 0));
	for (uint32_t i = 0; i < trials.count && i < 8; i++) {
		CLEANUP(config_done) struct config config = { 0 };

		must(trials_config(path, trials.trial[i].overrides, &config, &err) == 0);
	}
}

/* Reads a whole configuration file. Loading and checking both accept it, or both refuse it with a sentence.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *said = NULL;
	struct error err = { 0 };
	struct graph graph;
	char path[64];
	size_t said_bytes;
	FILE *out = open_memstream(&said, &said_bytes);
	int fd = memfd_create("config", 0), r, checked;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(fd >= 0 && out && write(fd, data, size) == (ssize_t)size);
	r = config_load(path, &config, &err);
	must((r < 0) == (*err.text != '\0'));
	checked = trials_check(path, graph_check, out);
	must(fclose(out) == 0 && (checked < 0) == (said_bytes > 0));
	must(r == 0 || checked < 0);
	if (r == 0) {
		r = graph_build(&config, true, &graph, &err);
		must(r == checked || (r == 0 && config_has_trials(&config)));
		if (r == 0)
			graph_done(&graph);
	}
	make_trials(path, checked);
	(void)close(fd);
	return 0;
}
