/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files and folders, then over a fixed number of mutations of each: what libFuzzer
 * found stays a test, and a machine without libFuzzer still fuzzes a little. Prints TAP. Usage: TARGET
 * PATH... [--mutations N]
 */
#include "core/paths.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX ((uint64_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t inputs, mutations = 200;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Flip, overwrite, cut or repeat: one to four times, by the input's own number. */
static void mutate(const char *data, uint64_t bytes, uint64_t number)
{
	uint64_t state = number * 0x9e3779b97f4a7c15u + 1, rounds = 1 + next_random(&state) % 4;
	uint8_t *copy = malloc(bytes * 2 + 16);

	if (!copy)
		abort();
	memcpy(copy, data, bytes);
	for (; rounds > 0 && bytes > 0; rounds--) {
		uint64_t at = next_random(&state) % bytes, what = next_random(&state) % 4;

		if (what == 0)
			copy[at] ^= (uint8_t)(1u << next_random(&state) % 8);
		else if (what == 1)
			copy[at] = (uint8_t)(next_random(&state) % 3 ? next_random(&state) : 0xff);
		else if (what == 2)
			bytes = at;
		else
			memmove(copy + at / 2, copy + at, bytes - at);
	}
	(void)LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
}

static void run_file(const char *path)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err;
	uint64_t bytes;

	if (file_read(path, INPUT_MAX, &data, &bytes, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	/* A copy of exactly this size, so that a sanitizer sees a read behind it. */
	for (uint64_t i = 0; i <= mutations; i++) {
		if (i == 0) {
			uint8_t *exact = malloc(bytes ? bytes : 1);

			if (!exact)
				abort();
			memcpy(exact, data, bytes);
			(void)LLVMFuzzerTestOneInput(exact, bytes);
			free(exact);
		} else {
			mutate(data, bytes, inputs * 1000003 + i);
		}
	}
	inputs++;
}

static void run_path(const char *path)
{
	struct dirent **entry;
	struct stat st;
	int count;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	count = scandir(path, &entry, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char child[PATH_BYTES];

		(void)snprintf(child, sizeof(child), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			run_path(child);
		free(entry[i]);
	}
	if (count >= 0)
		free(entry);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--mutations") == 0 && i + 1 < argc)
			mutations = strtoull(argv[++i], NULL, 10);
		else
			run_path(argv[i]);
	}
	printf("%s 1 - %" PRIu64 " inputs and %" PRIu64 " mutations of each\n1..1\n",
	       inputs ? "ok" : "not ok", inputs, mutations);
	return inputs ? 0 : 1;
}
