/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"

#include <ctype.h>
#include <string.h>

#define LAKEFS "lakefs://"

static bool is_set(const char *text)
{
	return text && *text;
}

static bool is_repository(const char *name, size_t bytes)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return bytes >= 3 && bytes <= CONFIG_REPOSITORY_MAX && *name != '-' && strspn(name, allowed) == bytes;
}

static bool is_ref(const char *ref, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (isspace((unsigned char)ref[i]))
			return false;
	return bytes >= 1 && bytes <= CONFIG_REF_MAX;
}

bool config_lakefs(const char *url, struct config_lakefs *ret)
{
	const char *repository, *ref;
	size_t repository_bytes, ref_bytes;

	*ret = (struct config_lakefs){ .prefix = "" };
	if (strncmp(url, LAKEFS, strlen(LAKEFS)) != 0)
		return false;
	repository = url + strlen(LAKEFS);
	repository_bytes = strcspn(repository, "/");
	ref = repository + repository_bytes + (repository[repository_bytes] == '/');
	ref_bytes = strcspn(ref, "/");
	if (!is_repository(repository, repository_bytes) || !is_ref(ref, ref_bytes) ||
	    strlen(ref + ref_bytes) > CONFIG_PREFIX_MAX - CONFIG_REF_MAX)
		return false;
	memcpy(ret->repository, repository, repository_bytes);
	memcpy(ret->ref, ref, ref_bytes);
	ret->prefix = ref + ref_bytes + (ref[ref_bytes] == '/');
	return true;
}

const char *config_store_misfit(const struct config_store *store, const char **ret_allowed)
{
	struct config_lakefs parts;
	const bool lakefs = store->url && config_lakefs(store->url, &parts);

	*ret_allowed = NULL;
	if (lakefs && store->endpoint && !*store->endpoint) {
		*ret_allowed = "the lakeFS server, https://host[:port] or http://host[:port]";
		return "endpoint";
	}
	if (store->presign && is_set(store->url) && !lakefs) {
		*ret_allowed = "false, or a url lakefs://repository/branch";
		return "presign";
	}
	return NULL;
}

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
