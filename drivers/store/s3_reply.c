/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_reply.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

void s3_reply_begin(struct s3_reply *reply)
{
	struct s3_entry *entries = reply->entries;
	char *text = reply->text;
	size_t size = reply->text_size;

	*reply = (struct s3_reply){ .entries = entries, .text = text, .text_size = size };
}

void s3_reply_done(struct s3_reply *reply)
{
	free(reply->entries);
	free(reply->text);
	*reply = (struct s3_reply){ 0 };
}

bool s3_etag_copy(const char *text, char out[static STORE_ETAG_MAX])
{
	size_t bytes;

	if (!strncmp(text, "W/", 2))
		text += 2;
	bytes = strlen(text);
	if (bytes >= 2 && text[0] == '"' && text[bytes - 1] == '"') {
		text++;
		bytes -= 2;
	}
	if (bytes >= STORE_ETAG_MAX)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || text[i] == '"')
			return false;
	memcpy(out, text, bytes);
	out[bytes] = 0;
	return true;
}

void s3_version_copy(const char *text, char out[static STORE_VERSION_MAX])
{
	size_t bytes = strcmp(text, "null") == 0 ? 0 : strlen(text);

	if (bytes >= STORE_VERSION_MAX)
		bytes = 0;
	memcpy(out, text, bytes);
	out[bytes] = 0;
}

static int add_text(struct s3_reply *reply, const char *text, size_t bytes, size_t *ret_offset,
		    struct error *err)
{
	if (*ret_offset)
		return error_set(err, -EBADMSG,
				 "the page has an entry with two keys or two ids of an upload");
	if (bytes + 2 > reply->text_size - reply->text_used) {
		size_t size = 2 * (reply->text_size + bytes + 4096);
		char *grown = realloc(reply->text, size);

		if (!grown)
			return error_set(err, -ENOMEM, "no memory for a page of keys");
		reply->text = grown;
		reply->text_size = size;
	}
	if (!reply->text_used)
		reply->text[reply->text_used++] = 0; /* so that no text has offset 0, which means "no text" */
	memcpy(reply->text + reply->text_used, text, bytes + 1);
	*ret_offset = reply->text_used;
	reply->text_used += bytes + 1;
	return 0;
}

static int end_entry(struct s3_reply *reply, struct error *err)
{
	if (!reply->entries)
		reply->entries = calloc(S3_ENTRIES_MAX, sizeof(*reply->entries));
	if (!reply->entries)
		return error_set(err, -ENOMEM, "no memory for a page of keys");
	if (reply->count == S3_ENTRIES_MAX)
		return error_set(err, -EBADMSG, "the page has more than the %u entries asked for",
				 S3_ENTRIES_MAX);
	if (!reply->entry.key)
		return error_set(err, -EBADMSG, "the page has an entry without a key");
	reply->entries[reply->count++] = reply->entry;
	reply->entry = (struct s3_entry){ 0 };
	return 0;
}

int s3_size_parse(const char *text, uint64_t *ret_bytes, struct error *err)
{
	char *end;

	errno = 0;
	*ret_bytes = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end)
		return error_set(err, -EBADMSG, "the answer's size '%.40s' is not a number", text);
	if (errno || *ret_bytes > STORE_OBJECT_MAX)
		return error_set(err, -EBADMSG, "the answer's size '%.40s' is more than %" PRIu64 " bytes",
				 text, STORE_OBJECT_MAX);
	return 0;
}

static int64_t date(const char *text)
{
	struct tm tm = { 0 };

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

static int copy(const char *text, size_t bytes, char *out, size_t out_bytes, const char *what,
		struct error *err)
{
	if (bytes >= out_bytes)
		return error_set(err, -EBADMSG, "the answer's %s has %zu bytes, at most %zu are allowed",
				 what, bytes, out_bytes - 1);
	memcpy(out, text, bytes + 1);
	return 0;
}

static int entry_element(struct s3_reply *reply, const char *name, const char *text, size_t bytes,
			 struct error *err)
{
	struct s3_entry *entry = &reply->entry;

	if (!name[0])
		return end_entry(reply, err);
	if (!strcmp(name, "/Key"))
		return add_text(reply, text, bytes, &entry->key, err);
	if (!strcmp(name, "/UploadId"))
		return add_text(reply, text, bytes, &entry->upload_id, err);
	entry->sized |= !strcmp(name, "/Size");
	if (!strcmp(name, "/Size"))
		return s3_size_parse(text, &entry->pin.bytes, err);
	if (!strcmp(name, "/LastModified"))
		entry->mtime_s = date(text);
	if (!strcmp(name, "/VersionId"))
		s3_version_copy(text, entry->pin.version);
	if (!strcmp(name, "/IsLatest"))
		entry->old = strcmp(text, "true") != 0;
	if (!strcmp(name, "/ETag") && !s3_etag_copy(text, entry->pin.etag))
		return error_set(err, -EBADMSG, "the answer's ETag '%.40s' makes no sense", text);
	return 0;
}

static void error_element(struct s3_error *error, const char *name, const char *text)
{
	if (!strcmp(name, "/Code"))
		(void)snprintf(error->code, sizeof(error->code), "%s", text);
	else if (!strcmp(name, "/Message"))
		(void)snprintf(error->message, sizeof(error->message), "%s", text);
	else if (!strcmp(name, "/Region"))
		(void)snprintf(error->region, sizeof(error->region), "%s", text);
}

/* The elements of a page that are entries. */
static const char *const entries[] = { "/Contents", "/Upload", "/Version", "/DeleteMarker" };

static int page_element(struct s3_reply *reply, const char *name, const char *text, size_t bytes,
			struct error *err)
{
	size_t element = 1 + strcspn(name + (name[0] == '/'), "/");

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (strlen(entries[i]) == element && !strncmp(name, entries[i], element)) {
			if (!name[element] && !strcmp(entries[i], "/DeleteMarker"))
				reply->entry.old = true;
			return entry_element(reply, name + element, text, bytes, err);
		}
	if (!strcmp(name, "/IsTruncated")) {
		reply->truncated = !strcmp(text, "true");
		reply->says_truncated = reply->truncated || !strcmp(text, "false");
	} else if (!strcmp(name, "/EncodingType")) {
		reply->url_encoded = !strcmp(text, "url");
	} else if (!strcmp(name, "/NextContinuationToken") || !strcmp(name, "/NextKeyMarker")) {
		return copy(text, bytes, reply->token, sizeof(reply->token), "continuation token", err);
	} else if (!strcmp(name, "/NextUploadIdMarker") || !strcmp(name, "/NextVersionIdMarker")) {
		return copy(text, bytes, reply->upload_id, sizeof(reply->upload_id), "marker", err);
	}
	return 0;
}

static int upload_element(struct s3_reply *reply, const char *name, const char *text, size_t bytes,
			  struct error *err)
{
	if (!strcmp(name, "/UploadId"))
		return copy(text, bytes, reply->upload_id, sizeof(reply->upload_id), "upload id", err);
	if (!strcmp(name, "/ETag") && !s3_etag_copy(text, reply->etag))
		return error_set(err, -EBADMSG, "the answer's ETag '%.40s' makes no sense", text);
	return 0;
}

int s3_reply_element(void *context, const char *path, const char *text, size_t bytes, struct error *err)
{
	static const struct {
		const char *root;
		int (*element)(struct s3_reply *reply, const char *name, const char *text, size_t bytes,
			       struct error *err);
	} roots[] = {
		{ "ListBucketResult", page_element },
		{ "ListVersionsResult", page_element },
		{ "ListMultipartUploadsResult", page_element },
		{ "InitiateMultipartUploadResult", upload_element },
		{ "CompleteMultipartUploadResult", upload_element },
	};
	struct s3_reply *reply = context;
	size_t root = strcspn(path, "/");

	if (!path[root])
		(void)snprintf(reply->root, sizeof(reply->root), "%s", path);
	if (root == 5 && !strncmp(path, "Error", 5))
		error_element(&reply->error, path + root, text);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strlen(roots[i].root) == root && !strncmp(path, roots[i].root, root))
			return roots[i].element(reply, path + root, text, bytes, err);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes one byte. AWS encodes keys as HTML forms do: '+' for a space, "%2B" for a plus. */
static int decode_one(const char **text)
{
	const char *at = *text;
	int high, low;

	++*text;
	if (*at == '+')
		return ' ';
	if (*at != '%')
		return (unsigned char)*at;
	high = hex_digit(at[1]);
	low = high < 0 ? -1 : hex_digit(at[2]);
	if (low < 0)
		return -1;
	*text += 2;
	return high * 16 + low;
}

int s3_reply_key(const struct s3_reply *reply, const char *encoded, char out[static STORE_KEY_MAX + 1],
		 struct error *err)
{
	size_t used = 0;

	while (*encoded) {
		int byte = reply->url_encoded ? decode_one(&encoded) : (unsigned char)*encoded++;

		if (byte <= 0)
			return error_set(err, -EBADMSG, "a key in the list has a %s at byte %zu",
					 byte ? "wrong escape" : "NUL", used);
		if (used == STORE_KEY_MAX)
			return error_set(err, -EBADMSG, "a key in the list is longer than %u bytes",
					 STORE_KEY_MAX);
		out[used++] = (char)byte;
	}
	out[used] = 0;
	return 0;
}

void s3_error_parse(const char *text, size_t bytes, struct s3_error *ret_error)
{
	CLEANUP(s3_xml_closep) struct s3_xml *xml = NULL;
	struct s3_reply reply = { 0 };

	if (s3_xml_open(s3_reply_element, &reply, &xml, NULL) == 0)
		(void)!s3_xml_feed(xml, text, bytes, NULL);
	*ret_error = reply.error;
	s3_reply_done(&reply);
}
