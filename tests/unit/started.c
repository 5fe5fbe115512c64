/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank a process is, as its launcher says in the environment. */
#include "core/ranks/started.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above. */
#include <cmocka.h>

static const char *const names[] = { "OMPI_COMM_WORLD_SIZE",
				     "OMPI_COMM_WORLD_RANK",
				     "OMPI_COMM_WORLD_LOCAL_RANK",
				     "OMPI_COMM_WORLD_LOCAL_SIZE",
				     "PMI_SIZE",
				     "PMI_RANK",
				     "MPI_LOCALRANKID",
				     "MPI_LOCALNRANKS",
				     "SLURM_STEP_NUM_TASKS",
				     "SLURM_PROCID",
				     "SLURM_LOCALID",
				     "SLURM_GTIDS" };

/* Sets the variables to the words of a text, in the order of `names`; "-" is no variable. */
static void set(const char *text)
{
	char copy[128], *rest = NULL, *word;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	word = strtok_r(copy, " ", &rest);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)unsetenv(names[i]);
		if (word && strcmp(word, "-") != 0)
			assert_int_equal(setenv(names[i], word, 1), 0);
		word = word ? strtok_r(NULL, " ", &rest) : NULL;
	}
}

static void launchers(void **state)
{
	static const struct {
		const char *variables;
		struct ranks_started expected;
	} cases[] = {
		{ "4 3 1 2", { 4, 3, 1, 2 } },
		{ "- - - - 2 0 0 1", { 2, 0, 0, 1 } },
		{ "- - - - - - - - 32 31 7 24,25,26,27,28,29,30,31", { 32, 31, 7, 8 } },
		{ "- - - - - - - - 4 3 0 3", { 4, 3, 0, 1 } },
		/* mpirun in an allocation of Slurm with one task a node. */
		{ "4 2 0 2 - - - - 2 1 0 1", { 4, 2, 0, 2 } },
		/* srun --mpi=pmi2. */
		{ "- - - - 2 1 - - 2 1 1 0,1", { 2, 1, 1, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ranks_started found;
		struct error err = { 0 };

		set(cases[i].variables);
		assert_int_equal(ranks_started(&found, &err), 0);
		assert_memory_equal(&found, &cases[i].expected, sizeof(found));
	}
}

static void wrong(void **state)
{
	static const struct {
		const char *variables, *words;
	} cases[] = {
		{ "", "found no launcher of ranks" },
		/* A batch script of Slurm. */
		{ "- - - - - - - - - 0 0 0", "found no launcher of ranks" },
		{ "4 4 0 1", "mpirun gives: OMPI_COMM_WORLD_RANK: found \"4\", expected 0 .. 3" },
		{ "4 - 0 1", "OMPI_COMM_WORLD_RANK: found \"\"" },
		{ "- 0 0 1", "found no launcher of ranks" },
		{ "33 0 0 1", "OMPI_COMM_WORLD_SIZE: found \"33\", expected 1 .. 32" },
		{ "0 0 0 1", "OMPI_COMM_WORLD_SIZE: found \"0\", expected 1 .. 32" },
		{ "4 2 1 1", "OMPI_COMM_WORLD_LOCAL_RANK: found \"1\", expected 0 .. 0" },
		{ "4 2 1 5", "OMPI_COMM_WORLD_LOCAL_SIZE: found \"5\", expected 1 .. 4" },
		{ "- - - - 2x 0 0 1", "PMI gives: PMI_SIZE: found \"2x\"" },
		{ "- - - - - - - - 2 -1 0 0", "srun gives: SLURM_PROCID: found \"-1\"" },
		{ "- - - - - - - - 2 1 0 -", "SLURM_GTIDS: found \"\", expected 1 .. 2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ranks_started found;
		struct error err = { 0 };

		set(cases[i].variables);
		assert_int_equal(ranks_started(&found, &err), -EINVAL);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(launchers), cmocka_unit_test(wrong) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
