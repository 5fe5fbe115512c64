/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln lakefs`: makes a repository of lakeFS from the data of a prefix. */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/verbs/verbs.h"
#include "drivers/versions/versions.h"
#include "trained/location.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- Which server ---- */

static bool same_repository(const struct config_store *store, const char *repository)
{
	struct config_lakefs parts;

	return config_lakefs(store->url, &parts) && strcmp(parts.repository, repository) == 0;
}

/* Takes what the options leave out from the store of a configuration that has the same repository. */
static void merge(struct config_store *where, const struct config *config)
{
	struct config_lakefs parts;

	if (!config_lakefs(where->url, &parts))
		return;
	for (uint32_t i = 0; i < config->sources; i++)
		if (same_repository(&config->source[i].store, parts.repository)) {
			location_merge(where, &config->source[i].store);
			return;
		}
	if (same_repository(&config->sink, parts.repository))
		location_merge(where, &config->sink);
}

/* A file that is not named need not be there. */
static int find_server(const struct arguments *arguments, struct config *config, struct config_store *where,
		       struct error *err)
{
	const char *file = arguments_text(arguments, "config");
	int r = config_load(file ? file : config_path(0, NULL), config, err);

	where_read(where, arguments);
	where->url = arguments_operand(arguments, 0);
	if (r == 0)
		merge(where, config);
	return !file && (r == -ENOENT || *where->endpoint) ? 0 : r;
}

/* ---- init ---- */

static void show_progress(void *context, uint64_t objects)
{
	(void)context;
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "kiln: %" PRIu64 " objects\n", objects);
}

/* The prefix as a folder: lakeFS takes every object whose key begins with the text. */
static int folder_of(const char *prefix, char **ret_folder, struct error *err)
{
	const size_t length = strlen(prefix);

	if (asprintf(ret_folder, "%s%s", prefix, length && prefix[length - 1] == '/' ? "" : "/") < 0) {
		*ret_folder = NULL;
		return error_set(err, -ENOMEM, "no memory for a prefix");
	}
	return 0;
}

static int import(struct versions *versions, const char *prefix, cJSON *result, struct error *err)
{
	CLEANUP(free_ptr) char *from = NULL;
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	struct versions_import asked = { .message = "kiln lakefs init",
					 .metadata = metadata,
					 .progress = show_progress };
	char id[VERSIONS_ID_BYTES];
	uint64_t objects;
	int r = folder_of(prefix, &from, err);

	if (r < 0)
		return r;
	asked.from = from;
	(void)cJSON_AddStringToObject(metadata, "kiln.import", from);
	if ((r = versions_import(versions, &asked, id, &objects, err)) < 0)
		return r;
	return cJSON_AddStringToObject(result, "from", from) && json_add_u64(result, "objects", objects) &&
			       cJSON_AddStringToObject(result, "commit", id)
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for the result");
}

static int make(const struct arguments *arguments, cJSON *result, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(versions_closep) struct versions *versions = NULL;
	const char *storage = arguments_text(arguments, "storage"),
		   *prefix = arguments_text(arguments, "import");
	struct config_store where;
	int r;

	if ((r = find_server(arguments, &config, &where, err)) < 0 ||
	    (r = versions_open(&where, NULL, &versions, err)) < 0 ||
	    (storage && (r = versions_create(versions, storage, err)) < 0))
		return r;
	if (!cJSON_AddStringToObject(result, "url", where.url))
		return error_set(err, -ENOMEM, "no memory for the result");
	return prefix ? import(versions, prefix, result, err) : 0;
}

static void print(const cJSON *result)
{
	const char *url = cJSON_GetStringValue(json_member(result, "url"));

	if (!json_member(result, "commit"))
		printf("%s: the repository is there\n", url);
	else
		printf("%s: %.0f objects of %s, where they stay; commit %s\n", url,
		       cJSON_GetNumberValue(json_member(result, "objects")),
		       cJSON_GetStringValue(json_member(result, "from")),
		       cJSON_GetStringValue(json_member(result, "commit")));
}

static int init(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *result = cJSON_CreateObject();
	struct error err = { 0 };

	if (!arguments_text(arguments, "storage") && !arguments_text(arguments, "import"))
		return cli_usage("lakefs init", "found neither --storage nor --import, expected one or both");
	if (make(arguments, result, &err) < 0)
		return cli_error(&err);
	if (arguments_have(arguments, "json"))
		return cli_print_json(result);
	json_visible(result);
	print(result);
	return CLI_OK;
}

static const struct verb_operand repository[] = {
	{ .name = "lakefs://REPOSITORY/BRANCH[/PREFIX]", .value = VERB_URL },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "storage",
	  .value = VERB_URL,
	  .argument = "s3://BUCKET/PREFIX",
	  .help = "create the repository, with its own objects below this prefix, which must be empty; no "
		  "error if it exists so" },
	{ .name = "import",
	  .value = VERB_URL,
	  .argument = "s3://BUCKET/PREFIX",
	  .help = "make the objects below this prefix objects of the branch, below its PREFIX, in one "
		  "commit" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "take server and credential from the store of this kiln.conf that has the repository" },
	{ .name = "json", .help = "print one JSON object: url, from, objects, commit" },
	{ 0 },
};

static const struct verb lakefs_init = {
	.name = "init",
	.summary = "create a repository of lakeFS, and import data without copying it",
	.operands = repository,
	.options = { options, where_options },
	.here = true,
	.run = init,
};

static const struct verb *const subs[] = { &lakefs_init, NULL };

const struct verb verb_lakefs = {
	.name = "lakefs",
	.summary = "put data under the versions of a lakeFS server",
	.about =
		"`kiln lakefs init lakefs://reviews/main/data --storage s3://lakefs/reviews --import "
		"s3://reviews/shards` creates the repository `reviews`, and makes the shards below "
		"s3://reviews/shards objects of its branch `main`, below data/. They stay where they are, so "
		"the import copies nothing; it replaces what the branch had below data/. The verb tells how "
		"many objects lakeFS has seen so far, and at the end the commit. A source.url "
		"lakefs://reviews/main/data then reads them.\n\n"
		"Server and credential are those of a store of kiln.conf that has the repository, or of the "
		"options: the credential has an access key of lakeFS, and lakeFS itself must be able to read "
		"both prefixes.",
	.subs = subs,
};
