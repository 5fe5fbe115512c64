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

/* `before` is the key before the entry, and becomes the entry's. */
static int check_entry(const struct s3_store *s3, const struct s3_reply *page, const struct s3_entry *entry,
		       char before[static STORE_KEY_MAX + 1], struct error *err)
{
	char key[STORE_KEY_MAX + 1], text[STORE_KEY_TEXT], text_before[STORE_KEY_TEXT];
	int r = s3_reply_key(page, page->text + entry->key, key, err);

	if (r < 0)
		return r;
	if (strncmp(key, s3->prefix, strlen(s3->prefix)) != 0)
		return error_set(err, -EBADMSG, "the list has '%s', which is outside the prefix",
				 store_key_text(key, text));
	if (strcmp(before, key) >= 0)
		return error_set(err, -EBADMSG, "the list is not in bytewise order: '%s' comes after '%s'",
				 store_key_text(key, text), store_key_text(before, text_before));
	if (!entry->sized)
		return error_set(err, -EBADMSG, "the list has '%s' without a size",
				 store_key_text(key, text));
	memcpy(before, key, sizeof(key));
	return 0;
}

/* Checks a whole page before any of its entries is passed on, so that a wrong page can be asked for again. */
static int check_page(const void *context, const struct s3_reply *page, struct error *err)
{
	const struct listing *listing = context;
	char before[STORE_KEY_MAX + 1];
	int r = 0;

	if (!page->says_truncated)
		return error_set(err, -EBADMSG, "the list does not say whether it is truncated");
	if (page->truncated && (!page->token[0] || (!page->count && listing->empty_pages == EMPTY_PAGES_MAX)))
		return error_set(err, -EBADMSG, "the list is truncated and names no next page");
	memcpy(before, listing->before, sizeof(before));
	for (uint32_t i = 0; i < page->count && r == 0; i++)
		r = check_entry(listing->s3, page, &page->entries[i], before, err);
	return r;
}

static int pass_page(struct listing *listing, const struct s3_reply *page, struct error *err)
{
	size_t prefix = strlen(listing->s3->prefix);
	int r = 0;

	listing->empty_pages = page->count ? 0 : listing->empty_pages + 1;
	for (uint32_t i = 0; i < page->count && r == 0; i++) {
		const struct s3_entry *entry = &page->entries[i];
		struct store_object object = { .pin = entry->pin, .mtime_s = entry->mtime_s };

		r = s3_reply_key(page, page->text + entry->key, listing->before, err);
		if (r < 0)
			return r;
		(void)snprintf(object.key, sizeof(object.key), "%s", listing->before + prefix);
		/* Some tools make an object of the prefix itself, as a "folder". */
		if (object.key[0] && store_glob_matches(listing->glob, object.key))
			r = listing->each(listing->context, &object);
	}
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
		CLEANUP(s3_document_done)
		struct s3_document document = { .root = "ListBucketResult",
						.check = check_page,
						.context = &listing };

		r = get_page(listing.s3, prefix, token, &document, err);
		if (r == 0)
			r = pass_page(&listing, &document.reply, err);
		more = document.reply.truncated;
		memcpy(token, document.reply.token, sizeof(token));
	}
	return r;
}
