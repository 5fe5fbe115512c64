/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/paths.h"
#include "core/config/config.h"
#include "core/ranks/faults.h"
#include "core/ranks/launch.h"
#include "oneshot/ranks/job_read.h"
#include "oneshot/ranks/ranks.h"

#include <string.h>
#include <sysexits.h>

/* Of the unit's environment the ranks need these: where OpenCL drivers keep their files, and which of them
 * work. */
static const char *const kept[] = { "POCL_CACHE_DIR", "RUSTICL_ENABLE" };
#define KEPT (sizeof(kept) / sizeof(kept[0]))

/* Becomes orted. Returns only where that fails. Errors: -ENOEXEC. */
static int become_orted(const struct ranks_arguments *arguments, const struct ranks_texts *environment,
			struct error *err)
{
	char orted[] = RANKS_ORTED, *words[ORTED_ARGUMENTS_MAX + 2] = { orted };
	char *variables[RANKS_LISTED_MAX + KEPT + 1] = { 0 }, kept_text[KEPT][PATH_BYTES];
	size_t used = environment->count;

	for (size_t i = 0; i < arguments->count; i++)
		words[i + 1] = (char *)arguments->words[i];
	memcpy(variables, environment->text, used * sizeof(*variables));
	for (size_t i = 0; i < KEPT; i++) {
		const char *value = getenv(kept[i]);

		if (!value)
			continue;
		(void)snprintf(kept_text[i], sizeof(kept_text[i]), "%s=%.4000s", kept[i], value);
		variables[used++] = kept_text[i];
	}
	(void)execve(RANKS_ORTED, words, variables);
	return error_set(err, -ENOEXEC, RANKS_ORTED ": cannot start it: %s", strerror(errno));
}

static int start(const char *name, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(ranks_job_done) struct ranks_job job = { 0 };
	struct orted_job checked;
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	char oneshot[PATH_BYTES], folder[PATH_BYTES];
	struct ranks_job_wish wish = { .name = name,
				       .folder = ranks_job_folder(name, folder),
				       .oneshot = path_beside("kiln-oneshot", oneshot) };
	int r;

	if (!ranks_job_is_name(name))
		return error_set(err, -EINVAL, "job: found \"%.64s\", allowed: " RANKS_JOB_ALLOWED, name);
	if ((r = config_load(config_path(0, NULL), &config, err)) < 0 ||
	    (r = job_read(&config, &job, &checked, err)) < 0)
		return r;
	wish.network = config.ranks.network;
	r = ranks_orted_environment(&wish, &environment, err);
	return r < 0 ? r : become_orted(&job.arguments, &environment, err);
}

int oneshot_rank(int argc, char **argv)
{
	struct error err = { 0 };
	int code;

	(void)argc;
	if (start(argv[1], &err) == 0)
		return EX_OK;
	code = fatal(&err);
	return err.code == -ENOEXEC ? RANKS_NOT_FOUND : code;
}
