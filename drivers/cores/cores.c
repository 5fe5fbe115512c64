/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cores/cores.h"

#include <pthread.h>
#include <string.h>

#define PATH_MAX_BYTES 512

bool cores_line(const char *root, const char *path, char *out, size_t size)
{
	CLEANUP(close_file) FILE *file = NULL;
	char full[PATH_MAX_BYTES];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "re");
	if (!file || !fgets(out, (int)size, file))
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Parses a decimal number. Checks the first character, because strtoul() accepts signs and spaces. */
static bool parse_core(const char **text, unsigned long *ret_core)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret_core = strtoul(*text, &end, 10);
	*text = end;
	return *ret_core < CPU_SETSIZE;
}

bool cores_parse(const char *text, cpu_set_t *ret_set)
{
	CPU_ZERO(ret_set);
	for (;;) {
		unsigned long first, last;

		if (!parse_core(&text, &first))
			return false;
		last = first;
		if (*text == '-' && (text++, !parse_core(&text, &last)))
			return false;
		if (first > last)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, ret_set);
		if (*text != ',')
			return *text == '\0';
		text++;
	}
}

void cores_divide(cpu_set_t *set, unsigned nth, unsigned parts)
{
	const unsigned cores = (unsigned)CPU_COUNT(set), first = cores * nth / parts,
		       end = cores * (nth + 1) / parts;
	unsigned at = 0;

	if (cores < parts)
		return;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, set))
			continue;
		if (at < first || at >= end)
			CPU_CLR(cpu, set);
		at++;
	}
}

bool cores_near(const char *root, const char *device, cpu_set_t *ret_set)
{
	char path[PATH_MAX_BYTES], text[1024];
	long node;

	(void)snprintf(path, sizeof(path), "%s/local_cpulist", device);
	if (cores_line(root, path, text, sizeof(text)) && cores_parse(text, ret_set))
		return true;
	(void)snprintf(path, sizeof(path), "%s/numa_node", device);
	if (!cores_line(root, path, text, sizeof(text)) || (node = strtol(text, NULL, 10)) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%ld/cpulist", node);
	return cores_line(root, path, text, sizeof(text)) && cores_parse(text, ret_set);
}

void cores_text(const cpu_set_t *set, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
		size_t first = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, set))
			cpu++;
		used += (size_t)snprintf(out + used, size - used, first == cpu ? "%s%zu" : "%s%zu-%zu",
					 used ? "," : "", first, cpu);
	}
}

void cores_pin(const cpu_set_t *set)
{
	/* The binding is only an optimisation: where the kernel refuses it, the thread runs on any core. */
	(void)pthread_setaffinity_np(pthread_self(), sizeof(*set), set);
}
