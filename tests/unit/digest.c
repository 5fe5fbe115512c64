/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Known answers: FIPS 180-2, appendix B, and the empty message. */
static const struct {
	const char *message, *hex;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static const char million_hex[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void known_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char hex[DIGEST_HEX_BYTES];

		digest_sha256(vectors[i].message, strlen(vectors[i].message), hex);
		assert_string_equal(hex, vectors[i].hex);
	}
}

static void in_pieces(void **state)
{
	const char *message = vectors[2].message;

	(void)state;
	for (size_t first = 0; first <= strlen(message); first++) {
		struct digest *digest = digest_begin();
		char hex[DIGEST_HEX_BYTES];

		assert_non_null(digest);
		digest_add(digest, message, first);
		digest_add(digest, message + first, strlen(message) - first);
		digest_end(digest, hex);
		assert_string_equal(hex, vectors[2].hex);
	}
}

static void a_file_of_a_million(void **state)
{
	char path[] = "/tmp/kiln-digest-XXXXXX", hex[DIGEST_HEX_BYTES];
	struct error err = { 0 };
	FILE *file = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(fputc('a', file), 'a');
	assert_int_equal(fclose(file), 0);
	assert_int_equal(digest_file(path, hex, &err), 0);
	assert_string_equal(hex, million_hex);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(digest_file(path, hex, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(a_file_of_a_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
