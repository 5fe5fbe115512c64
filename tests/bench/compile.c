/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long the driver takes to compile the program of all kernels, for numbers that are stored as
 * float32, bfloat16 or float16. A driver that keeps compiled programs, as NVIDIA's does in CUDA_CACHE_PATH,
 * has them for later processes, too: the unit tests of kernels build the same programs. Prints a JSON line.
 * Part of tools/gpu-kit. Usage: compile float32|bfloat16|float16
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

static const struct {
	const char *name;
	enum dtype storage;
} programs[] = { { "float32", DTYPE_F32 }, { "bfloat16", DTYPE_BF16 }, { "float16", DTYPE_F16 } };

static void measure(const char *name, enum dtype storage)
{
	struct gpu *gpu = open_device();
	struct gpu_program *program = NULL;
	struct error err = { 0 };
	const double start = now_us();

	if (kernels_build(gpu, storage, NULL, 0, &program, &err) < 0) {
		(void)fprintf(stderr, "compile: %s\n", err.text);
		exit(1);
	}
	printf("{\"name\":\"compile\",\"case\":\"all kernels, %s\",\"value\":%.1f,\"unit\":\"s\"}\n", name,
	       (now_us() - start) * 1e-6);
	gpu_program_free(program);
	close_device(gpu);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(argv[1], programs[i].name) == 0) {
			measure(programs[i].name, programs[i].storage);
			return 0;
		}
	(void)fprintf(stderr, "Usage: compile float32|bfloat16|float16\n");
	return 2;
}
