/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/request.h"

#include "core/base/program.h"

#include <string.h>

static bool same_words(const struct promote_request *a, const struct promote_request *b)
{
	return a->rollback == b->rollback && a->force == b->force && strcmp(a->series, b->series) == 0 &&
	       strcmp(a->trial, b->trial) == 0;
}

int request_read(int argc, char **argv, struct promote_request *ret_request, struct error *err)
{
	const char *series = program_option(argc, argv, "--series"),
		   *trial = program_option(argc, argv, "--trial");
	struct promote_request given = { .rollback = program_option(argc, argv, "--rollback"),
					 .force = program_option(argc, argv, "--force") };
	int r = promote_request_get(ret_request, err);

	if (r < 0 || (!series && !trial && !given.rollback && !given.force))
		return r;
	(void)snprintf(given.series, sizeof(given.series), "%s", series ? series : "");
	(void)snprintf(given.trial, sizeof(given.trial), "%s", trial ? trial : "");
	if (r == 1 && same_words(&given, ret_request))
		return 1;
	*ret_request = given;
	r = promote_request_put(&given, err);
	return r < 0 ? r : 1;
}
