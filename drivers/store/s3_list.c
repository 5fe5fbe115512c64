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
	bool versions; /* ask for versions, of which the current one of each key counts */
	bool passed;   /* an object was passed to each() */
	/* the key before, with the prefix, to check the order; "" = none yet */
	char before[STORE_KEY_MAX + 1];
	uint32_t empty_pages;
	/* Where the next page begins; "" = at the start. `marker` is a continuation token, or with `versions`
	 * a key, and `version_marker` the version of this key. */
	char marker[S3_TOKEN_BYTES], version_marker[S3_UPLOAD_BYTES];
};

/* Whether the server refuses a request about versions: it does not know how, or the credential may not. Any
 * other error means that the store cannot be reached. */
static bool is_refused(int r)
{
	return r == -EACCES || r == -EINVAL || r == -ENOENT || r == -EOPNOTSUPP || r == -EBADMSG;
}

/* ---- Entries ---- */

/* Finds out whether the credential may read a version: that takes another permission than reading the object.
 * Errors: the store cannot be reached. */
static int look_at_version(struct listing *listing, const struct store_object *object, struct error *err)
{
	struct s3_store *s3 = listing->s3;
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(s3, HTTP_HEAD, object->key, err);
	struct error said = { 0 };
	int r;

	if (!call)
		return -ENOMEM;
	s3_call_query(call, "versionId", object->pin.version);
	r = s3_call_run(call, &said);
	s3->versions.looked = true;
	if (is_refused(r))
		s3->versions.refused = said;
	else if (r < 0 && err)
		*err = said;
	return is_refused(r) ? 0 : r;
}

static int pass(struct listing *listing, struct store_object *object, struct error *err)
{
	int r = 0;

	if (object->pin.version[0] && !listing->s3->versions.looked)
		r = look_at_version(listing, object, err);
	if (r < 0)
		return r;
	if (!listing->versions || listing->s3->versions.refused.code)
		object->pin.version[0] = 0;
	listing->passed = true;
	return listing->each(listing->context, object);
}

/* ---- Pages ---- */

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
	if (entry->old)
		return 0;
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

static int pass_entry(struct listing *listing, const struct s3_reply *page, const struct s3_entry *entry,
		      struct error *err)
{
	size_t prefix = strlen(listing->s3->prefix);
	struct store_object object = { .pin = entry->pin, .mtime_s = entry->mtime_s };
	int r;

	if (entry->old)
		return 0;
	r = s3_reply_key(page, page->text + entry->key, listing->before, err);
	if (r < 0)
		return r;
	(void)snprintf(object.key, sizeof(object.key), "%s", listing->before + prefix);
	/* Some tools make an object of the prefix itself, as a "folder". */
	if (!object.key[0] || !store_glob_matches(listing->glob, object.key))
		return 0;
	return pass(listing, &object, err);
}

static int pass_page(struct listing *listing, const struct s3_reply *page, struct error *err)
{
	int r = 0;

	listing->empty_pages = page->count ? 0 : listing->empty_pages + 1;
	for (uint32_t i = 0; i < page->count && r == 0; i++)
		r = pass_entry(listing, page, &page->entries[i], err);
	return r;
}

/* Notes where the next page begins. The key of a list of versions is encoded like other keys, but not by
 * radosgw 17: there it is the last key of the page as it is. */
static int note_marker(struct listing *listing, const struct s3_reply *page, struct error *err)
{
	char key[STORE_KEY_MAX + 1] = "";
	int r = 0;

	memcpy(listing->marker, page->token, sizeof(listing->marker));
	memcpy(listing->version_marker, page->upload_id, sizeof(listing->version_marker));
	if (!listing->versions || !page->truncated)
		return 0;
	if (page->count > 0)
		r = s3_reply_key(page, page->text + page->entries[page->count - 1].key, key, err);
	if (r == 0 && strcmp(page->token, key) != 0)
		r = s3_reply_key(page, page->token, key, err);
	(void)snprintf(listing->marker, sizeof(listing->marker), "%s", key);
	return r;
}

/* Asks for the current objects, or for all versions. */
static void ask(const struct listing *listing, const char *prefix, struct s3_call *call)
{
	if (listing->versions)
		s3_call_query(call, "versions", "");
	else
		s3_call_query(call, "list-type", "2");
	s3_call_query(call, "max-keys", "1000");
	s3_call_query(call, "encoding-type", "url");
	s3_call_query(call, "prefix", prefix);
	if (!listing->marker[0])
		return;
	s3_call_query(call, listing->versions ? "key-marker" : "continuation-token", listing->marker);
	if (listing->versions && listing->version_marker[0])
		s3_call_query(call, "version-id-marker", listing->version_marker);
}

static int get_page(const struct listing *listing, const char *prefix, struct s3_document *document,
		    struct error *err)
{
	CLEANUP(s3_call_freep) struct s3_call *call = s3_call_new(listing->s3, HTTP_GET, NULL, err);
	int r;

	if (!call)
		return -ENOMEM;
	ask(listing, prefix, call);
	call->undoubted = listing->versions;
	r = s3_document_open(document, call, err);
	return r < 0 ? r : s3_call_run(call, err);
}

static int list(struct listing *listing, struct error *err)
{
	char prefix[S3_FULL_BYTES];
	bool more = true;
	int r = 0;

	/* List only keys that begin with the part of the glob before its first special character: others
	 * cannot match. */
	if ((size_t)snprintf(prefix, sizeof(prefix), "%s%.*s", listing->s3->prefix,
			     (int)store_glob_literal(listing->glob),
			     listing->glob ? listing->glob : "") >= sizeof(prefix))
		return 0; /* the prefix is longer than any key can be, so nothing matches */
	while (more && r == 0) {
		CLEANUP(s3_document_done)
		struct s3_document document = { .root = listing->versions ? "ListVersionsResult"
									  : "ListBucketResult",
						.root_refused = listing->versions ? "ListBucketResult" : NULL,
						.check = check_page,
						.context = listing };

		r = get_page(listing, prefix, &document, err);
		if (r == 0)
			r = pass_page(listing, &document.reply, err);
		if (r == 0)
			r = note_marker(listing, &document.reply, err);
		more = document.reply.truncated;
	}
	return r;
}

/* ---- Lists ---- */

int s3_list(struct store *store, const char *glob,
	    int (*each)(void *context, const struct store_object *object), void *context, struct error *err)
{
	struct listing listing = { .s3 = s3_store_of(store), .glob = glob, .each = each, .context = context };

	return list(&listing, err);
}

int s3_list_versions(struct store *store, const char *glob,
		     int (*each)(void *context, const struct store_object *object), void *context,
		     struct error *err)
{
	struct s3_store *s3 = s3_store_of(store);
	struct listing listing = {
		.s3 = s3, .glob = glob, .each = each, .context = context, .versions = true
	};
	struct error said = { 0 };
	int r;

	if (s3->lakefs) /* the ref is the version */
		return s3_list(store, glob, each, context, err);
	r = s3->versions.refused.code ? 0 : list(&listing, &said);

	if (is_refused(r) && !listing.passed)
		s3->versions.refused = said;
	if (s3->versions.refused.code && !listing.passed)
		return s3_list(store, glob, each, context, err);
	if (r < 0 && said.code && err)
		*err = said;
	return r;
}

const char *s3_versions_refused(const struct store *store)
{
	const struct error *refused = &((const struct s3_store *)store)->versions.refused;

	return refused->code ? refused->text : NULL;
}
