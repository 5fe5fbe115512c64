/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL driver without a model: choice of device, memory, programs and their cache, and errors with
 * the names of things. */
#include "core/base/paths.h"
#include "drivers/gpu/internal.h"
#include "tests/reference.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/twice.h"

static struct gpu *gpu;

static int build(const char *text, const char *options, struct gpu_program **program, struct error *err)
{
	const struct gpu_source source = { "test.cl", text, strlen(text) };

	return gpu_program_build(gpu, &source, 1, options, program, err);
}

static void test_choice(void **state)
{
	struct gpu *other = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		gpu_open(&(struct gpu_wish){ "no such platform", DEVICE_AUTO, "auto", 0, 0 }, &other, &err),
		-ENODEV);
	assert_non_null(strstr(err.text, "no such platform"));
	assert_null(other);
	assert_true(strlen(gpu_description(gpu)) > 10);
	if (gpu_is_cpu(gpu)) {
		must(gpu_open(&(struct gpu_wish){ "PORTABLE", DEVICE_CPU, "0", 0, 0 }, &other, &err), &err);
		assert_true(gpu_is_cpu(other));
		gpu_close(other);
	}
}

/* Returns a copy of the value, for put_back(); NULL: the variable is not set. */
static char *keep(const char *variable)
{
	const char *value = getenv(variable);

	return value ? strdup(value) : NULL;
}

static void put_back(const char *variable, char *kept)
{
	if (kept)
		(void)setenv(variable, kept, 1);
	else
		(void)unsetenv(variable);
	free(kept);
}

static void test_cache_directory_is_checked(void **state)
{
	char *kept = keep("POCL_CACHE_DIR");
	struct gpu *other = NULL;
	struct error err = { 0 };

	(void)state;
	(void)setenv("POCL_CACHE_DIR", "/dev/null/kernels", 1);
	assert_true(gpu_open(&GPU_ANY, &other, &err) < 0);
	assert_non_null(
		strstr(err.text, "/dev/null/kernels: the directory for compiled kernels is not writable"));
	put_back("POCL_CACHE_DIR", kept);
}

/* Checks what gpu_open() sets a variable to that nobody has set before. */
static void check_variable(const char *variable, const char *expected)
{
	struct gpu *other = NULL;
	struct error err = { 0 };
	char *kept = keep(variable);

	(void)unsetenv(variable);
	must(gpu_open(&GPU_ANY, &other, &err), &err);
	assert_string_equal(getenv(variable), expected);
	gpu_close(other);
	put_back(variable, kept);
}

/* On a disk, a file torn by a power cut would make PoCL abort at every start. */
static void test_pocl_is_below_the_runtime_folder(void **state)
{
	char expected[PATH_BYTES];

	(void)state;
	check_variable("POCL_CACHE_DIR", path_of(PATH_RUNTIME, "pocl", expected));
}

/* A GPU takes fewer groups in the second dimension than in the first. */
static void test_groups_of_the_second_dimension(void **state)
{
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct error err = { 0 };

	(void)state;
	if (gpu_is_cpu(gpu))
		skip();
	must(build(twice_text, "", &program, &err), &err);
	must(gpu_kernel_create(program, "twice", &kernel, &err), &err);
	assert_int_equal(gpu_launch(gpu, kernel, (const uint64_t[2]){ 1, 65536 }, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "kernel twice: 65536 groups in the second dimension, allowed: 65535"));
	gpu_kernel_free(kernel);
	gpu_program_free(program);
}

static void test_nvidia_keeps_kernels_beside_ours(void **state)
{
	char expected[PATH_BYTES];

	(void)state;
	check_variable("CUDA_CACHE_PATH", path_of(PATH_KERNELS, "nvidia", expected));
}

/* Each thread of PoCL may run on one core only. */
static void test_threads_stay_on_cores_of_their_own(void **state)
{
	DIR *tasks = opendir("/proc/self/task");
	cpu_set_t taken;
	int threads = 0;

	(void)state;
	assert_non_null(tasks);
	if (!gpu_is_cpu(gpu) || !getenv("POCL_AFFINITY")) {
		(void)closedir(tasks);
		skip();
	}
	CPU_ZERO(&taken);
	for (const struct dirent *entry; (entry = readdir(tasks));) {
		const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
		cpu_set_t own;

		if (!id || id == getpid() || sched_getaffinity(id, sizeof(own), &own) < 0)
			continue;
		threads++;
		assert_int_equal(CPU_COUNT(&own), 1);
		CPU_OR(&taken, &taken, &own);
	}
	(void)closedir(tasks);
	assert_int_equal(CPU_COUNT(&taken), threads);
}

/* With only some of the cores, PoCL would pin its threads to the wrong ones. */
static void test_cores_that_were_given_are_kept(void **state)
{
	struct gpu *other = NULL;
	struct error err = { 0 };
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2 || !getenv("POCL_AFFINITY"))
		skip();
	CPU_ZERO(&one);
	CPU_SET(1, &one);
	(void)unsetenv("POCL_AFFINITY");
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	must(gpu_open(&GPU_ANY, &other, &err), &err);
	gpu_close(other);
	assert_null(getenv("POCL_AFFINITY"));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	(void)setenv("POCL_AFFINITY", "0", 1);
	must(gpu_open(&GPU_ANY, &other, &err), &err);
	gpu_close(other);
	assert_string_equal(getenv("POCL_AFFINITY"), "0");
	(void)setenv("POCL_AFFINITY", "1", 1);
}

static void test_memory(void **state)
{
	struct gpu_buffer *a = NULL, *b = NULL, *sub = NULL;
	struct gpu_event event = { 0 };
	struct error err = { 0 };
	float numbers[1024], back[1024];
	const void *host = NULL;

	(void)state;
	for (uint32_t i = 0; i < 1024; i++)
		numbers[i] = (float)i;
	must(gpu_buffer_create(gpu, sizeof(numbers), &a, &err), &err);
	must(gpu_buffer_create(gpu, sizeof(numbers), &b, &err), &err);
	must(gpu_read(gpu, a, 0, back, sizeof(back), NULL, &err), &err);
	for (uint32_t i = 0; i < 1024; i++)
		assert_true(back[i] == 0);
	must(gpu_write(gpu, a, 0, numbers, sizeof(numbers), true, &err), &err);
	must(gpu_copy(gpu, a, b, &event, &err), &err);
	must(gpu_buffer_fetch(gpu, b, &event, &host, &err), &err);
	assert_memory_equal(host, numbers, sizeof(numbers));
	assert_true(gpu_event_done(&event));
	gpu_event_free(&event);
	must(gpu_buffer_sub(a, 2 * GPU_ALIGN_BYTES, 64, &sub, &err), &err);
	must(gpu_read(gpu, sub, 0, back, 64, &event, &err), &err);
	must(gpu_event_wait(&event, &err), &err);
	assert_memory_equal(back, numbers + 2 * GPU_ALIGN_BYTES / sizeof(float), 64);
	gpu_event_free(&event);
	gpu_buffer_free(sub);
	sub = NULL;
	assert_true(gpu_buffer_sub(a, sizeof(numbers), 64, &sub, &err) < 0);
	assert_non_null(strstr(err.text, "clCreateSubBuffer of 64 bytes at 4096 in 4096: CL_INVALID_VALUE"));
	gpu_buffer_free(b);
	gpu_buffer_free(a);
}

/* A CPU device shares its memory with the caller: each sees what the other wrote. */
static void test_memory_in_place(void **state)
{
	struct gpu_buffer *buffer = NULL;
	struct gpu_event event = { 0 };
	struct error err = { 0 };
	const float number = 3;
	float back = 0, *memory;

	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	must(gpu_buffer_create(gpu, 1024, &buffer, &err), &err);
	memory = gpu_buffer_memory(buffer);
	must(gpu_write(gpu, buffer, 0, &number, sizeof(number), false, &err), &err);
	must(gpu_mark(gpu, &event, &err), &err);
	must(gpu_event_wait(&event, &err), &err);
	gpu_event_free(&event);
	assert_true(memory[0] == 3);
	memory[0] = 4;
	must(gpu_read(gpu, buffer, 0, &back, sizeof(back), NULL, &err), &err);
	assert_true(back == 4);
	gpu_buffer_free(buffer);
}

/* Kernels and reads of overlapping ranges, which are freed from the oldest to the youngest. */
static void test_ranges_are_freed_in_any_order(void **state)
{
	static const uint64_t at[] = { 0, 1, 2, 0, 3 }; /* times GPU_ALIGN_BYTES */
	struct gpu_buffer *whole = NULL, *range[5] = { NULL };
	const uint8_t bytes[8 * GPU_ALIGN_BYTES] = { [3 * GPU_ALIGN_BYTES] = 7 };
	uint8_t back[sizeof(bytes)];
	struct error err = { 0 };

	(void)state;
	must(gpu_buffer_create(gpu, sizeof(bytes), &whole, &err), &err);
	for (uint32_t i = 0; i < 5; i++)
		must(gpu_buffer_sub(whole, at[i] * GPU_ALIGN_BYTES, 4 * (uint64_t)GPU_ALIGN_BYTES, &range[i],
				    &err),
		     &err);
	must(gpu_write(gpu, whole, 0, bytes, sizeof(bytes), true, &err), &err);
	for (uint32_t i = 0; i < 5; i++) {
		must(gpu_read(gpu, range[4], 0, back, 1, NULL, &err), &err);
		assert_int_equal(back[0], 7);
		must(gpu_read(gpu, whole, 0, back, sizeof(back), NULL, &err), &err);
		assert_memory_equal(back, bytes, sizeof(bytes));
		gpu_buffer_free(range[i]);
	}
	gpu_buffer_free(whole);
}

static void run_twice(struct gpu_program *program, struct gpu_buffer *x, float add, float *out)
{
	const uint64_t groups[2] = { 2, 1 };
	struct gpu_kernel *kernel = NULL;
	struct gpu_buffer *y = NULL;
	struct error err = { 0 };

	must(gpu_buffer_create(gpu, 32, &y, &err), &err);
	must(gpu_kernel_create(program, "twice", &kernel, &err), &err);
	must(gpu_kernel_set_buffer(kernel, 0, x, &err), &err);
	must(gpu_kernel_set_buffer(kernel, 1, y, &err), &err);
	must(gpu_kernel_set(kernel, 2, &add, sizeof(add), &err), &err);
	must(gpu_launch(gpu, kernel, groups, &err), &err);
	must(gpu_read(gpu, y, 0, out, 32, NULL, &err), &err);
	gpu_kernel_free(kernel);
	gpu_buffer_free(y);
}

/* Host memory in place: without a call the kernel sees what the host writes later. */
static void test_wrap(void **state)
{
	static float host[8] __attribute__((aligned(4096)));
	struct gpu_program *program = NULL;
	struct gpu_buffer *x = NULL;
	struct error err = { 0 };
	float out[8];

	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	must(build(twice_text, "", &program, &err), &err);
	must(gpu_buffer_wrap(gpu, host, sizeof(host), &x, &err), &err);
	for (uint32_t round = 1; round < 4; round++) {
		for (uint32_t i = 0; i < 8; i++)
			host[i] = (float)(round * i);
		run_twice(program, x, 0.5f, out);
		for (uint32_t i = 0; i < 8; i++)
			assert_true(out[i] == 2 * (float)(round * i) + 0.5f);
	}
	gpu_buffer_free(x);
	gpu_program_free(program);
}

static void test_build_errors(void **state)
{
	char start[1024];
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		build("__kernel void a(__global int *x)\n{\n\tx[0] = nonsense;\n}\n", "", &program, &err),
		-ENOEXEC);
	/* NVIDIA's compiler does not follow #line: it counts the lines of all sources together. */
	assert_true(strstr(err.text, "test.cl:3") || strstr(err.text, "<kernel>:"));
	assert_non_null(strstr(err.text, "CL_BUILD_PROGRAM_FAILURE"));
	assert_null(program);
	(void)snprintf(start, sizeof(start),
		       "%s: kernels do not build, options -DDEPTH=3 -cl-mad-enable: ", gpu_description(gpu));
	assert_int_equal(build("#if DEPTH == 3\n#error too deep for \\\nthis device\n#endif\n",
			       "-DDEPTH=3 -cl-mad-enable", &program, &err),
			 -ENOEXEC);
	assert_int_equal(strncmp(err.text, start, strlen(start)), 0);
	assert_true(strstr(err.text, "test.cl:2") || strstr(err.text, "<kernel>:"));
	assert_non_null(strstr(err.text, "too deep for this device"));
	assert_int_equal(error_exit_code(&err), 69);
	must(build("__kernel void a(__global int *x)\n{\n\tx[0] = 1;\n}\n", "", &program, &err), &err);
	assert_int_equal(gpu_kernel_create(program, "a", &kernel, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "kernel a declares no reqd_work_group_size"));
	assert_true(gpu_kernel_create(program, "b", &kernel, &err) < 0);
	assert_non_null(strstr(err.text, "kernel b: CL_INVALID_KERNEL_NAME"));
	gpu_program_free(program);
}

/* A driver whose binaries are not PTX, or have no comments, would leave out the instructions. */
static void test_instructions_that_the_binary_lacks(void **state)
{
	struct gpu_program *program = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(build(twice_text, "-DTENSOR_CORES " GPU_SM_90A, &program, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "a program with instructions of sm_90a has a binary "));
	assert_null(program);
}

static void test_argument_errors(void **state)
{
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct error err = { 0 };

	(void)state;
	must(build(twice_text, "", &program, &err), &err);
	must(gpu_kernel_create(program, "twice", &kernel, &err), &err);
	assert_true(gpu_kernel_set(kernel, 9, &err, 4, &err) < 0);
	assert_non_null(strstr(err.text, "kernel twice, argument 9: CL_INVALID_ARG_INDEX"));
	assert_true(gpu_launch(gpu, kernel, (const uint64_t[2]){ 3, 1 }, &err) < 0);
	assert_non_null(strstr(err.text, "kernel twice, global size 12 x 1: CL_INVALID_KERNEL_ARGS"));
	gpu_kernel_free(kernel);
	gpu_program_free(program);
}

static uint32_t binaries(char *path)
{
	char directory[PATH_BYTES];
	uint32_t count = 0;
	DIR *folder = opendir(path_of(PATH_KERNELS, NULL, directory));

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (strstr(entry->d_name, ".bin")) {
			(void)snprintf(path, PATH_BYTES, "%.2000s/%s", directory, entry->d_name);
			count++;
		}
	if (folder)
		(void)closedir(folder);
	return count;
}

static void cut_file(const char *path, long bytes)
{
	assert_int_equal(truncate(path, bytes), 0);
}

static void use_at(const char *path, time_t second)
{
	const struct timespec times[2] = { { .tv_sec = second }, { .tv_sec = second } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A program is built once, saved, and found again; another text, other options and a torn file are misses. */
static void test_binary_cache(void **state)
{
	struct gpu_program *program = NULL;
	struct gpu_buffer *x = NULL;
	struct error err = { 0 };
	char path[PATH_BYTES] = "";
	struct stat st;
	float out[8];

	(void)state;
	must(gpu_buffer_create(gpu, 32, &x, &err), &err);
	must(build(twice_text, "", &program, &err), &err);
	assert_false(gpu_program_cached(program));
	run_twice(program, x, 3, out);
	must(gpu_program_save(program, &err), &err);
	gpu_program_free(program);
	assert_int_equal(binaries(path), 1);
	use_at(path, 1000);

	must(build(twice_text, "", &program, &err), &err);
	assert_true(gpu_program_cached(program));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_mtim.tv_sec > 1000); /* the binary was used */
	run_twice(program, x, 4, out);
	assert_true(out[7] == 4);
	must(gpu_program_save(program, &err), &err); /* the program is saved already */
	gpu_program_free(program);
	must(build(twice_text, "-DX=1", &program, &err), &err);
	assert_false(gpu_program_cached(program));
	gpu_program_free(program);

	cut_file(path, 1000);
	must(build(twice_text, "", &program, &err), &err);
	assert_false(gpu_program_cached(program));
	run_twice(program, x, 5, out);
	assert_true(out[7] == 5);
	gpu_program_free(program);
	cut_file(path, 0);
	must(build(twice_text, "", &program, &err), &err);
	assert_false(gpu_program_cached(program));
	gpu_program_free(program);
	gpu_buffer_free(x);
}

/* Makes a file of `bytes` that was last used at `second`. */
static void make_file(const char *folder, const char *name, size_t bytes, time_t second)
{
	static const uint8_t zeros[64];
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)snprintf(path, sizeof(path), "%.2000s/%s", folder, name);
	must(file_write_durable(path, zeros, bytes, &err), &err);
	use_at(path, second);
}

static bool has_file(const char *folder, const char *name)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%.2000s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void test_cache_loses_what_is_oldest(void **state)
{
	char folder[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	must(path_make(path_of(PATH_RUNTIME, "prune", folder), &err), &err);
	make_file(folder, "b.bin", 40, 2000);
	make_file(folder, "a.bin", 30, 1000);
	make_file(folder, "c.bin", 20, 3000);
	make_file(folder, "other", 64, 1);
	gpu_prune(folder, 90);
	assert_true(has_file(folder, "a.bin"));
	gpu_prune(folder, 89);
	assert_false(has_file(folder, "a.bin"));
	assert_true(has_file(folder, "b.bin") && has_file(folder, "c.bin"));
	gpu_prune(folder, 0);
	assert_true(!has_file(folder, "b.bin") && has_file(folder, "c.bin") && has_file(folder, "other"));
	gpu_prune("/dev/null/no folder", 0);
	path_empty(folder);
	(void)rmdir(folder);
}

static int open_all(void **state)
{
	(void)state;
	gpu = open_device();
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_cache_directory_is_checked),
		cmocka_unit_test(test_pocl_is_below_the_runtime_folder),
		cmocka_unit_test(test_threads_stay_on_cores_of_their_own),
		cmocka_unit_test(test_cores_that_were_given_are_kept),
		cmocka_unit_test(test_groups_of_the_second_dimension),
		cmocka_unit_test(test_nvidia_keeps_kernels_beside_ours),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_in_place),
		cmocka_unit_test(test_ranges_are_freed_in_any_order),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_build_errors),
		cmocka_unit_test(test_instructions_that_the_binary_lacks),
		cmocka_unit_test(test_argument_errors),
		cmocka_unit_test(test_binary_cache),
		cmocka_unit_test(test_cache_loses_what_is_oldest),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
