/* SPDX-License-Identifier: Apache-2.0 */
/* How often the events client.refused and client.dropped are sent. */
#include "controld/serve/refusals.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

#define START_MS UINT64_C(5000)
#define TOO_MANY "refused: too many connections from this address"

/* Standard error goes to a file, whose text lines() gives back and empties. */
static int said = -1, real = -1;

static int setup(void **state)
{
	(void)state;
	said = memfd_create("stderr", 0);
	real = dup(STDERR_FILENO);
	return dup2(said, STDERR_FILENO) < 0;
}

static int teardown(void **state)
{
	(void)state;
	close_fd(&said);
	return dup2(real, STDERR_FILENO) < 0 || close(real) < 0;
}

static const char *lines(unsigned *ret_count)
{
	static char text[65536];
	ssize_t bytes = pread(said, text, sizeof(text) - 1, 0);

	assert_true(bytes >= 0);
	text[bytes] = '\0';
	*ret_count = 0;
	for (const char *c = text; *c; c++)
		*ret_count += *c == '\n';
	assert_int_equal(ftruncate(said, 0), 0);
	assert_int_equal(lseek(STDERR_FILENO, 0, SEEK_SET), 0);
	return text;
}

static void test_flood(void **state)
{
	struct refusals refusals = { 0 };
	unsigned count;

	(void)state;
	for (unsigned i = 0; i < 4257; i++)
		refusals_say(&refusals, false, "a client at 10.0.0.1", TOO_MANY, START_MS + i);
	assert_non_null(strstr(lines(&count), ": a client at 10.0.0.1: " TOO_MANY "\n"));
	assert_int_equal(count, 1);
	refusals_sweep(&refusals, START_MS + EVERY_MS - 1);
	(void)lines(&count);
	assert_int_equal(count, 0);
	refusals_sweep(&refusals, START_MS + EVERY_MS);
	assert_non_null(
		strstr(lines(&count), ": a client at 10.0.0.1: " TOO_MANY "; 4256 more within 60 s\n"));
	assert_int_equal(count, 1);
	refusals_sweep(&refusals, START_MS + EVERY_MS + 1000);
	(void)lines(&count);
	assert_int_equal(count, 0);
}

static void test_different_ones_are_told_apart(void **state)
{
	struct refusals refusals = { 0 };
	unsigned count;

	(void)state;
	refusals_say(&refusals, false, "user 1", "refused: a", START_MS);
	refusals_say(&refusals, false, "user 1", "refused: b", START_MS);
	refusals_say(&refusals, false, "user 2", "refused: a", START_MS);
	refusals_say(&refusals, true, "user 2", "refused: a", START_MS);
	(void)lines(&count);
	assert_int_equal(count, 4);
	/* A minute without another one: the next one is sent at once. */
	refusals_sweep(&refusals, START_MS + EVERY_MS);
	refusals_say(&refusals, false, "user 1", "refused: a", START_MS + EVERY_MS);
	(void)lines(&count);
	assert_int_equal(count, 1);
}

/* However many names and addresses strangers have, the journal gets a bounded number of entries. */
static void test_many_strangers(void **state)
{
	struct refusals refusals = { 0 };
	unsigned count;
	char more[64];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char who[64];

		(void)snprintf(who, sizeof(who), "a client at 10.0.%u.%u", i / 256, i % 256);
		refusals_say(&refusals, false, who, TOO_MANY, START_MS);
	}
	(void)lines(&count);
	assert_int_equal(count, REFUSALS_MAX);
	refusals_sweep(&refusals, START_MS + EVERY_MS);
	(void)snprintf(more, sizeof(more), "; %u more within 60 s\n", 1000 - REFUSALS_MAX);
	assert_non_null(strstr(lines(&count), more));
	assert_int_equal(count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_different_ones_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_strangers, setup, teardown),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
