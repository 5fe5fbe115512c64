/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* S3 API, ListObjectsV2, the example with a continuation token, with escapes as AWS sends them. */
static const char list[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
	"  <Name>bucket</Name>\n  <Prefix/>\n"
	"  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>\n"
	"  <KeyCount>2</KeyCount>\n  <EncodingType>url</EncodingType>\n  <IsTruncated>true</IsTruncated>\n"
	"  <Contents>\n    <Key>a+b%2Bc%C3%A9&amp;d%01</Key>\n"
	"    <LastModified>2013-05-24T00:00:00.000Z</LastModified>\n"
	"    <ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag>\n    "
	"<Size>9223372036854775807</Size>\n"
	"    <Owner><ID>x</ID></Owner>\n  </Contents>\n"
	"  <Contents><Key>%E2%82%AC</Key><Size>0</Size></Contents>\n"
	"</ListBucketResult>\n";

struct document {
	struct s3_xml *xml;
	struct s3_reply reply;
};

static int setup(void **state)
{
	struct document *document = calloc(1, sizeof(*document));
	struct error err = { 0 };

	assert_int_equal(s3_xml_open(s3_reply_element, &document->reply, &document->xml, &err), 0);
	*state = document;
	return 0;
}

static int teardown(void **state)
{
	struct document *document = *state;

	s3_xml_close(document->xml);
	s3_reply_done(&document->reply);
	free(document);
	return 0;
}

static int parse(struct document *document, const char *text, size_t bytes, size_t split, struct error *err)
{
	int rc;

	s3_xml_reset(document->xml);
	s3_reply_begin(&document->reply);
	rc = s3_xml_feed(document->xml, text, split, err);
	if (rc == 0)
		rc = s3_xml_feed(document->xml, text + split, bytes - split, err);
	return rc ? rc : s3_xml_finish(document->xml, err);
}

static void test_list(void **state)
{
	struct document *document = *state;
	const struct s3_reply *reply = &document->reply;
	char key[STORE_KEY_MAX + 1];
	struct error err = { 0 };

	for (size_t split = 0; split < sizeof(list); split++) {
		assert_int_equal(parse(document, list, sizeof(list) - 1, split, &err), 0);
		assert_int_equal(reply->count, 2);
		assert_true(reply->truncated);
		assert_string_equal(reply->token, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
		assert_int_equal(s3_reply_key(reply, reply->text + reply->entries[0].key, key, &err), 0);
		assert_string_equal(key, "a b+c\xc3\xa9&d\x01");
		assert_int_equal(reply->entries[0].pin.bytes, INT64_MAX);
		assert_string_equal(reply->entries[0].pin.etag, "70ee1738b6b21e2c8a43f3a5ab0eee71");
		assert_int_equal(reply->entries[0].mtime_s, 1369353600);
		assert_string_equal(reply->text + reply->entries[1].key, "%E2%82%AC");
		assert_string_equal(reply->entries[1].pin.etag, "");
	}
}

/* S3 API, ListObjectVersions: the newest version of a key comes first, and a delete marker is a version. */
static void test_versions(void **state)
{
	static const char text[] =
		"<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
		"<NextKeyMarker>c</NextKeyMarker><NextVersionIdMarker>v0</NextVersionIdMarker>"
		"<Version><Key>a+b</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest><Size>7</Size>"
		"<Owner><ID>x</ID></Owner></Version>"
		"<Version><Key>a+b</Key><VersionId>v1</VersionId><IsLatest>false</IsLatest></Version>"
		"<DeleteMarker><Key>b</Key><VersionId>v3</VersionId><IsLatest>true</IsLatest></DeleteMarker>"
		"<Version><Key>c</Key><VersionId>null</VersionId><IsLatest>true</IsLatest></Version>"
		"</ListVersionsResult>";
	struct document *document = *state;
	const struct s3_reply *reply = &document->reply;
	struct error err = { 0 };
	char longest[STORE_VERSION_MAX + 1], version[STORE_VERSION_MAX];

	assert_int_equal(parse(document, text, sizeof(text) - 1, 100, &err), 0);
	assert_int_equal(reply->count, 4);
	assert_string_equal(reply->entries[0].pin.version, "v2");
	assert_int_equal(reply->entries[0].pin.bytes, 7);
	assert_false(reply->entries[0].old);
	assert_true(reply->entries[1].old);
	assert_true(reply->entries[2].old);
	assert_string_equal(reply->entries[3].pin.version, "");
	assert_false(reply->entries[3].old);
	assert_string_equal(reply->token, "c");
	assert_string_equal(reply->upload_id, "v0");
	/* A version that is cut would be that of another object. */
	memset(longest, 'v', sizeof(longest));
	longest[STORE_VERSION_MAX] = 0;
	s3_version_copy(longest, version);
	assert_string_equal(version, "");
	s3_version_copy(longest + 1, version);
	assert_string_equal(version, longest + 1);
}

/* Any document that was cut is an error, never a shorter list. */
static void test_truncated(void **state)
{
	struct document *document = *state;
	struct error err = { 0 };

	for (size_t bytes = 0; bytes < sizeof(list) - 2; bytes++)
		assert_int_equal(parse(document, list, bytes, bytes / 2, &err), -EBADMSG);
}

static void test_errors(void **state)
{
	static const char text[] =
		"<?xml version=\"1.0\"?><Error><Code>AuthorizationHeaderMalformed</Code>"
		"<Message>the region &apos;x&apos; is wrong</Message><Region>eu-west-1</Region>"
		"<HostId>abc</HostId></Error>";
	struct s3_error error;

	(void)state;
	s3_error_parse(text, sizeof(text) - 1, &error);
	assert_string_equal(error.code, "AuthorizationHeaderMalformed");
	assert_string_equal(error.message, "the region 'x' is wrong");
	assert_string_equal(error.region, "eu-west-1");
	s3_error_parse(text, 90, &error); /* only 90 bytes: the text ends within the message */
	assert_string_equal(error.code, "AuthorizationHeaderMalformed");
	assert_string_equal(error.message, "");
	s3_error_parse("<html><Code>x</Code>", 20, &error);
	assert_string_equal(error.code, "");
	s3_error_parse("", 0, &error);
	assert_string_equal(error.code, "");
}

static void test_uploads(void **state)
{
	static const char text[] =
		"<ListMultipartUploadsResult><KeyMarker></KeyMarker><UploadIdMarker></UploadIdMarker>"
		"<NextKeyMarker>k%202</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker>"
		"<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
		"<Upload><Key>k%201</Key><UploadId>u1</UploadId></Upload>"
		"<Upload><Key>k%202</Key><UploadId>u2</UploadId></Upload></ListMultipartUploadsResult>";
	struct document *document = *state;
	const struct s3_reply *reply = &document->reply;
	struct error err = { 0 };

	assert_int_equal(parse(document, text, sizeof(text) - 1, 7, &err), 0);
	assert_int_equal(reply->count, 2);
	assert_string_equal(reply->text + reply->entries[1].key, "k%202");
	assert_string_equal(reply->text + reply->entries[1].upload_id, "u2");
	assert_string_equal(reply->token, "k%202");
	assert_string_equal(reply->upload_id, "u2");
}

static void test_etags(void **state)
{
	static const struct {
		const char *text, *etag;
	} cases[] = {
		{ "", "" },           { "abc", "abc" }, { "\"abc\"", "abc" }, { "W/\"abc\"", "abc" },
		{ "\"a-2\"", "a-2" }, { "\"", NULL },   { "\"a\"b\"", NULL },
	};
	char etag[STORE_ETAG_MAX], longest[STORE_ETAG_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(s3_etag_copy(cases[i].text, etag), cases[i].etag != NULL);
		if (cases[i].etag)
			assert_string_equal(etag, cases[i].etag);
	}
	memset(longest, 'e', STORE_ETAG_MAX);
	longest[STORE_ETAG_MAX] = 0;
	assert_false(s3_etag_copy(longest, etag));
	assert_true(s3_etag_copy(longest + 1, etag));
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text, *words;
		uint64_t bytes;
	} cases[] = {
		{ "0", NULL, 0 },
		{ "9223372036854775807", NULL, INT64_MAX },
		{ "9223372036854775808", "is more than 9223372036854775807 bytes", 0 },
		{ "18446744073709551615", "is more than 9223372036854775807 bytes", 0 },
		{ "18446744073709551616", "is more than 9223372036854775807 bytes", 0 },
		{ "", "is not a number", 0 },
		{ "-1", "is not a number", 0 },
		{ "1e3", "is not a number", 0 },
	};
	struct document *document = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		char text[128];
		int length = snprintf(text, sizeof(text),
				      "<ListBucketResult><Contents><Key>k</Key><Size>%s</Size></Contents>"
				      "</ListBucketResult>",
				      cases[i].text);

		assert_int_equal(parse(document, text, (size_t)length, 9, &err),
				 cases[i].words ? -EBADMSG : 0);
		if (cases[i].words)
			assert_non_null(strstr(err.text, cases[i].words));
		else
			assert_int_equal(document->reply.entries[0].pin.bytes, cases[i].bytes);
	}
}

static void test_limits(void **state)
{
	static const char deep[] = "<a><a><a><a><a><a><a><a><a>";
	struct document *document = *state;
	const size_t size = S3_XML_TEXT_MAX + 64;
	char *text = malloc(size);
	struct error err = { 0 };

	/* The longest text that is allowed, and one byte more. */
	for (size_t more = 0; more < 2; more++) {
		int bytes = snprintf(text, size, "<a>%*s</a>", (int)(S3_XML_TEXT_MAX + more), "x");

		assert_int_equal(parse(document, text, (size_t)bytes, 100, &err), more ? -EBADMSG : 0);
	}
	assert_int_equal(parse(document, deep, sizeof(deep) - 1, 1, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "deep"));
	assert_int_equal(parse(document, "<!DOCTYPE a><a/>", 16, 1, &err), -EBADMSG);
	free(text);
}

/* Feeds the text again and again; returns the first error. *ret_bytes is how many bytes it took. */
static int flood(struct document *document, const char *first, const char *again, size_t *ret_bytes,
		 struct error *err)
{
	size_t bytes = strlen(again);
	int rc;

	s3_xml_reset(document->xml);
	s3_reply_begin(&document->reply);
	*ret_bytes = strlen(first);
	for (rc = s3_xml_feed(document->xml, first, *ret_bytes, err); rc == 0 && *ret_bytes < (64u << 20);
	     *ret_bytes += bytes)
		rc = s3_xml_feed(document->xml, again, bytes, err);
	return rc;
}

/* Whatever repeats without end is refused. What expat holds at a time is refused much sooner than a document
 * of many parts. */
static void test_floods(void **state)
{
	static const struct {
		const char *first, *again, *words;
		size_t most;
	} cases[] = {
		{ "<ListBucketResult a='", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "memory", 2 * S3_XML_MEMORY_MAX },
		{ "<!-- ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "memory", 2 * S3_XML_MEMORY_MAX },
		{ "<", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "memory", 2 * S3_XML_MEMORY_MAX },
		{ "<a>", "<!-- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -->",
		  "bytes", S3_XML_BYTES_MAX + 100 },
		{ "<ListBucketResult>",
		  "<Contents><Key>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</Key></Contents>", "entries",
		  S3_ENTRIES_MAX * 100 },
		{ "<ListBucketResult><Contents>", "<Key>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</Key>",
		  "two keys", 1000 },
		{ "<ListMultipartUploadsResult><Upload>", "<UploadId>aaaaaaaaaaaaaaaaaaaaa</UploadId>",
		  "two ids", 1000 },
	};
	struct document *document = *state;
	size_t bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(flood(document, cases[i].first, cases[i].again, &bytes, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].words) || bytes > cases[i].most)
			fail_msg("case %zu after %zu bytes: %s", i, bytes, err.text);
	}
	/* Names of elements and attributes, each another one: expat keeps all of them. */
	for (int attributes = 0; attributes < 2; attributes++) {
		struct error err = { 0 };
		char text[64];
		int rc;

		s3_xml_reset(document->xml);
		s3_reply_begin(&document->reply);
		rc = s3_xml_feed(document->xml, "<a>", 3, &err);
		for (bytes = 0; rc == 0 && bytes < S3_XML_BYTES_MAX; bytes += strlen(text)) {
			(void)snprintf(text, sizeof(text), attributes ? "<a b%zu=''/>" : "<b%zu/>", bytes);
			rc = s3_xml_feed(document->xml, text, strlen(text), &err);
		}
		assert_int_equal(rc, -EBADMSG);
		assert_non_null(strstr(err.text, "memory"));
	}
	/* After a refusal the parser works again. */
	assert_int_equal(parse(document, list, sizeof(list) - 1, 5, &(struct error){ 0 }), 0);
}

static void test_roots(void **state)
{
	static const struct {
		const char *text, *root;
		int code;
	} cases[] = {
		{ "<ListBucketResult/>", "ListBucketResult", 0 },
		{ "<a><ListBucketResult/></a>", "a", 0 },
		{ "<html><body/></html>", "", -ENONET },
		{ "<HTML>", "", -ENONET },
		{ "<!doctype html>", "", -EBADMSG },
		{ "<!DOCTYPE html><html>", "", -ENONET },
		{ "<a><html/></a>", "a", 0 },
	};
	struct document *document = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(parse(document, cases[i].text, strlen(cases[i].text), 1, &err),
				 cases[i].code);
		assert_string_equal(document->reply.root, cases[i].root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
		cmocka_unit_test(test_errors),
		cmocka_unit_test_setup_teardown(test_uploads, setup, teardown),
		cmocka_unit_test(test_etags),
		cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_floods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_roots, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
