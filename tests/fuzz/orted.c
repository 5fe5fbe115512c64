/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/orted.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define WORDS_MAX (ORTED_ARGUMENTS_MAX + 4u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static bool is_name(const char *word)
{
	static const char *const names[] = { "ess",
					     "ess_base_jobid",
					     "ess_base_vpid",
					     "ess_base_num_procs",
					     "orte_hnp_uri",
					     "orte_node_regex",
					     "orte_leave_session_attached",
					     "plm" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(word, names[i]) == 0)
			return true;
	return false;
}

/* All addresses of an accepted URI are in the network, and no other accepted value can be a path. */
static void check_option(const char *const words[static 3])
{
	const char *address = strstr(words[2], ";tcp://");

	must(strcmp(words[0], "-mca") == 0 || strcmp(words[0], "--mca") == 0);
	must(is_name(words[1]));
	must(!strpbrk(words[2], " \t$`\"'|&<>*?~%\\!#={}") && *words[2]);
	must((strcmp(words[1], "orte_hnp_uri") == 0) == (address != NULL));
	must(address || !strpbrk(words[2], "/;"));
	if (address)
		address += strlen(";tcp://");
	while (address) {
		must(strncmp(address, "10.7.0.", 7) == 0);
		address = strchr(address, ',');
		if (address)
			address++;
	}
}

/* The input is a vector, a word on each line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cidr network = { 0x0a070000, 24 };
	CLEANUP(free_ptr) char *text = strndup((const char *)data, size);
	const char *words[WORDS_MAX] = { NULL };
	char *rest = text, *word;
	struct orted_job job;
	struct error err = { 0 };
	size_t count = 0;
	int r;

	while (rest && count < WORDS_MAX && (word = strsep(&rest, "\n")))
		words[count++] = word;
	r = orted_check(words, count, &network, &job, &err);
	must((r < 0) == (*err.text != '\0'));
	if (r < 0)
		return 0;
	must(count <= ORTED_ARGUMENTS_MAX && count % 3 == 0);
	must(job.vpid > 0 && job.vpid < job.count && job.count <= ORTED_DAEMONS_MAX && job.id > 0);
	for (size_t i = 0; i < count; i += 3)
		check_option(words + i);
	return 0;
}
