/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/where.h"

const struct verb_option where_options[] = {
	{ .name = "endpoint",
	  .value = VERB_TEXT,
	  .argument = "URL",
	  .help = "S3 server of the store, as in kiln.conf" },
	{ .name = "region", .value = VERB_TEXT, .argument = "NAME", .help = "region of the store" },
	{ .name = "credential",
	  .value = VERB_TEXT,
	  .argument = "NAME",
	  .help = "name of the store's credential, as in kiln.conf" },
	{ .name = "ca-file",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "PEM file of the authority that signed the store's certificate" },
	{ 0 },
};

static const char *text_of(const struct arguments *arguments, const char *name)
{
	const char *text = arguments_text(arguments, name);

	return text ? text : "";
}

void where_read(struct config_store *where, const struct arguments *arguments)
{
	*where = (struct config_store){ .url = "",
					.endpoint = text_of(arguments, "endpoint"),
					.region = text_of(arguments, "region"),
					.credential = text_of(arguments, "credential"),
					.ca_file = text_of(arguments, "ca-file") };
}
