/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multipart upload: begin, parts, complete.
 *
 * Why a kill at any moment does no harm: parts alone are not an object. Until the server has carried out the
 * complete call, readers see the old object, or none; then they see the whole new object. This file aborts an
 * upload that fails. The parts of a killed process stay on the server, where they cost space, until the next
 * process calls store_abort_stale().
 *
 * The answer to the complete call may be lost, although the server completed the upload. The next attempt
 * then gets the error NoSuchUpload, on lakeFS 500. So, after this error, an object with the file's size and
 * exactly the ETag of these parts, or with the file's bytes, counts as success.
 *
 * A few parts are sent at the same time. Each is read from the file while it is sent, so the memory needed
 * does not depend on the part size. Each part's ETag is compared with its MD5. Size and ETag of the finished
 * object are compared with those of the file and its parts. A server may make the ETag in another way: so
 * where only the ETag differs, the object is read again and compared with the file, once for each store.
 */
#include "drivers/digest/digest.h"
#include "drivers/digest/mbedtls.h"
#include "drivers/store/s3.h"
#include "drivers/store/s3_compare.h"
#include "drivers/store/s3_document.h"
#include "drivers/store/s3_sign.h"
#include "drivers/store/s3_stale.h"

#include <inttypes.h>
#include <string.h>

#define PARTS_MAX      10000u /* S3 User Guide, "Amazon S3 multipart upload limits" */
#define PARTS_AT_ONCE  4u
#define PART_XML_BYTES (STORE_ETAG_MAX * 6 + 80) /* enough for an ETag of which each character is escaped */
#define MD5_BYTES      16u

struct part {
	struct s3_call *call; /* NULL = this entry is not in use */
	uint32_t number;
	char number_text[12], md5[2 * MD5_BYTES + 1];
};

struct upload {
	struct s3_store *s3;
	const char *key;
	int fd;
	uint64_t bytes, part_bytes;
	uint32_t parts, started;
	char id[S3_UPLOAD_BYTES];
	char (*etags)[STORE_ETAG_MAX];
	/* the ETag of a part is not its MD5, as in an encrypted bucket: then no ETag is expected */
	bool other_etags;
	struct part in_flight[PARTS_AT_ONCE];
	mbedtls_sha256_context *sha256; /* running SHA-256 of the whole file, or NULL */
};

/* ---- Begin and complete ---- */

static int check_begun(const void *context, const struct s3_reply *reply, struct error *err)
{
	(void)context;
	return reply->upload_id[0] ? 0 : error_set(err, -EBADMSG, "the server began an upload without an id");
}

static int begin_upload(struct upload *upload, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(upload->s3, HTTP_POST, upload->key, err);
	CLEANUP(s3_document_done)
	struct s3_document document = { .root = "InitiateMultipartUploadResult", .check = check_begun };
	int r;

	if (!call)
		return -ENOMEM;
	s3_call_query(call, "uploads", "");
	r = s3_document_open(&document, call, err);
	if (r == 0)
		r = s3_call_run(call, err);
	memcpy(upload->id, document.reply.upload_id, sizeof(upload->id));
	return r;
}

/* Escapes the special characters of XML. A server may put any character into an ETag. */
static size_t append_escaped(char *out, const char *text)
{
	char *to = out;

	for (; *text; text++)
		switch (*text) {
		case '&':
			to = stpcpy(to, "&amp;");
			break;
		case '<':
			to = stpcpy(to, "&lt;");
			break;
		case '>':
			to = stpcpy(to, "&gt;");
			break;
		default:
			*to++ = *text;
		}
	*to = 0;
	return (size_t)(to - out);
}

static char *parts_xml(const struct upload *upload, size_t *ret_bytes)
{
	char *text = malloc((size_t)upload->parts * PART_XML_BYTES + 128), *to = text;

	if (!text)
		return NULL;
	to = stpcpy(to, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	for (uint32_t i = 0; i < upload->parts; i++) {
		to += sprintf(to, "<Part><PartNumber>%" PRIu32 "</PartNumber><ETag>\"", i + 1);
		to += append_escaped(to, upload->etags[i]);
		to = stpcpy(to, "\"</ETag></Part>");
	}
	to = stpcpy(to, "</CompleteMultipartUpload>");
	*ret_bytes = (size_t)(to - text);
	return text;
}

static bool unhex(const char *text, uint8_t md5[static MD5_BYTES])
{
	for (size_t i = 0; i < MD5_BYTES; i++)
		if (sscanf(text + 2 * i, "%2hhx", &md5[i]) !=
		    1) // NOLINT(cert-err34-c): two digits always fit
			return false;
	return !text[2 * MD5_BYTES];
}

/* Computes the ETag that S3 gives to an object of these parts: the MD5 of the parts' MD5s. Returns false
 * where the parts' ETags are not MD5s, as in an encrypted bucket. */
static bool expected_etag(const struct upload *upload, char out[static STORE_ETAG_MAX])
{
	mbedtls_md5_context all;
	uint8_t md5[MD5_BYTES];
	bool known = true;

	mbedtls_md5_init(&all);
	(void)mbedtls_md5_starts(&all);
	for (uint32_t i = 0; i < upload->parts && known; i++) {
		known = strlen(upload->etags[i]) == 2 * MD5_BYTES && unhex(upload->etags[i], md5);
		(void)mbedtls_md5_update(&all, md5, sizeof(md5));
	}
	(void)mbedtls_md5_finish(&all, md5);
	mbedtls_md5_free(&all);
	digest_hex(md5, sizeof(md5), out);
	(void)snprintf(out + 2 * MD5_BYTES, STORE_ETAG_MAX - 2 * MD5_BYTES, "-%" PRIu32, upload->parts);
	return known;
}

/* Returns whether an earlier attempt completed the upload, and only its answer was lost: the object has the
 * parts' ETag or, where a server makes ETags in another way, the file's bytes. */
static bool was_completed(struct upload *upload)
{
	struct store_object object;
	char etag[STORE_ETAG_MAX];

	if (s3_stat(&upload->s3->store, upload->key, &object, NULL) < 0 || object.pin.bytes != upload->bytes)
		return false;
	return (expected_etag(upload, etag) && !strcmp(object.pin.etag, etag)) ||
	       s3_compare(upload->s3, upload->key, &object.pin, upload->fd, NULL) == 0;
}

/* Returns whether the error of a complete call may follow a call that the server carried out: the upload is
 * not there any more, for which lakeFS answers 500. */
static bool may_be_completed(const struct upload *upload, int r, const char *code)
{
	return (r == -ENOENT && !strcmp(code, "NoSuchUpload")) || (r == -EIO && upload->s3->lakefs);
}

static int complete_upload(struct upload *upload, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(upload->s3, HTTP_POST, upload->key, err);
	CLEANUP(s3_document_done)
	struct s3_document document = { .root = "CompleteMultipartUploadResult" };
	CLEANUP(free_ptr) char *text = NULL;
	uint8_t sha256[32];
	size_t bytes;
	int r;

	if (!call)
		return -ENOMEM;
	text = parts_xml(upload, &bytes);
	if (!text)
		return error_set(err, -ENOMEM, "no memory for a list of %" PRIu32 " parts", upload->parts);
	(void)mbedtls_sha256((const uint8_t *)text, bytes, sha256, 0);
	digest_hex(sha256, sizeof(sha256), call->payload_sha256);
	call->body = text;
	call->body_bytes = bytes;
	call->http.patient = true; /* before it answers, the server may have to assemble gigabytes */
	s3_call_query(call, "uploadId", upload->id);
	r = s3_document_open(&document, call, err);
	if (r == 0)
		r = s3_call_run(call, err);
	if (may_be_completed(upload, r, call->error.code) && was_completed(upload))
		return 0;
	return r;
}

/* ---- Parts ---- */

/* Callback of store_hash_file(): goes on sending the other parts while one part is hashed. */
static void send_others(void *context)
{
	struct upload *upload = context;
	const bool never = false;

	(void)!http_drive(upload->s3->http, 0, &never, false, NULL);
}

static int start_part(struct upload *upload, struct part *part, struct error *err)
{
	uint64_t offset = upload->started * upload->part_bytes, left = upload->bytes - offset;
	struct s3_call *call = s3_call_new(upload->s3, HTTP_PUT, upload->key, err);
	uint8_t sha256[32], md5[MD5_BYTES];
	struct store_hashes hashes = { upload->sha256, upload->s3->tls ? NULL : sha256, md5 };
	int r;

	if (!call)
		return -ENOMEM;
	call->body_fd = upload->fd;
	call->body_offset = offset;
	call->body_bytes = left < upload->part_bytes ? left : upload->part_bytes;
	r = store_hash_file(upload->fd, offset, call->body_bytes, &hashes, send_others, upload, err);
	if (r < 0) {
		s3_call_free(call);
		return r;
	}
	if (!upload->s3->tls)
		digest_hex(sha256, sizeof(sha256), call->payload_sha256);
	digest_hex(md5, sizeof(md5), part->md5);
	part->number = ++upload->started;
	(void)snprintf(part->number_text, sizeof(part->number_text), "%" PRIu32, part->number);
	s3_call_query(call, "partNumber", part->number_text);
	s3_call_query(call, "uploadId", upload->id);
	call->check = s3_check_put;
	call->context = part->md5;
	part->call = call;
	s3_call_start(call);
	return 0;
}

static int end_part(struct upload *upload, struct part *part, struct error *err)
{
	struct s3_call *call = part->call;
	int r = s3_call_wait(call, err);

	if (r == 0 && !call->etag[0])
		r = error_set(err, -EBADMSG, "%s/%s: part %" PRIu32 " was answered without an ETag",
			      upload->s3->store.url, upload->key, part->number);
	if (r == 0) {
		memcpy(upload->etags[part->number - 1], call->etag, STORE_ETAG_MAX);
		upload->other_etags = upload->other_etags || strcasecmp(call->etag, part->md5) != 0;
	}
	part->call = NULL;
	s3_call_free(call);
	return r;
}

/* Uses the entries of in_flight in a circle: so the entry to use next is that of the part that was started
 * first. */
static int send_parts(struct upload *upload, struct error *err)
{
	int result = 0;

	for (uint32_t turn = 0; turn < upload->parts + PARTS_AT_ONCE; turn++) {
		struct part *part = &upload->in_flight[turn % PARTS_AT_ONCE];
		int r = part->call ? end_part(upload, part, result ? NULL : err) : 0;

		if (r == 0 && result == 0 && upload->started < upload->parts)
			r = start_part(upload, part, err);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

/* ---- Verify ---- */

static int verify(struct upload *upload, struct error *err)
{
	struct store_object object;
	char etag[STORE_ETAG_MAX];
	int r = s3_stat(&upload->s3->store, upload->key, &object, err);

	if (r < 0)
		return r;
	if (object.pin.bytes != upload->bytes)
		return error_set(err, -EIO, "%s/%s: uploaded %" PRIu64 " bytes, the server has %" PRIu64,
				 upload->s3->store.url, upload->key, upload->bytes, object.pin.bytes);
	if (upload->other_etags || upload->s3->own_etags || !expected_etag(upload, etag) ||
	    strcasecmp(object.pin.etag, etag) == 0)
		return 0;
	r = s3_compare(upload->s3, upload->key, &object.pin, upload->fd, err);
	upload->s3->own_etags = r == 0;
	return r;
}

/* ---- One file ---- */

static int send_upload(struct upload *upload, struct error *err)
{
	char full[S3_FULL_BYTES];
	int r = s3_full_key(upload->s3, upload->key, full, err);

	if (r == 0)
		r = begin_upload(upload, err);
	if (r < 0)
		return r;
	r = send_parts(upload, err);
	if (r == 0)
		r = complete_upload(upload, err);
	if (r < 0) {
		(void)!s3_abort_upload(upload->s3, full, upload->id, NULL);
		return r;
	}
	return verify(upload, err);
}

static int put_single(struct s3_store *s3, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		      struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_PUT, key, err);
	uint8_t sha256[32], md5[MD5_BYTES];
	struct store_hashes hashes = { NULL, ret_sha256 || !s3->tls ? sha256 : NULL, md5 };
	char md5_hex[2 * MD5_BYTES + 1];
	int r;

	if (!call)
		return -ENOMEM;
	r = store_hash_file(fd, 0, bytes, &hashes, NULL, NULL, err);
	if (r < 0)
		return r;
	if (!s3->tls)
		digest_hex(sha256, sizeof(sha256), call->payload_sha256);
	digest_hex(md5, sizeof(md5), md5_hex);
	call->body_fd = fd;
	call->body_bytes = bytes;
	call->check = s3_check_put;
	call->context = md5_hex;
	r = s3_call_run(call, err);
	if (r == 0 && ret_sha256)
		memcpy(ret_sha256, sha256, sizeof(sha256));
	return r;
}

int s3_put_file(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		struct error *err)
{
	struct upload upload = { .s3 = s3_store_of(store), .key = key, .fd = fd, .bytes = bytes };
	mbedtls_sha256_context sha256;
	int r;

	upload.part_bytes = store->options.part_bytes;
	if (bytes <= upload.part_bytes)
		return put_single(upload.s3, key, fd, bytes, ret_sha256, err);
	if ((bytes - 1) / upload.part_bytes >= PARTS_MAX)
		upload.part_bytes = (bytes - 1) / PARTS_MAX + 1;
	upload.parts = (uint32_t)((bytes - 1) / upload.part_bytes + 1);
	upload.etags = calloc(upload.parts, sizeof(*upload.etags));
	if (!upload.etags)
		return error_set(err, -ENOMEM, "no memory for %" PRIu32 " parts", upload.parts);
	mbedtls_sha256_init(&sha256);
	(void)mbedtls_sha256_starts(&sha256, 0);
	upload.sha256 = ret_sha256 ? &sha256 : NULL;
	r = send_upload(&upload, err);
	if (r == 0 && ret_sha256)
		(void)mbedtls_sha256_finish(&sha256, ret_sha256);
	mbedtls_sha256_free(&sha256);
	free(upload.etags);
	return r;
}
