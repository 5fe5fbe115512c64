/* SPDX-License-Identifier: Apache-2.0 */
/* The build id of this very program, and notes of other forms. tests/system/compare.sh compares the id with
 * that of readelf. */
#include "core/base/build.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_own(void **state)
{
	char id[BUILD_ID_BYTES], again[BUILD_ID_BYTES];

	(void)state;
	assert_int_equal(strlen(build_id(id)), BUILD_ID_BYTES - 1);
	assert_int_equal(strspn(id, "0123456789abcdef"), BUILD_ID_BYTES - 1);
	assert_string_equal(build_id(again), id);
}

/* The file of this program has the id that the program finds in its own memory. Other files have none. */
static void test_file(void **state)
{
	char id[BUILD_ID_BYTES], own[BUILD_ID_BYTES];
	struct error err = { 0 };
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;

	(void)state;
	assert_int_equal(build_id_of("/proc/self/exe", id, &err), 0);
	assert_string_equal(id, build_id(own));
	assert_int_equal(build_id_of("/etc/passwd", id, &err), -EBADMSG);
	assert_int_equal(build_id_of("/nonexistent", id, &err), -ENOENT);
	/* A file that is cut anywhere in its head is read without harm. */
	assert_int_equal(file_read("/proc/self/exe", PROGRAM_MAX, &data, &bytes, &err), 0);
	for (size_t cut = 0; cut < 2048; cut++) {
		CLEANUP(free_ptr) uint8_t *part = malloc(cut + 1);

		assert_non_null(part);
		memcpy(part, data, cut);
		*id = '\0';
		read_file(part, cut, id);
	}
}

static size_t put(uint8_t *at, uint32_t type, const char *owner, const void *id, uint32_t bytes)
{
	const uint32_t head[] = { (uint32_t)strlen(owner) + 1, bytes, type };

	memcpy(at, head, sizeof(head));
	memcpy(at + sizeof(head), owner, head[0]);
	memcpy(at + padded(sizeof(head) + head[0], 4), id, bytes);
	return padded(padded(sizeof(head) + head[0], 4) + bytes, 4);
}

static void test_notes(void **state)
{
	static const uint8_t too_long[128];
	uint8_t notes[256] = { 0 };
	char id[BUILD_ID_BYTES] = "";
	size_t bytes = put(notes, NT_GNU_BUILD_ID, "Other", "\x01\x02", 2), end;

	(void)state;
	bytes += put(notes + bytes, NT_GNU_ABI_TAG, "GNU", "abcd", 4);
	read_notes(notes, bytes, 4, id);
	assert_string_equal(id, "");
	end = bytes + put(notes + bytes, NT_GNU_BUILD_ID, "GNU", "\xab\xcd\xef", 3);
	for (size_t cut = 0; cut < end; cut++)
		read_notes(notes, cut, 4, id);
	assert_string_equal(id, "");
	read_notes(notes, end, 4, id);
	assert_string_equal(id, "abcdef");
	(void)put(notes, NT_GNU_BUILD_ID, "GNU", too_long, sizeof(too_long));
	read_notes(notes, sizeof(notes), 4, id);
	assert_int_equal(strlen(id), BUILD_ID_BYTES - 1); /* its beginning */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_own), cmocka_unit_test(test_file),
					    cmocka_unit_test(test_notes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
