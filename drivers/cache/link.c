/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of readable names. Every byte except [A-Za-z0-9_.,=+@:~-] becomes %XX; in the names "." and ".."
 * the dots become %2E, too; an empty name between two slashes becomes "%". So every key has exactly one path,
 * which lies below tree/, and no two keys have the same.
 */
#include "drivers/cache/internal.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != 0 && strchr("_.,=+@:~-", c));
}

/* Appends "/NAME", escaped, to the path in `out`. Returns false where the path gets too long. */
static bool add_name(char out[static PATH_MAX], const char *component, size_t bytes)
{
	size_t used = strlen(out), start = used + 1;
	bool dots = bytes > 0 && bytes <= 2 && strncmp(component, "..", bytes) == 0;

	if (used + 1 + NAME_MAX >= PATH_MAX)
		return false;
	out[used++] = '/';
	if (bytes == 0)
		out[used++] = '%';
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)component[i];

		if (used - start + 3 > NAME_MAX)
			return false;
		if (is_plain(c) && !dots)
			out[used++] = (char)c;
		else
			used += (size_t)snprintf(out + used, 4, "%%%02X", c);
	}
	out[used] = '\0';
	return true;
}

bool cache_link_path(const char *endpoint, const char *bucket, const char *key, char out[static PATH_MAX])
{
	const char *host = strstr(endpoint, "://");
	const char *component = key;

	host = *endpoint == '\0' ? "aws" : host ? host + 3 : endpoint;
	(void)snprintf(out, PATH_MAX, "tree");
	if (!add_name(out, host, strlen(host)) || !add_name(out, bucket, strlen(bucket)))
		return false;
	for (;;) {
		size_t bytes = strcspn(component, "/");

		if (!add_name(out, component, bytes))
			return false;
		if (!component[bytes])
			return true;
		component += bytes + 1;
	}
}

/* Writes the target of the link: the file's path, relative to the link's own folder. */
static bool link_target(const char *path, const char *name, char out[static PATH_MAX])
{
	char file[CACHE_PATH_BYTES];
	size_t used = 0;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		if (used + 3 + sizeof(file) > PATH_MAX)
			return false;
		memcpy(out + used, "../", 3);
		used += 3;
	}
	(void)snprintf(out + used, PATH_MAX - used, "%s", cache_path(name, file));
	return true;
}

void cache_link(const struct cache *cache, const struct cache_item *item)
{
	static atomic_uint count;
	char path[PATH_MAX], target[PATH_MAX], temporary[64];

	if (!cache_link_path(item->endpoint, item->bucket, item->key, path) ||
	    !link_target(path, item->name, target))
		return;
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdirat(cache->fd, path, 0775);
		*slash = '/';
	}
	(void)snprintf(temporary, sizeof(temporary), "%s%d-%u", CACHE_LINK_TEMPORARY, (int)getpid(),
		       atomic_fetch_add(&count, 1));
	if (symlinkat(target, cache->fd, temporary) == 0 &&
	    renameat(cache->fd, temporary, cache->fd, path) < 0)
		(void)unlinkat(cache->fd, temporary, 0);
}

void cache_unlink(const struct cache *cache, const struct cache_item *item)
{
	char path[PATH_MAX], target[PATH_MAX], found[PATH_MAX];
	ssize_t bytes;

	if (!cache_link_path(item->endpoint, item->bucket, item->key, path) ||
	    !link_target(path, item->name, target))
		return;
	/* By now the link may lead to another version of the object: remove it only where it leads to this
	 * file. */
	bytes = readlinkat(cache->fd, path, found, sizeof(found));
	if (bytes < 0 || (size_t)bytes != strlen(target) || memcmp(found, target, (size_t)bytes) != 0)
		return;
	(void)unlinkat(cache->fd, path, 0);
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (strchr(path, '/') && unlinkat(cache->fd, path, AT_REMOVEDIR) < 0)
			return;
	}
}
