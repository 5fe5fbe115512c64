/* SPDX-License-Identifier: Apache-2.0 */
/* The words and the environment of mpirun and of orted. */
#include "core/ranks/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const program[] = { "/usr/libexec/kiln/kiln-traind", "--rank-from-env", NULL };
static const struct ranks_box boxes[] = { { "box-1", 2 }, { "box-2", 1 }, { "box-3", 4 } };
static const struct ranks_launch three = {
	.job = { "night-1", "/run/kiln/rank-night-1", "10.7.0.0/24", "/usr/libexec/kiln/kiln-oneshot" },
	.pki = "/run/credentials/x",
	.boxes = boxes,
	.count = 3,
	.program = program,
};

static void expect(const struct ranks_texts *texts, const char *const *expected, size_t count)
{
	assert_int_equal(texts->count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(texts->text[i], expected[i]);
	assert_null(texts->text[count]);
}
#define EXPECT(texts, ...)                                                          \
	do {                                                                        \
		static const char *const expected_[] = { __VA_ARGS__ };             \
		expect(texts, expected_, sizeof(expected_) / sizeof(expected_[0])); \
	} while (0)

/* In parentheses two strings that are one do not look like a forgotten comma. */
#define FOLDER(folder)                                                           \
	("HOME=" folder), ("TMPDIR=" folder), "HWLOC_PLUGINS_PATH=/nonexistent", \
		("OMPI_MCA_orte_tmpdir_base=" folder), "OMPI_MCA_pml=ob1",       \
		("OMPI_MCA_btl_vader_backing_directory=" folder),                \
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_hwloc_base_binding_policy=none"
#define COMMON                                                                                        \
	FOLDER("/run/kiln/rank-night-1"), "PATH=/usr/bin", "OMPI_MCA_oob_tcp_if_include=10.7.0.0/24", \
		"OMPI_MCA_btl_tcp_if_include=10.7.0.0/24", "OMPI_MCA_btl=self,vader,tcp",             \
		"OMPI_MCA_oob_tcp_keepalive_time=10", "OMPI_MCA_oob_tcp_keepalive_intvl=5",           \
		"OMPI_MCA_oob_tcp_keepalive_probes=4",                                                \
		"OMPI_MCA_plm_rsh_agent=/usr/libexec/kiln/kiln-oneshot ranks-agent"

static void test_mpirun(void **state)
{
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	struct error err = { 0 };

	(void)state;
	if (ranks_mpirun(&three, &words, &environment, &err) < 0)
		fail_msg("%s", err.text);
	EXPECT(&words, "mpirun", "-n", "7", "--host", "box-1:2,box-2:1,box-3:4",
	       "/usr/libexec/kiln/kiln-traind", "--rank-from-env");
	EXPECT(&environment, COMMON, "KILN_JOB=night-1", "KILN_PKI=/run/credentials/x", "OMPI_MCA_plm=rsh",
	       "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_routed=direct",
	       "OMPI_MCA_plm_rsh_pass_environ_mca_params=0", "OMPI_MCA_orte_leave_session_attached=1",
	       "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_ALLOW_RUN_AS_ROOT=1",
	       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

static void test_orted(void **state)
{
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ranks_orted_environment(&three.job, &environment, &err), 0);
	EXPECT(&environment, COMMON, "KILN_FOLLOWS=1");
}

static void test_alone(void **state)
{
	static const struct ranks_alone alone = { .ranks = 3, .folder = "/run/x", .program = program };
	CLEANUP(ranks_texts_done) struct ranks_texts words = { .count = 0 };
	CLEANUP(ranks_texts_done) struct ranks_texts environment = { .count = 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ranks_mpirun_alone(&alone, &words, &environment, &err), 0);
	EXPECT(&words, "mpirun", "-n", "3", "/usr/libexec/kiln/kiln-traind", "--rank-from-env");
	EXPECT(&environment, FOLDER("/run/x"), "OMPI_MCA_btl=self,vader", "OMPI_MCA_oob_tcp_if_include=lo",
	       "OMPI_MCA_plm=isolated", "OMPI_MCA_ras=^slurm,gridengine",
	       "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_ALLOW_RUN_AS_ROOT=1",
	       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

static void test_refused(void **state)
{
	static const struct ranks_box none[] = { { "box-1", 1 }, { "box-2", 0 } };
	static const char *many[RANKS_LISTED_MAX + 1];
	struct ranks_texts words = { .count = 0 }, environment = { .count = 0 };
	struct ranks_launch launch = three;
	struct error err = { 0 };

	(void)state;
	launch.boxes = none;
	launch.count = 2;
	assert_int_equal(ranks_mpirun(&launch, &words, &environment, &err), -EINVAL);
	assert_string_equal(err.text, "job night-1: box box-2 has no rank, expected 1 or more");
	launch.count = 0;
	assert_int_equal(ranks_mpirun(&launch, &words, &environment, &err), -EINVAL);
	assert_string_equal(err.text, "job night-1: it has no box");
	launch = three;
	for (size_t i = 0; i < RANKS_LISTED_MAX; i++)
		many[i] = "x";
	launch.program = many;
	assert_int_equal(ranks_mpirun(&launch, &words, &environment, &err), -EINVAL);
	assert_int_equal(words.count + environment.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpirun),
		cmocka_unit_test(test_orted),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_refused),
	};

	(void)unsetenv("KILN_ROOT");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
