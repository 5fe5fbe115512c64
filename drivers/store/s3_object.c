/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/digest.h"
#include "drivers/digest/mbedtls.h"
#include "drivers/store/s3.h"

#include <inttypes.h>
#include <string.h>

/* ---- Stat ---- */

static int check_stat(struct s3_call *call, enum retry_class *retry, struct error *err)
{
	struct store_object *object = call->context;
	time_t modified = curl_getdate(http_header(&call->http, "last-modified"), NULL);
	int r = s3_size_parse(http_header(&call->http, "content-length"), &object->pin.bytes, err);

	(void)retry;
	if (r < 0)
		return error_prefix(err, "Content-Length");
	memcpy(object->pin.etag, call->etag, sizeof(object->pin.etag));
	memcpy(object->pin.version, call->version, sizeof(object->pin.version));
	object->mtime_s = modified < 0 ? 0 : (int64_t)modified;
	return 0;
}

/* Finds out why a HEAD failed: its answer has no body, so no error code or message. A get of one byte fails
 * in the same way, and its answer has them. *ret_wrong: the get succeeds, so the answer to HEAD was wrong. */
static int explain(struct s3_store *s3, const char *key, int r, bool *ret_wrong, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_GET, key, err);
	struct error said = { 0 };
	char byte;
	int why;

	if (!call)
		return -ENOMEM;
	call->undoubted = true;
	call->ranged = true;
	call->bytes = 1;
	call->http.buffer = &byte;
	call->http.buffer_bytes = 1;
	why = s3_call_run(call, &said);
	*ret_wrong = why == 0;
	if (why == r && err)
		*err = said;
	return r;
}

/* *ret_wrong: the answer says that there is no such object, or refuses, and another answer shows that it is
 * wrong. */
static int stat_once(struct s3_store *s3, const char *key, struct store_object *ret_object, bool *ret_wrong,
		     struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_HEAD, key, err);
	struct store_object object = { 0 };
	int r;

	*ret_wrong = false;
	if (!call)
		return -ENOMEM;
	call->check = check_stat;
	call->context = &object;
	r = s3_call_run(call, err);
	if (r < 0)
		return call->http.status / 100 == 4 ? explain(s3, key, r, ret_wrong, err) : r;
	(void)snprintf(object.key, sizeof(object.key), "%s", key);
	*ret_object = object;
	return 0;
}

int s3_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err)
{
	bool wrong;
	int r = stat_once(s3_store_of(store), key, ret_object, &wrong, err);

	return wrong ? stat_once(s3_store_of(store), key, ret_object, &wrong, err) : r;
}

/* ---- Whole objects ---- */

struct growing {
	char *data;
	uint64_t used, size, max;
};

static void begin_growing(struct s3_call *call)
{
	((struct growing *)call->context)->used = 0;
}

static int grow(struct growing *growing, uint64_t bytes, struct error *err)
{
	uint64_t size = 2 * growing->size > bytes ? 2 * growing->size : bytes;
	char *data;

	if (bytes > growing->max)
		return error_set(err, -EFBIG, "more than the %" PRIu64 " bytes expected at most",
				 growing->max);
	if (size > growing->max)
		size = growing->max;
	data = realloc(growing->data, size + 1);
	if (!data)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes", size);
	growing->data = data;
	growing->size = size;
	return 0;
}

static int add_growing(struct s3_call *call, const char *data, size_t bytes, struct error *err)
{
	struct growing *growing = call->context;
	int r = 0;

	if (growing->used + bytes > growing->size)
		r = grow(growing, growing->used + bytes, err);
	if (r < 0)
		return r;
	memcpy(growing->data + growing->used, data, bytes);
	growing->used += bytes;
	return 0;
}

int s3_get_all(struct store *store, const char *key, uint64_t max, char **ret_data, uint64_t *ret_bytes,
	       struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3_store_of(store), HTTP_GET, key, err);
	struct growing growing = { .max = max };
	int r;

	if (!call)
		return -ENOMEM;
	r = grow(&growing, max < 4096 ? max : 4096, err);
	if (r < 0)
		return r;
	call->begin = begin_growing;
	call->data = add_growing;
	call->context = &growing;
	r = s3_call_run(call, err);
	if (r < 0) {
		free(growing.data);
		return r;
	}
	growing.data[growing.used] = 0;
	*ret_data = growing.data;
	*ret_bytes = growing.used;
	return 0;
}

/* ---- Put and delete ---- */

/* Compares the ETag with the MD5 of the body. Not where the ETag is not an MD5, as for objects that are
 * encrypted with other keys than S3's own (S3 API, Object). */
int s3_check_put(struct s3_call *call, enum retry_class *retry, struct error *err)
{
	const char *md5 = call->context,
		   *encryption = http_header(&call->http, "x-amz-server-side-encryption");

	if (strlen(call->etag) != 32 || strspn(call->etag, "0123456789abcdefABCDEF") != 32 ||
	    !strncmp(encryption, "aws:", 4) ||
	    http_header(&call->http, "x-amz-server-side-encryption-customer-algorithm")[0] ||
	    !strcasecmp(call->etag, md5))
		return 0;
	*retry = RETRY_RESET;
	return error_set(err, -EIO, "the server stored other bytes than were sent: MD5 %s, sent were %s",
			 call->etag, md5);
}

int s3_put(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
	   struct error *err)
{
	struct s3_store *s3 = s3_store_of(store);
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_PUT, key, err);
	uint8_t sha256[32], md5[16];
	char md5_hex[33];
	int r;

	if (!call)
		return -ENOMEM;
	(void)mbedtls_md5(data, bytes, md5);
	digest_hex(md5, sizeof(md5), md5_hex);
	if (bytes && !s3->tls) {
		(void)mbedtls_sha256(data, bytes, sha256, 0);
		digest_hex(sha256, sizeof(sha256), call->payload_sha256);
	}
	call->body = data;
	call->body_bytes = bytes;
	call->only_new = only_new;
	call->check = s3_check_put;
	call->context = md5_hex;
	r = s3_call_run(call, err);
	return r == -ESTALE && only_new ? -EEXIST : r;
}

int s3_delete(struct store *store, const char *key, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3_store_of(store), HTTP_DELETE, key, err);
	int r;

	if (!call)
		return -ENOMEM;
	r = s3_call_run(call, err);
	return r == -ENOENT && !strcmp(call->error.code, "NoSuchKey") ? 0 : r;
}
