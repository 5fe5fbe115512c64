/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/operand.h"

#include "cli/base/cache.h"
#include "cli/base/where.h"
#include "cli/runs/stored.h"
#include "core/base/paths.h"
#include "model/model.h"
#include "trained/locate.h"
#include "trained/location.h"

const struct verb_operand operand_model[] = { { .name = "MODEL", .value = VERB_LOCATION }, { 0 } };

const struct verb_option operand_options[] = {
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "read url, endpoint, region and credential from this kiln.conf's `sink`; default for a run "
		  "id: the box's own configuration" },
	{ 0 },
};

/* Takes the sink of the configuration, of a run id with the branch that has the run. */
static int find_sink(struct trained *trained, struct error *err)
{
	struct config asked = trained->given;

	location_merge(&trained->where, &trained->given.sink);
	asked.sink = trained->where;
	return locate_is_run(trained->name) ? stored_run_sink(&asked, trained->name, &trained->where, err)
					    : 0;
}

int operand_read(const struct arguments *arguments, struct trained *trained, struct error *err)
{
	const char *file = arguments_text(arguments, "config");
	bool wanted;
	int r;

	trained->name = arguments_operand(arguments, 0);
	where_read(&trained->where, arguments);
	trained->options = trained->where;
	wanted = file || locate_is_run(trained->name);
	r = config_load(file ? file : config_path(0, NULL), &trained->given, wanted ? err : NULL);
	trained->any_given = r == 0;
	if (!wanted)
		return 0;
	return r < 0 ? r : find_sink(trained, err);
}

int operand_open_model(struct trained *trained, bool training, struct error *err)
{
	int r;

	cache_find();
	r = trained_open_model(trained, training, err);
	if (r == 0 && model_compiles(trained->model) && isatty(STDERR_FILENO))
		fputs("kiln: the device compiles the kernels of this network; later calls find them on the "
		      "disk\n",
		      stderr);
	return r;
}
