/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_redirect.c" // NOLINT(bugprone-suspicious-include): its statics
#include "drivers/store/s3_error.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define AWS "https://b.s3.amazonaws.com/k%2F1"

static const struct {
	const char *label, *from, *to;
	bool tls, aws;
	enum http_method method;
	int code;
	const char *location, *host;
} cases[] = {
	{ "presigned, another host", "http://a:1/b/k", "http://h:2/x?X-Amz-Signature=s%2F", false, false,
	  HTTP_GET, HTTP_AGAIN, "http://h:2/x?X-Amz-Signature=s%2F", "" },
	{ "relative", "http://a:1/b/k", "/other//../x?Signature=1", false, false, HTTP_GET, HTTP_AGAIN,
	  "http://a:1/other//../x?Signature=1", "" },
	{ "to https", "http://a:1/b/k", "https://h/x", false, false, HTTP_GET, HTTP_AGAIN, "https://h/x",
	  "" },
	{ "from https to http", "https://a:1/b/k", "http://h/x", true, false, HTTP_GET, -EBADMSG, "", "" },
	{ "to a file", "http://a:1/b/k", "file:///etc/passwd", false, false, HTTP_GET, -EBADMSG, "", "" },
	{ "to ftp", "http://a:1/b/k", "ftp://h/x", false, false, HTTP_GET, -EBADMSG, "", "" },
	{ "no URL", "http://a:1/b/k", "http://", false, false, HTTP_GET, -EBADMSG, "", "" },
	{ "AWS: the bucket's other endpoint", AWS, "https://b.s3-us-west-2.amazonaws.com/k%2F1", true, true,
	  HTTP_GET, HTTP_AGAIN, "", "b.s3-us-west-2.amazonaws.com" },
	{ "AWS: with a query of ours", AWS, "https://b.s3-us-west-2.amazonaws.com/?list-type=2", true, true,
	  HTTP_GET, HTTP_AGAIN, "", "b.s3-us-west-2.amazonaws.com" },
	{ "AWS: presigned", AWS, "https://b.s3.amazonaws.com/x?X-Amz-Signature=1", true, true, HTTP_GET,
	  HTTP_AGAIN, "https://b.s3.amazonaws.com/x?X-Amz-Signature=1", "" },
	{ "AWS: not theirs, so not signed", AWS, "https://amazonaws.com.evil/x", true, true, HTTP_GET,
	  HTTP_AGAIN, "https://amazonaws.com.evil/x", "" },
	{ "AWS: a customer's gateway, so not signed", AWS, "https://a.execute-api.us-east-1.amazonaws.com/x",
	  true, true, HTTP_GET, HTTP_AGAIN, "https://a.execute-api.us-east-1.amazonaws.com/x", "" },
	{ "AWS: a write to a customer's gateway", AWS, "https://s3x.execute-api.us-east-1.amazonaws.com/x",
	  true, true, HTTP_PUT, -ENONET, "", "" },
	{ "another store names AWS: not signed for it", "https://a/b/k", "https://b.s3.amazonaws.com/k", true,
	  false, HTTP_GET, HTTP_AGAIN, "https://b.s3.amazonaws.com/k", "" },
	{ "a write to another host", "http://a:1/b/k", "http://h:1/b/k", false, false, HTTP_PUT, -ENONET, "",
	  "" },
	{ "a write to another port", "http://a:1/b/k", "http://a:2/b/k", false, false, HTTP_POST, -ENONET, "",
	  "" },
	{ "a write to a presigned URL", "http://a:1/b/k", "http://h/k?X-Amz-Signature=1", false, false,
	  HTTP_DELETE, -ENONET, "", "" },
	{ "a write on its own host", "http://a:80/b/k", "http://A/c", false, false, HTTP_PUT, HTTP_AGAIN,
	  "http://A/c", "" },
	{ "AWS: a write to the bucket's other endpoint", AWS, "https://b.s3-us-west-2.amazonaws.com/k%2F1",
	  true, true, HTTP_PUT, HTTP_AGAIN, "", "b.s3-us-west-2.amazonaws.com" },
};

static void test_locations(void **state)
{
	struct s3_call *call = calloc(1, sizeof(*call));
	struct s3_store *s3 = calloc(1, sizeof(*s3));

	(void)state;
	call->s3 = s3;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };

		s3->tls = cases[i].tls;
		s3->aws = cases[i].aws;
		call->method = cases[i].method;
		call->location[0] = call->host[0] = 0;
		(void)snprintf(call->http.url, sizeof(call->http.url), "%s", cases[i].from);
		if (read_location(call, cases[i].to, &err) != cases[i].code ||
		    strcmp(call->location, cases[i].location) != 0 || strcmp(call->host, cases[i].host) != 0)
			fail_msg("%s: '%s' '%s' %s", cases[i].label, call->location, call->host, err.text);
	}
	free(call);
	free(s3);
}

/* After a redirect the first ETag counts, for each of many keys. */
static void test_seen(void **state)
{
	struct s3_call *call = calloc(1, sizeof(*call));
	struct s3_store *s3 = calloc(1, sizeof(*s3));
	struct error err = { 0 };
	char key[16], etag[16];

	(void)state;
	call->s3 = s3;
	call->key = key;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			(void)snprintf(key, sizeof(key), "k%d", i);
			(void)snprintf(etag, sizeof(etag), "e%d", i);
			assert_int_equal(s3_seen_check(call, etag, &err), 0);
		}
	assert_int_equal(s3_seen_check(call, "other", &err), -ESTALE);
	assert_int_equal(s3->seen.used, 5000);
	free(s3->seen.slots);
	free(call);
	free(s3);
}

/* A redirect may have a user and a password; an error has the host only. */
static void test_names_no_user(void **state)
{
	static const struct {
		const char *url, *end;
	} errors[] = {
		{ "http://h:2/x", "; after a redirect to h:2" },
		{ "http://u:p@h:2/x", "; after a redirect to h:2" },
		{ "http://u:p@q@h?a@b", "; after a redirect to h" },
		{ "http://h/a@b", "; after a redirect to h" },
	};
	struct s3_call *call = calloc(1, sizeof(*call));
	struct s3_store *s3 = calloc(1, sizeof(*s3));

	(void)state;
	call->s3 = s3;
	call->redirected = true;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		enum retry_class retry = RETRY_NEVER;
		struct error err = { 0 };
		char text[128];

		call->http.status = 403;
		(void)snprintf(call->http.url, sizeof(call->http.url), "%s", errors[i].url);
		(void)snprintf(text, sizeof(text), "the server answers 403%s", errors[i].end);
		assert_int_equal(s3_error_judge(call, &retry, &err), -EACCES);
		assert_string_equal(err.text, text);
	}
	free(call);
	free(s3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_seen),
		cmocka_unit_test(test_names_no_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
