/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/branch.h"
#include "core/base/log.h"
#include "drivers/versions/versions_run.h"

#include <string.h>
#include <sysexits.h>

#define ATTEMPTS 3u /* to make a branch: the night goes on without it */

int branch_find_start(const cJSON *series, const struct config *config, char ret_id[static VERSIONS_ID_BYTES],
		      struct error *err)
{
	const struct store_options options = store_options_of(config);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char id[VERSIONS_ID_BYTES];
	int r;

	if (!versions_has_branches(&config->sink) || *series_text(series, "sink_commit"))
		return 0;
	if ((r = versions_sink_open(config, &options, &versions, err)) < 0 ||
	    (r = versions_resolve(versions, NULL, id, err)) < 0)
		return r;
	log_info("%s: the branches of its trials begin at commit %s of %s", series_id(series), id,
		 config->sink.url);
	memcpy(ret_id, id, sizeof(id));
	return 0;
}

int branch_of_trial(const cJSON *series, const char *trial, const struct config *config, cJSON *members,
		    struct error *err)
{
	char name[CONFIG_REF_MAX + 1];

	if (!versions_has_branches(&config->sink))
		return 0;
	versions_trial_branch(series_id(series), trial, name);
	return run_branch_add(members, name, series_text(series, "sink_commit"))
		       ? 0
		       : error_set(err, -ENOMEM, "run.json: no memory");
}

int branch_make(const struct run *run, struct error *err)
{
	struct store_options options = store_options_of(&run->config);
	int r;

	options.attempts_max = ATTEMPTS;
	options.patience_ms = 0;
	r = versions_run_branch(run, &options, err);
	if (r == 0 || r == -EEXIST || error_exit_code(err) != EX_UNAVAILABLE)
		return r < 0 ? r : 1;
	log_warning("%s; going on, kiln-uploadd makes the branch before it uploads", err->text);
	return 0;
}
