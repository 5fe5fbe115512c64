/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/prep_features.h"

#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/features/job.h"
#include "cli/prep/parallel.h"
#include "cli/prep/prep.h"
#include "trained/location.h"

#include <string.h>

/* Options of this form of kiln prep, beside those of the store. */
static const char *const own[] = { "features", "output", "records-per-shard", "seed", "threads",
				   "replace",  "json" };

static bool is_own(const char *name)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	for (const struct verb_option *option = where_options; option->name; option++)
		if (strcmp(name, option->name) == 0)
			return true;
	return false;
}

static int check(const struct arguments *arguments)
{
	struct verb_option option;

	if (arguments->operands)
		return cli_usage(arguments->name,
				 "found %s together with --features, whose pictures are those of CONF",
				 arguments->operand[0]);
	for (uint32_t i = 0; verb_option_at(arguments->verb, i, &option); i++)
		if (arguments_have(arguments, option.name) && !is_own(option.name))
			return cli_usage(arguments->name,
					 "found --%s together with --features, expected only one of them",
					 option.name);
	if (!arguments_have(arguments, "output"))
		return cli_usage(arguments->name, "expected --output");
	return CLI_OK;
}

/* Writes the URL of the output, which may be a path. The caller frees it. */
static int find_url(const char *output, char **ret_url, struct error *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	int r, bytes;

	if (!location_is_url(output)) {
		if ((r = path_make(output, err)) < 0)
			return r;
		path = realpath(output, NULL);
		if (!path)
			return error_set(err, -errno, "%s: %s", output, strerror(errno));
	}
	bytes = asprintf(ret_url, "%s%s", path ? "file://" : "", path ? path : output);
	if (bytes < 0)
		return error_set(err, -ENOMEM, "no memory for a url");
	while (bytes > 0 && (*ret_url)[bytes - 1] == '/')
		(*ret_url)[--bytes] = '\0';
	return 0;
}

int prep_features_verb(const struct arguments *arguments)
{
	CLEANUP(free_ptr) char *url = NULL;
	CLEANUP(job_done)
	struct job job = { .file = arguments_text(arguments, "features"),
			   .seed = arguments_number(arguments, "seed", PREP_SEED),
			   .per_shard = arguments_number(arguments, "records-per-shard", 0),
			   .replace = arguments_have(arguments, "replace"),
			   .json = arguments_have(arguments, "json"),
			   .plan_file = { .fd = -1 },
			   .base_file = { .fd = -1 },
			   .weights_file = { .fd = -1 },
			   .lock = -1 };
	struct error err = { 0 };
	int r = check(arguments);

	if (r != CLI_OK)
		return r;
	where_read(&job.where, arguments);
	parallel_threads((uint32_t)arguments_number(arguments, "threads", 0));
	r = find_url(arguments_text(arguments, "output"), &url, &err);
	job.url = url;
	if (r == 0)
		r = job_run(&job, &err);
	return r < 0 ? cli_error(&err) : CLI_OK;
}
