/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of orted that another box may send. */
#include "core/ranks/orted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 40u

/* What mpirun of Open MPI 4.1.4 gave to its agent for the third of four boxes. */
#define ATTACHED "-mca orte_leave_session_attached 1 "
#define START    ATTACHED "-mca ess env -mca ess_base_jobid 469565440 "
#define PLACE    "-mca ess_base_vpid 2 -mca ess_base_num_procs 4 "
#define NODES    "-mca orte_node_regex vm,box-[1:1-3]@0(4) "
#define URI      "-mca orte_hnp_uri 469565440.0;tcp://10.7.0.1:42949 "
#define END      "-mca plm rsh"

static int check(const char *text, struct orted_job *ret_job, struct error *err)
{
	const struct cidr network = { 0x0a070000, 24 };
	const char *words[WORDS_MAX];
	char copy[4096], *rest = copy, *word;
	size_t count = 0;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " "))) {
		assert_true(count < WORDS_MAX);
		words[count++] = word;
	}
	return orted_check(words, *text ? count : 0, &network, ret_job, err);
}

static void test_good(void **state)
{
	static const char *const good[] = {
		START PLACE NODES URI END,
		START PLACE URI END,
		"--mca plm rsh " START PLACE NODES "-mca orte_hnp_uri 469565440.0;tcp://10.7.0.254:1",
		START PLACE "-mca orte_hnp_uri 469565440.0;tcp://10.7.0.1,10.7.0.9:65535 " END,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct orted_job job = { 0 };
		struct error err = { 0 };

		if (check(good[i], &job, &err) < 0)
			fail_msg("%s\nrefused: %s", good[i], err.text);
		assert_int_equal(job.id, 469565440);
		assert_int_equal(job.vpid, 2);
		assert_int_equal(job.count, 4);
	}
}

#define HNP(value) START PLACE "-mca orte_hnp_uri " value " " END
#define WITH(more) START PLACE URI END " " more

static const struct {
	const char *label, *words, *text;
} bad[] = {
	{ "nothing", "", "option ess is missing" },
	{ "half an option", START PLACE URI "-mca plm", "found 20 arguments, allowed: at most 24" },
	{ "too many", START PLACE NODES URI END " -mca ess env", "found 27 arguments" },
	{ "another option", WITH("--debug-daemons a b"), "argument 22 of orted: found \"--debug-daemons\"" },
	{ "-gmca", WITH("-gmca plm rsh"), "argument 22 of orted: found \"-gmca\"" },
	{ "a name twice", WITH("-mca plm rsh"), "argument 23 of orted: found \"plm\" twice" },
	{ "a program as orted", WITH("-mca orte_launch_agent /tmp/x"),
	  "argument 23 of orted: found \"orte_launch_agent\", allowed: ess, ess_base_jobid, " },
	{ "a library", WITH("-mca mca_base_component_path /tmp"), "found \"mca_base_component_path\"" },
	{ "a program as agent", WITH("-mca plm_rsh_agent /tmp/x"), "found \"plm_rsh_agent\"" },
	{ "a file of parameters", WITH("-mca mca_base_param_files /tmp/x"),
	  "found \"mca_base_param_files\"" },
	{ "a name in capitals", WITH("-mca PLM rsh"), "found \"PLM\"" },
	{ "no name", WITH("-mca  rsh"), "argument 23 of orted: found \"\"" },
	{ "another ess", "-mca ess hnp " ATTACHED "-mca ess_base_jobid 1 " PLACE URI END,
	  "argument 3 of orted: ess: found \"hnp\", allowed: env" },
	{ "another plm", START PLACE URI "-mca plm slurm",
	  "argument 21 of orted: plm: found \"slurm\", allowed: rsh" },
	{ "two plm", START PLACE URI "-mca plm rsh,slurm", "allowed: rsh" },
	{ "orted would leave its unit", "-mca orte_leave_session_attached 0 -mca ess env " URI END,
	  "ess_base_jobid is missing" },
	{ "a detached orted",
	  "-mca orte_leave_session_attached 0 -mca ess env -mca ess_base_jobid 469565440 " PLACE URI END,
	  "orte_leave_session_attached: found \"0\", allowed: 1" },
	{ "no URI", START PLACE END, "option orte_hnp_uri is missing" },
	{ "job 0", ATTACHED "-mca ess env -mca ess_base_jobid 0 " PLACE URI END,
	  "ess_base_jobid: found \"0\", allowed: 1 .. 4294967295" },
	{ "a huge job", ATTACHED "-mca ess env -mca ess_base_jobid 4294967296 " PLACE URI END,
	  "allowed: 1 .. 4294967295" },
	{ "a negative job", ATTACHED "-mca ess env -mca ess_base_jobid -1 " PLACE URI END, "found \"-1\"" },
	{ "mpirun's own place", START "-mca ess_base_vpid 0 -mca ess_base_num_procs 4 " URI END,
	  "ess_base_vpid: found \"0\", allowed: 1 .. 3" },
	{ "a place too many", START "-mca ess_base_vpid 4 -mca ess_base_num_procs 4 " URI END,
	  "ess_base_vpid: found \"4\", allowed: 1 .. 3" },
	{ "a world of one", START "-mca ess_base_vpid 1 -mca ess_base_num_procs 1 " URI END,
	  "ess_base_num_procs: found \"1\", allowed: 2 .. 1024" },
	{ "too large a world", START "-mca ess_base_vpid 1 -mca ess_base_num_procs 1025 " URI END,
	  "allowed: 2 .. 1024" },
	{ "a shell in the names", START PLACE "-mca orte_node_regex a;reboot " URI END,
	  "argument 18 of orted: found \"a;reboot\", allowed: 1 .. 2048 characters" },
	{ "a path in the names", START PLACE "-mca orte_node_regex ../x " URI END, "found \"../x\"" },
	{ "no names", START PLACE "-mca orte_node_regex  " URI END, "found \"\", allowed: 1 .. 2048" },
	{ "another network", HNP("469565440.0;tcp://10.8.0.1:42949"),
	  "argument 18 of orted: orte_hnp_uri: found the address 10.8.0.1, allowed: addresses in "
	  "ranks.network, 10.7.0.0/24" },
	{ "a second address elsewhere", HNP("469565440.0;tcp://10.7.0.1,192.0.2.1:42949"),
	  "found the address 192.0.2.1" },
	{ "a first address elsewhere", HNP("469565440.0;tcp://192.0.2.1,10.7.0.1:42949"),
	  "found the address 192.0.2.1" },
	{ "loopback", HNP("469565440.0;tcp://127.0.0.1:42949"), "found the address 127.0.0.1" },
	{ "broadcast", HNP("469565440.0;tcp://10.7.0.255:42949"), "found the address 10.7.0.255" },
	{ "IPv6", HNP("469565440.0;tcp6://[fd00::1]:42949"), "allowed: 469565440.0;tcp://ADDRESS" },
	{ "a name", HNP("469565440.0;tcp://box-1:42949"), "allowed: 469565440.0;tcp://ADDRESS" },
	{ "another job's URI", HNP("469565441.0;tcp://10.7.0.1:42949"), "allowed: 469565440.0;tcp" },
	{ "another process", HNP("469565440.1;tcp://10.7.0.1:42949"), "allowed: 469565440.0;tcp" },
	{ "a file", HNP("file:/tmp/uri"), "allowed: 469565440.0;tcp" },
	{ "no port", HNP("469565440.0;tcp://10.7.0.1"), "ADDRESS[,ADDRESS...]:PORT" },
	{ "port 0", HNP("469565440.0;tcp://10.7.0.1:0"), "ADDRESS[,ADDRESS...]:PORT" },
	{ "port 65536", HNP("469565440.0;tcp://10.7.0.1:65536"), "ADDRESS[,ADDRESS...]:PORT" },
	{ "a second transport", HNP("469565440.0;tcp://10.7.0.1:1;tcp://192.0.2.1:1"), ":PORT" },
	{ "an address in another form", HNP("469565440.0;tcp://10.7.1:1"), ":PORT" },
	{ "an octal address", HNP("469565440.0;tcp://10.7.0.01:1"), ":PORT" },
	{ "no address", HNP("469565440.0;tcp://:1"), ":PORT" },
	{ "an empty address", HNP("469565440.0;tcp://10.7.0.1,:1"), ":PORT" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct orted_job job = { 7, 7, 7 };
		struct error err = { 0 };
		const int r = check(bad[i].words, &job, &err);

		if (r != -EINVAL || !strstr(err.text, bad[i].text))
			fail_msg("%s: found %d \"%s\"", bad[i].label, r, err.text);
		assert_int_equal(job.id, 7);
	}
}

/* A word of any length is refused without harm. */
static void test_long(void **state)
{
	static char nodes[ORTED_WORD_MAX + 2];
	const struct cidr network = { 0x0a070000, 24 };
	const char *words[] = { "-mca",
				"orte_leave_session_attached",
				"1",
				"-mca",
				"ess",
				"env",
				"-mca",
				"ess_base_jobid",
				"9",
				"-mca",
				"ess_base_vpid",
				"1",
				"-mca",
				"ess_base_num_procs",
				"2",
				"-mca",
				"orte_hnp_uri",
				"9.0;tcp://10.7.0.1:9",
				"-mca",
				"plm",
				"rsh",
				"-mca",
				"orte_node_regex",
				nodes };
	struct orted_job job;
	struct error err = { 0 };

	(void)state;
	memset(nodes, 'a', ORTED_WORD_MAX);
	assert_int_equal(orted_check(words, 24, &network, &job, &err), 0);
	memset(nodes, 'a', ORTED_WORD_MAX + 1);
	assert_int_equal(orted_check(words, 24, &network, &job, &err), -EINVAL);
	words[17] = nodes;
	assert_int_equal(orted_check(words, 21, &network, &job, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
