/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a fuzz target the inputs of its corpus, without libFuzzer: each as it is, cut in the middle, and with
 * a changed byte. `make test` builds it with gcc and the sanitizers; `make fuzz` looks for new inputs. Usage:
 * NAME FOLDER...
 */
#include "core/base/cleanup.h"
#include "core/base/paths.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define INPUT_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned inputs;

/* A copy of exactly this size: AddressSanitizer sees a read beyond its end. */
static void give(const char *data, uint64_t bytes)
{
	CLEANUP(free_ptr) uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		abort();
	memcpy(copy, data, bytes);
	(void)LLVMFuzzerTestOneInput(copy, bytes);
}

static int give_file(const char *path)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct error err = { 0 };
	uint64_t bytes = 0;

	if (file_read(path, INPUT_MAX, &data, &bytes, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return EX_IOERR;
	}
	give(data, bytes);
	give(data, bytes / 2);
	if (bytes > 0) {
		data[inputs * UINT64_C(2654435761) % bytes] ^= (char)(1 << inputs % 8);
		give(data, bytes);
	}
	inputs++;
	return EX_OK;
}

static int give_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];
	int code = EX_OK;

	if (!dir) {
		perror(folder);
		return EX_NOINPUT;
	}
	while (code == EX_OK && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
			code = give_file(path);
		}
	(void)closedir(dir);
	return code;
}

int main(int argc, char **argv)
{
	int code = EX_OK;

	for (int i = 1; code == EX_OK && i < argc; i++)
		code = give_folder(argv[i]);
	if (code == EX_OK && inputs == 0) {
		(void)fprintf(stderr, "found no input, expected a folder with inputs\n");
		return EX_NOINPUT;
	}
	printf("%u inputs\n", inputs);
	return code;
}
