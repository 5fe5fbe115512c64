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

const char *config_weights_key(const struct config *config, struct config_store *ret_where, char *url)
{
	const char *name = config->model.weights, *slash = strrchr(name, '/');

	*ret_where = config->sink;
	if (!strstr(name, "://") || !slash)
		return name;
	memcpy(url, name, (size_t)(slash - name));
	url[slash - name] = '\0';
	ret_where->url = url;
	return slash + 1;
}
