/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses everything that an S3 server may send except the bytes of objects, and a credential file. The first
 * byte of the input is the kind of the rest: L an XML document (the next byte: where it is split in two), E
 * the beginning of an error, R a Content-Range, T an ETag, C a credential file.
 */
#include "drivers/http/range.h"
#include "drivers/store/credential.h"
#include "drivers/store/s3_reply.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_document(const char *text, size_t bytes, size_t split)
{
	CLEANUP(s3_xml_closep) struct s3_xml *xml = NULL;
	CLEANUP(s3_reply_done) struct s3_reply reply = { 0 };
	char key[STORE_KEY_MAX + 1];
	struct error err;

	if (split > bytes)
		split = bytes;
	if (s3_xml_open(s3_reply_element, &reply, &xml, &err) < 0)
		return;
	s3_reply_begin(&reply);
	if (s3_xml_feed(xml, text, split, &err) || s3_xml_feed(xml, text + split, bytes - split, &err) ||
	    s3_xml_finish(xml, &err))
		return;
	for (uint32_t i = 0; i < reply.count; i++)
		if (s3_reply_key(&reply, reply.text + reply.entries[i].key, key, &err) == 0 &&
		    strlen(key) > STORE_KEY_MAX)
			abort();
}

static void try_range(const char *text)
{
	struct http_range range;

	if (http_range_parse(text, &range) == 0 && range.first != HTTP_RANGE_UNKNOWN &&
	    (range.first > range.last || range.last >= range.total))
		abort();
}

static void try_credential(const char *text)
{
	struct credential credential;
	struct error err;

	if (credential_parse("name", text, &credential, &err) == 0 &&
	    (!credential.access_key_id[0] || strpbrk(credential.secret_access_key, " \r\n")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct s3_error error;
	char etag[STORE_ETAG_MAX];

	if (size < 2)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	if (data[0] == 'L')
		try_document((const char *)data + 2, size - 2, data[1]);
	else if (data[0] == 'E')
		s3_error_parse((const char *)data + 1, size - 1, &error);
	else if (data[0] == 'R')
		try_range(text);
	else if (data[0] == 'T')
		(void)s3_etag_copy(text, etag);
	else if (data[0] == 'C')
		try_credential(text);
	return 0;
}
