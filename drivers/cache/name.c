/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cache/internal.h"
#include "drivers/digest/digest.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/xattr.h>

bool cache_accepts_store(const struct config_store *store)
{
	return strncmp(store->url, "file://", 7) != 0;
}

bool cache_accepts_pin(const struct store_pin *pin)
{
	return *pin->version || *pin->etag;
}

struct cache_object cache_object_of(const struct config_store *store, const char *key,
				    const struct store_pin *pin, struct cache_strings *strings)
{
	const char *bucket = store->url + sizeof("s3://") - 1, *prefix;
	size_t bucket_bytes = strcspn(bucket, "/"), prefix_bytes;
	struct config_lakefs parts;

	prefix = bucket + bucket_bytes + (bucket[bucket_bytes] == '/');
	/* An object of lakeFS is the same in each commit where it has the same path and pin. */
	if (config_lakefs(store->url, &parts)) {
		bucket = parts.repository;
		bucket_bytes = strlen(bucket);
		prefix = parts.prefix;
	}
	prefix_bytes = strlen(prefix);
	/* The store treats a prefix as a folder: there is exactly one slash between the prefix and the key.
	 */
	if (prefix_bytes > 0 && prefix[prefix_bytes - 1] == '/')
		prefix_bytes--;
	(void)snprintf(strings->bucket, sizeof(strings->bucket), "%.*s", (int)bucket_bytes, bucket);
	(void)snprintf(strings->key, sizeof(strings->key), "%.*s%s%s", (int)prefix_bytes, prefix,
		       prefix_bytes ? "/" : "", key);
	return (struct cache_object){ store->endpoint, strings->bucket, strings->key, pin };
}

/* A version id alone identifies a version. An ETag does so only together with the size. */
static void pin_text(const struct store_pin *pin, char out[static CACHE_PIN_TEXT_BYTES])
{
	if (*pin->version)
		(void)snprintf(out, CACHE_PIN_TEXT_BYTES, "version %s", pin->version);
	else
		(void)snprintf(out, CACHE_PIN_TEXT_BYTES, "%" PRIu64 " %s", pin->bytes, pin->etag);
}

static int endpoint_bytes(const char *endpoint)
{
	size_t bytes = strlen(endpoint);

	return (int)(bytes > 0 && endpoint[bytes - 1] == '/' ? bytes - 1 : bytes);
}

bool cache_same_endpoint(const char *one, const char *other)
{
	int bytes = endpoint_bytes(one);

	return bytes == endpoint_bytes(other) && strncmp(one, other, (size_t)bytes) == 0;
}

size_t cache_identity(const struct cache_object *object, char *out, size_t size)
{
	char pin[CACHE_PIN_TEXT_BYTES];
	int bytes;

	pin_text(object->pin, pin);
	bytes = snprintf(out, size, "%.*s%c%s%c%s%c%s", endpoint_bytes(object->endpoint), object->endpoint, 0,
			 object->bucket, 0, object->key, 0, pin);
	return (size_t)bytes < size ? (size_t)bytes + 1 : 0;
}

void cache_name_of_identity(const char *identity, size_t bytes, char ret_name[static CACHE_NAME_BYTES])
{
	static_assert(CACHE_NAME_BYTES == DIGEST_HEX_BYTES, "a name is a SHA-256 in hex");
	digest_sha256(identity, bytes, ret_name);
}

void cache_name(const struct cache_object *object, char ret_name[static CACHE_NAME_BYTES])
{
	char identity[CACHE_LABEL_MAX];
	size_t bytes = cache_identity(object, identity, sizeof(identity));

	cache_name_of_identity(identity, bytes, ret_name);
}

const char *cache_path(const char name[static CACHE_NAME_BYTES], char out[static CACHE_PATH_BYTES])
{
	(void)snprintf(out, CACHE_PATH_BYTES, "objects/%.2s/%s", name, name);
	return out;
}

/* ---- Labels ---- */

ssize_t cache_label_read(int fd, struct cache_label *label)
{
	ssize_t bytes = fgetxattr(fd, CACHE_XATTR, label, CACHE_LABEL_MAX);

	return bytes < 0 ? -errno : bytes;
}

bool cache_label_parse(const struct cache_label *label, size_t bytes, struct cache_item *ret_item)
{
	const char *text[4], *at = label->identity, *end = (const char *)label + bytes;

	if (bytes <= sizeof(*label) || label->magic != CACHE_LABEL_MAGIC)
		return false;
	for (size_t i = 0; i < 4; i++) {
		const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

		if (!nul)
			return false;
		text[i] = at;
		at = nul + 1;
	}
	if (at != end)
		return false;
	ret_item->bytes = label->bytes;
	ret_item->endpoint = text[0];
	ret_item->bucket = text[1];
	ret_item->key = text[2];
	ret_item->pin_text = text[3];
	return true;
}
