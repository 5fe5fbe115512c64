/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one call of drivers/versions, and prints "RESULT TEXT": 0 and the id, or the code and the sentence.
 *
 *     change_versions URL resolve [REF] | branch NAME COMMIT [MINE] | delete NAME | commit BRANCH MESSAGE
 * [METADATA] | mark BRANCH MESSAGE [METADATA] (a commit without changes) | merge FROM INTO MESSAGE [METADATA]
 * | tag NAME COMMIT | branches PREFIX | diff LEFT RIGHT | create STORAGE | import FROM MESSAGE [METADATA]
 *
 * MINE and METADATA are JSON. The environment: KILN_S3_ENDPOINT, KILN_S3_CREDENTIAL, KILN_ATTEMPTS.
 */
#include "drivers/versions/versions.h"

#include <inttypes.h>
#include <string.h>

static char id[VERSIONS_ID_BYTES];

static int print_change(void *context, enum versions_change change, const char *path, uint64_t bytes)
{
	(void)context;
	printf("%s %s %" PRIu64 "\n", versions_change_name(change), path, bytes);
	return 0;
}

static void print_progress(void *context, uint64_t objects)
{
	(void)context;
	printf("progress %" PRIu64 "\n", objects);
}

static int call_import(struct versions *versions, char **argv, const cJSON *metadata, struct error *err)
{
	const struct versions_import import = {
		.from = argv[0], .message = argv[1], .metadata = metadata, .progress = print_progress
	};
	uint64_t objects;
	int r = versions_import(versions, &import, id, &objects, err);

	if (r == 0)
		printf("objects %" PRIu64 "\n", objects);
	return r;
}

static int print_branch(void *context, const char *branch)
{
	(void)context;
	puts(branch);
	return 0;
}

static int call(struct versions *versions, const char *verb, char **argv, const cJSON *json,
		struct error *err)
{
	if (strcmp(verb, "resolve") == 0)
		return versions_resolve(versions, argv[0], id, err);
	if (strcmp(verb, "branch") == 0)
		return versions_branch(versions, argv[0], argv[1], json, err);
	if (strcmp(verb, "branches") == 0)
		return versions_branches(versions, argv[0], print_branch, NULL, err);
	if (strcmp(verb, "delete") == 0)
		return versions_branch_delete(versions, argv[0], err);
	if (strcmp(verb, "commit") == 0)
		return versions_commit(versions, argv[0], argv[1], json, false, id, err);
	if (strcmp(verb, "mark") == 0)
		return versions_commit(versions, argv[0], argv[1], json, true, id, err);
	if (strcmp(verb, "merge") == 0)
		return versions_merge(versions, argv[0], argv[1], argv[2], json, false, id, err);
	if (strcmp(verb, "tag") == 0)
		return versions_tag(versions, argv[0], argv[1], err);
	if (strcmp(verb, "diff") == 0)
		return versions_diff(versions, argv[0], argv[1], print_change, NULL, err);
	if (strcmp(verb, "create") == 0)
		return versions_create(versions, argv[0], err);
	return call_import(versions, argv, json, err);
}

int main(int argc, char **argv)
{
	const char *endpoint = getenv("KILN_S3_ENDPOINT"), *credential = getenv("KILN_S3_CREDENTIAL"),
		   *attempts = getenv("KILN_ATTEMPTS");
	const struct config_store where = { .url = argc > 2 ? argv[1] : "",
					    .endpoint = endpoint ? endpoint : "",
					    .credential = credential ? credential : "",
					    .region = "" };
	const struct store_options options = { .attempts_max =
						       attempts ? (uint32_t)strtoul(attempts, NULL, 10) : 0 };
	CLEANUP(versions_closep) struct versions *versions = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	struct error err = { 0 };
	const char *last = argv[argc - 1];
	int r = versions_open(&where, &options, &versions, &err);

	if (r == 0 && *last == '{')
		r = json_parse("METADATA", last, strlen(last), &json, &err);
	if (r == 0)
		r = call(versions, argv[2], argv + 3, json, &err);
	printf("%d %s\n", r, r < 0 ? err.text : id);
	return r < 0;
}
