/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3.h"
#include "drivers/store/s3_document.h"

#include <string.h>

/* empty pages in a row, after which the listing fails: it must not go on for ever */
#define EMPTY_PAGES_MAX 1000u

struct listing {
	struct s3_store *s3;
	const char *glob;
	int (*each)(void *context, const struct store_object *object);
	void *context;
	/* the key before, with the prefix, to check the order; "" = none yet */
	char before[STORE_KEY_MAX + 1];
	uint32_t empty_pages;
};

static int list_entry(struct listing *listing, const struct s3_reply *page, const struct s3_entry *entry,
		      struct error *err)
{
	char key[STORE_KEY_MAX + 1], text[STORE_KEY_TEXT], text_before[STORE_KEY_TEXT];
	const struct s3_store *s3 = listing->s3;
	size_t prefix = strlen(s3->prefix);
	struct store_object object = { .pin = entry->pin, .mtime_s = entry->mtime_s };
	int r = s3_reply_key(page, page->text + entry->key, key, err);

	if (r < 0)
		return error_prefix(err, "%s", s3->store.url);
	if (strncmp(key, s3->prefix, prefix) != 0)
		return error_set(err, -EBADMSG, "%s: the list has '%s', which is outside the prefix",
				 s3->store.url, store_key_text(key, text));
	if (strcmp(listing->before, key) >= 0)
		return error_set(err, -EBADMSG,
				 "%s: the list is not in bytewise order: '%s' comes after '%s'",
				 s3->store.url, store_key_text(key, text),
				 store_key_text(listing->before, text_before));
	memcpy(listing->before, key, sizeof(key));
	memcpy(object.key, key + prefix, strlen(key + prefix) + 1);
	if (!object.key[0] || !store_glob_matches(listing->glob, object.key))
		return 0; /* no match, or the prefix itself: some tools make such an object as a "folder" */
	return listing->each(listing->context, &object);
}

static int list_page(struct listing *listing, const struct s3_reply *page, struct error *err)
{
	int r = 0;

	listing->empty_pages = page->count ? 0 : listing->empty_pages + 1;
	if (page->truncated && (!page->token[0] || listing->empty_pages > EMPTY_PAGES_MAX))
		return error_set(err, -EBADMSG, "%s: the list is truncated and names no next page",
				 listing->s3->store.url);
	for (uint32_t i = 0; i < page->count && r == 0; i++)
		r = list_entry(listing, page, &page->entries[i], err);
	return r;
}

static int get_page(struct s3_store *s3, const char *prefix, const char *token, struct s3_document *document,
		    struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_GET, NULL, err);
	int r;

	if (!call)
		return -ENOMEM;
	s3_call_query(call, "list-type", "2");
	s3_call_query(call, "max-keys", "1000");
	s3_call_query(call, "encoding-type", "url");
	s3_call_query(call, "prefix", prefix);
	if (token[0])
		s3_call_query(call, "continuation-token", token);
	r = s3_document_open(document, call, err);
	return r < 0 ? r : s3_call_run(call, err);
}

int s3_list(struct store *store, const char *glob,
	    int (*each)(void *context, const struct store_object *object), void *context, struct error *err)
{
	struct listing listing = { .s3 = s3_store_of(store), .glob = glob, .each = each, .context = context };
	char prefix[S3_FULL_BYTES], token[S3_TOKEN_BYTES] = "";
	bool more = true;
	int r = 0;

	/* List only keys that begin with the part of the glob before its first special character: others
	 * cannot match. */
	if ((size_t)snprintf(prefix, sizeof(prefix), "%s%.*s", listing.s3->prefix,
			     (int)store_glob_literal(glob), glob ? glob : "") >= sizeof(prefix))
		return 0; /* the prefix is longer than any key can be, so nothing matches */
	while (more && r == 0) {
		CLEANUP(s3_document_done) struct s3_document document = { 0 };

		r = get_page(listing.s3, prefix, token, &document, err);
		if (r == 0)
			r = list_page(&listing, &document.reply, err);
		more = document.reply.truncated;
		memcpy(token, document.reply.token, sizeof(token));
	}
	return r;
}
