/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_stale.h"
#include "core/base/log.h"
#include "drivers/store/s3.h"
#include "drivers/store/s3_document.h"

#include <string.h>

int s3_abort_upload(struct s3_store *s3, const char *full_key, const char *id, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_DELETE, NULL, err);
	int r;

	if (!call)
		return -ENOMEM;
	call->upload_key = full_key;
	s3_call_query(call, "uploadId", id);
	r = s3_call_run(call, err);
	return r == -ENOENT ? 0 : r;
}

/* Does not set encoding-type: with it radosgw 17 encodes the keys, but does not say so in its answer, and
 * does not encode the marker. */
static int list_uploads(struct s3_store *s3, const char *key_marker, const char *id_marker,
			struct s3_document *document, struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_GET, NULL, err);
	int r;

	if (!call)
		return -ENOMEM;
	s3_call_query(call, "uploads", "");
	s3_call_query(call, "max-uploads", "1000");
	s3_call_query(call, "prefix", s3->prefix);
	if (key_marker[0]) {
		s3_call_query(call, "key-marker", key_marker);
		s3_call_query(call, "upload-id-marker", id_marker);
	}
	r = s3_document_open(document, call, err);
	return r < 0 ? r : s3_call_run(call, err);
}

static int check_uploads(const void *context, const struct s3_reply *page, struct error *err)
{
	const struct s3_store *s3 = context;
	char key[STORE_KEY_MAX + 1];

	for (uint32_t i = 0; i < page->count; i++) {
		const struct s3_entry *entry = &page->entries[i];
		int r = s3_reply_key(page, page->text + entry->key, key, err);

		if (r < 0)
			return r;
		if (strncmp(key, s3->prefix, strlen(s3->prefix)) != 0 || !entry->upload_id)
			return error_set(err, -EBADMSG,
					 "the list of uploads has one outside the prefix, or without an id");
	}
	return page->truncated ? s3_reply_key(page, page->token, key, err) : 0;
}

/* Aborts the uploads of a page, at most `max`, and returns how many. */
static int abort_page(struct s3_store *s3, const struct s3_reply *page, uint32_t max, struct error *err)
{
	const uint32_t count = page->count < max ? page->count : max;
	char key[STORE_KEY_MAX + 1];

	for (uint32_t i = 0; i < count; i++) {
		const struct s3_entry *entry = &page->entries[i];
		int r = s3_reply_key(page, page->text + entry->key, key, err);

		if (r == 0)
			r = s3_abort_upload(s3, key, page->text + entry->upload_id, err);
		if (r < 0)
			return r;
	}
	return (int)count;
}

/* Reads the markers of the next page. Returns false where there is no next page, or the markers are not after
 * those before: of a key, uploads come in the order in which they began, whatever their ids. */
static bool read_markers(const struct s3_reply *page, char key_marker[static STORE_KEY_MAX + 1],
			 char id_marker[static S3_UPLOAD_BYTES])
{
	char key[STORE_KEY_MAX + 1];
	int order;

	if (!page->truncated || s3_reply_key(page, page->token, key, NULL) < 0)
		return false;
	order = strcmp(key, key_marker);
	if (order < 0 || (order == 0 && strcmp(page->upload_id, id_marker) == 0)) {
		log_warning("the list of unfinished uploads does not go on after '%s', so the others stay",
			    key_marker);
		return false;
	}
	memcpy(key_marker, key, sizeof(key));
	memcpy(id_marker, page->upload_id, sizeof(page->upload_id));
	return true;
}

int s3_abort_stale(struct store *store, struct error *err)
{
	struct s3_store *s3 = s3_store_of(store);
	char key_marker[STORE_KEY_MAX + 1] = "", id_marker[S3_UPLOAD_BYTES] = "";
	uint32_t aborted = 0;
	/* The gateway of lakeFS lists no uploads below a prefix, and the ref is a prefix of every key. */
	bool more = !s3->lakefs;

	/* A page may be empty, so pages are counted too. */
	for (uint32_t page = 0; more && page < STORE_ABORTS_MAX; page++) {
		CLEANUP(s3_document_done)
		struct s3_document document = { .root = "ListMultipartUploadsResult",
						.check = check_uploads,
						.context = s3 };
		int r = list_uploads(s3, key_marker, id_marker, &document, err);

		if (r == 0)
			r = abort_page(s3, &document.reply, STORE_ABORTS_MAX - aborted, err);
		if (r < 0)
			return r;
		aborted += (uint32_t)r;
		more = read_markers(&document.reply, key_marker, id_marker);
		if (more && aborted == STORE_ABORTS_MAX) {
			log_warning("unfinished uploads: %u are removed, and there are more", aborted);
			break;
		}
	}
	return (int)aborted;
}
