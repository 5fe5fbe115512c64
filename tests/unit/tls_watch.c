/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/tls/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HELLO   "\x16\x03\x01\x00\x06\x01\x00\x00\x02\xaa\xbb"
#define MINE    "\x00\x00\x03me!"
#define OURS    "\x00\x00\x04ours"
#define ALSO    "\x00\x00\x04oust"
#define FOREIGN "\x00\x00\x04ouzo"
#define WARNING "\x15\x03\x03\x00\x02\x01\x5a"

static const struct {
	const char *label, *bytes;
	size_t count;
	bool passes;
} cases[] = {
#define CASE(label, bytes, passes)                      \
	{                                               \
		label, bytes, sizeof(bytes) - 1, passes \
	}
	CASE("a hello alone", HELLO, true),
	CASE("no certificate", HELLO "\x16\x03\x03\x00\x07\x0b\x00\x00\x03\x00\x00\x00", true),
	CASE("its own", HELLO "\x16\x03\x03\x00\x0d\x0b\x00\x00\x09\x00\x00\x06" MINE, true),
	CASE("its own, and a message in the same record",
	     HELLO "\x16\x03\x03\x00\x13\x0b\x00\x00\x09\x00\x00\x06" MINE "\x10\x00\x00\x02zz", true),
	CASE("its own, and an authority's",
	     HELLO "\x16\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x0d" MINE OURS, true),
	CASE("its own, and both authorities'",
	     HELLO "\x16\x03\x03\x00\x1b\x0b\x00\x00\x17\x00\x00\x14" MINE ALSO OURS, true),
	CASE("a foreign one after its own",
	     HELLO "\x16\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x0d" MINE FOREIGN, false),
	CASE("a foreign one of another length",
	     HELLO "\x16\x03\x03\x00\x13\x0b\x00\x00\x0f\x00\x00\x0c" MINE MINE, false),
	CASE("a foreign one after an authority's",
	     HELLO "\x16\x03\x03\x00\x1b\x0b\x00\x00\x17\x00\x00\x14" MINE OURS FOREIGN, false),
	CASE("an empty one after its own",
	     HELLO "\x16\x03\x03\x00\x10\x0b\x00\x00\x0c\x00\x00\x09" MINE "\x00\x00\x00", false),
	CASE("an authority's four times",
	     HELLO "\x16\x03\x03\x00\x29\x0b\x00\x00\x25\x00\x00\x22" MINE OURS OURS OURS OURS, false),
	CASE("a foreign one, in three records, one of them empty",
	     HELLO
	     "\x16\x03\x03\x00\x02\x0b\x00\x16\x03\x03\x00\x00\x16\x03\x03\x00\x12\x00\x10\x00\x00\x0d" MINE
		     FOREIGN,
	     false),
	CASE("a foreign one after warnings",
	     HELLO WARNING WARNING "\x16\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x0d" MINE FOREIGN, false),
	CASE("a foreign one after other messages in the same record",
	     HELLO
	     "\x16\x03\x03\x00\x1d\x0e\x00\x00\x00\x10\x00\x00\x01q\x0b\x00\x00\x10\x00\x00\x0d" MINE FOREIGN,
	     false),
	CASE("lengths of the list that are wrong",
	     HELLO "\x16\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x06" MINE FOREIGN, false),
	CASE("what looks like certificates, and is encrypted",
	     HELLO "\x14\x03\x03\x00\x01\x01\x16\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x0d" MINE FOREIGN,
	     true),
	CASE("what looks like certificates, in a warning",
	     HELLO "\x15\x03\x03\x00\x14\x0b\x00\x00\x10\x00\x00\x0d" MINE FOREIGN, true),
#undef CASE
};

/* Passes the bytes in pieces of `piece` bytes. */
static bool passes(const char *bytes, size_t count, size_t piece)
{
	static unsigned char ours[] = "ours", also[] = "oust";
	mbedtls_x509_crt second = { .raw = { .len = 4, .p = also } };
	const mbedtls_x509_crt first = { .raw = { .len = 4, .p = ours }, .next = &second };
	struct tls_watch watch = { 0 };

	for (size_t at = 0; at < count; at += piece) {
		const size_t left = count - at;

		if (!tls_watch_pass(&watch, &first, (const uint8_t *)bytes + at, left < piece ? left : piece))
			return false;
	}
	return true;
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece <= cases[i].count; piece++)
			if (passes(cases[i].bytes, cases[i].count, piece) != cases[i].passes)
				fail_msg("%s, in pieces of %zu bytes", cases[i].label, piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
