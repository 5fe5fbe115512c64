/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"

#include <string.h>

const char *config_server_differs(const struct config_store *a, const struct config_store *b)
{
	if (strcmp(a->endpoint, b->endpoint) != 0)
		return "endpoint";
	if (strcmp(a->region, b->region) != 0)
		return "region";
	if (strcmp(a->credential, b->credential) != 0)
		return "credential";
	return strcmp(a->ca_file, b->ca_file) != 0 ? "ca_file" : NULL;
}
