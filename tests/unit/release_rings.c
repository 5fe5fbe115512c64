/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of all ranks are removed, except one that is open. */
#include "oneshot/boot/release.c" // NOLINT(bugprone-suspicious-include): programs make no archive

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char root[] = "/tmp/kiln-rings-XXXXXX";

static char *ring_of(unsigned rank, char out[static PATH_BYTES])
{
	(void)slot_use_rank(rank);
	(void)path_of(PATH_RING, NULL, out);
	(void)slot_use_rank(0);
	return out;
}

static struct ring *make_ring(unsigned rank)
{
	static const struct ring_geometry geometry = { .slots = 4,
						       .columns = 1,
						       .column = { { "empty", RING_UINT8, 1, 4096 } } };
	char path[PATH_BYTES];
	struct ring *ring;
	struct error err;

	if (ring_create(ring_of(rank, path), &geometry, 0, &ring, &err) < 0)
		fail_msg("%s", err.text);
	return ring;
}

static bool is_there(unsigned rank)
{
	char path[PATH_BYTES];

	return file_exists(ring_of(rank, path), NULL) > 0;
}

static void test_release_rings(void **state)
{
	char folder[PATH_BYTES];
	struct ring *open;
	struct error err;

	(void)state;
	assert_int_equal(path_make(path_of(PATH_HUGE, NULL, folder), &err), 0);
	assert_int_equal(release_rings(&err), 0);
	for (unsigned rank = 0; rank < CURSOR_PLACES_MAX; rank += CURSOR_PLACES_MAX - 1)
		ring_close(make_ring(rank));
	open = make_ring(2);
	assert_int_equal(release_rings(&err), -EBUSY);
	assert_non_null(strstr(err.text, "ring-2"));
	assert_true(!is_there(0) && is_there(2) && !is_there(CURSOR_PLACES_MAX - 1));
	ring_close(open);
	assert_int_equal(release_rings(&err), 0);
	assert_false(is_there(2));
	assert_int_equal(slot_rank(), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_release_rings) };
	char folder[PATH_BYTES];
	int failed;

	if (!mkdtemp(root) || setenv("KILN_ROOT", root, 1) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)snprintf(folder, sizeof(folder), "%s/run/kiln", root);
	(void)rmdir(folder);
	(void)snprintf(folder, sizeof(folder), "%s/run", root);
	return rmdir(folder) + rmdir(root) + failed;
}
