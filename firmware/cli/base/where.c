/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/where.h"

void where_merge(struct config_store *options, const struct config_store *config)
{
	struct config_store merged = *config;

	if (*options->url)
		merged.url = options->url;
	if (*options->endpoint)
		merged.endpoint = options->endpoint;
	if (*options->region)
		merged.region = options->region;
	if (*options->credential)
		merged.credential = options->credential;
	if (*options->ca_file)
		merged.ca_file = options->ca_file;
	*options = merged;
}
