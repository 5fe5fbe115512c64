/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint for tests: make_checkpoint RUN_ID STEP BYTES writes one whole safetensors file of about BYTES
 * into the spool under KILN_ROOT.   make_checkpoint --check FILE exits 0 when the file is whole.
 */
#include "core/spool.h"
#include "model/safetensors.h"

#include <string.h>

static int write_one(const char *run_id, uint64_t step, uint64_t bytes, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *data = malloc(bytes);
	struct model_tensor tensor = { .name = "dense/kernel",
				       .dtype = "U8",
				       .rank = 1,
				       .shape = { bytes },
				       .data = data,
				       .bytes = bytes };
	const struct safetensors_note note = { "run_id", run_id };
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];
	uint64_t state = step + 1;
	int r;

	if (!data)
		return error_set(err, -ENOMEM, "no memory");
	for (uint64_t i = 0; i < bytes; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = (uint8_t)(state >> 56);
	}
	r = spool_make(run_id, err);
	if (r < 0)
		return r;
	return safetensors_write(spool_path(run_id, spool_checkpoint_name(step, name), path), &tensor, 1,
				 &note, 1, err);
}

int main(int argc, char **argv)
{
	struct safetensors *file;
	struct error err = { 0 };
	int r = -EINVAL;

	if (argc == 3 && strcmp(argv[1], "--check") == 0) {
		r = safetensors_open(argv[2], &file, &err);
		if (r == 0)
			safetensors_close(file);
	} else if (argc == 4) {
		r = write_one(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), &err);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r < 0;
}
