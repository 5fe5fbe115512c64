/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that are copied to a GPU, and results that are copied from it, while the caller goes on, from
 * pinned memory where the GPU has memory of its own. tests/opencl/on runs this test also on a device that
 * seems to have it (KILN_DEVICE_OWN_MEMORY). */
#include "drivers/gpu/internal.h"
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/twice.h"

static struct gpu *gpu;

#define SENT 1000u

/* Memory of this program, which the driver pins where it can. */
static struct gpu_host *wrap(void)
{
	static _Alignas(4096) float memory[4096 / sizeof(float)];
	struct gpu_host *host = NULL;
	struct error err = { 0 };

	must(gpu_host_wrap(gpu, memory, sizeof(memory), &host, &err), &err);
	assert_ptr_equal(gpu_host_memory(host), memory);
	return host;
}

static struct gpu_host *create(void)
{
	struct gpu_host *host = NULL;
	struct error err = { 0 };

	must(gpu_host_create(gpu, SENT * sizeof(float), &host, &err), &err);
	for (uint32_t i = 0; i < SENT; i++)
		assert_true(((const float *)gpu_host_memory(host))[i] == 0);
	return host;
}

/* Two sets of buffers in turn, as the feed has them: every batch arrives whole, before the kernel that reads
 * it. */
static void test_send(void **state)
{
	const struct gpu_source source = { "test.cl", twice_text, strlen(twice_text) };
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct gpu_buffer *in[2] = { NULL, NULL }, *out[2] = { NULL, NULL };
	struct gpu_host *const memory[2] = { create(), wrap() };
	float *const host[2] = { gpu_host_memory(memory[0]), gpu_host_memory(memory[1]) };
	static float result[SENT];
	const float add = 1;
	struct error err = { 0 };
	cl_bool unified = CL_TRUE;

	(void)state;
	must(gpu_program_build(gpu, &source, 1, "", &program, &err), &err);
	must(gpu_kernel_create(program, "twice", &kernel, &err), &err);
	for (int set = 0; set < 2; set++) {
		must(gpu_buffer_create(gpu, sizeof(result), &in[set], &err), &err);
		must(gpu_buffer_create(gpu, sizeof(result), &out[set], &err), &err);
	}
	must(gpu_finish(gpu, &err), &err);
	for (uint32_t batch = 0; batch < 20; batch++) {
		const uint32_t set = batch % 2, count = batch == 7 ? 4 : SENT;

		for (uint32_t i = 0; i < SENT; i++)
			host[set][i] = (float)(batch * SENT + i);
		must(gpu_send(gpu, in[set], 0, host[set], count / 2 * sizeof(float), &err), &err);
		must(gpu_send(gpu, in[set], count / 2 * sizeof(float), host[set] + count / 2,
			      count / 2 * sizeof(float), &err),
		     &err);
		must(gpu_await_sent(gpu, &err), &err);
		must(gpu_kernel_set_buffer(kernel, 0, in[set], &err), &err);
		must(gpu_kernel_set_buffer(kernel, 1, out[set], &err), &err);
		must(gpu_kernel_set(kernel, 2, &add, sizeof(add), &err), &err);
		must(gpu_launch(gpu, kernel, (const uint64_t[]){ SENT / 4, 1 }, &err), &err);
		must(gpu_read(gpu, out[set], 0, result, sizeof(result), NULL, &err), &err);
		for (uint32_t i = 0; i < count; i++)
			assert_true(result[i] == 2 * host[set][i] + 1);
	}
	assert_int_equal(
		clGetDeviceInfo(gpu->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL),
		CL_SUCCESS);
	assert_int_equal(gpu_stages(gpu), !unified);
	for (int set = 0; set < 2; set++) {
		gpu_buffer_free(in[set]);
		gpu_buffer_free(out[set]);
		gpu_host_free(memory[set]);
	}
	gpu_kernel_free(kernel);
	gpu_program_free(program);
}

/* Each range arrives as the kernels before left it, while the device goes on with kernels that write others.
 */
static void test_receive(void **state)
{
	enum { RANGES = 4, COUNT = GPU_ALIGN_BYTES / sizeof(float) };
	const struct gpu_source source = { "test.cl", twice_text, strlen(twice_text) };
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct gpu_buffer *in = NULL, *out = NULL, *range[RANGES];
	struct gpu_event event[RANGES] = { 0 };
	struct gpu_host *memory = create();
	float *const host = gpu_host_memory(memory);
	struct error err = { 0 };

	(void)state;
	must(gpu_program_build(gpu, &source, 1, "", &program, &err), &err);
	must(gpu_kernel_create(program, "twice", &kernel, &err), &err);
	must(gpu_buffer_create(gpu, GPU_ALIGN_BYTES, &in, &err), &err);
	must(gpu_buffer_create(gpu, RANGES * (uint64_t)GPU_ALIGN_BYTES, &out, &err), &err);
	must(gpu_kernel_set_buffer(kernel, 0, in, &err), &err);
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < RANGES; i++) {
			const float add = (float)(round * RANGES + i + 1);

			if (round == 0)
				must(gpu_buffer_sub(out, i * GPU_ALIGN_BYTES, GPU_ALIGN_BYTES, &range[i],
						    &err),
				     &err);
			must(gpu_kernel_set_buffer(kernel, 1, range[i], &err), &err);
			must(gpu_kernel_set(kernel, 2, &add, sizeof(add), &err), &err);
			must(gpu_launch(gpu, kernel, (const uint64_t[]){ COUNT / 4, 1 }, &err), &err);
			must(gpu_receive(gpu, out, i * GPU_ALIGN_BYTES, host + i * COUNT, GPU_ALIGN_BYTES,
					 &event[i], &err),
			     &err);
		}
		for (uint32_t i = 0; i < RANGES; i++) {
			must(gpu_event_wait(&event[i], &err), &err);
			gpu_event_free(&event[i]);
			for (uint32_t k = 0; k < COUNT; k++)
				assert_true(host[i * COUNT + k] == (float)(round * RANGES + i + 1));
		}
	}
	for (uint32_t i = 0; i < RANGES; i++)
		gpu_buffer_free(range[i]);
	gpu_buffer_free(out);
	gpu_buffer_free(in);
	gpu_kernel_free(kernel);
	gpu_program_free(program);
	gpu_host_free(memory);
}

/* A buffer is zero before it can be sent to: zeros that came later would replace what was sent. */
static void test_send_at_once(void **state)
{
	const uint64_t bytes = UINT64_C(64) << 20;
	static const float sent[1024] = { 1, 2, 3 };
	float got[1024];
	struct gpu_buffer *to = NULL;
	struct error err = { 0 };

	(void)state;
	must(gpu_buffer_create(gpu, bytes, &to, &err), &err);
	must(gpu_send(gpu, to, bytes - sizeof(sent), sent, sizeof(sent), &err), &err);
	must(gpu_finish(gpu, &err), &err);
	must(gpu_read(gpu, to, bytes - sizeof(got), got, sizeof(got), NULL, &err), &err);
	assert_memory_equal(got, sent, sizeof(sent));
	gpu_buffer_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_send), cmocka_unit_test(test_receive),
					    cmocka_unit_test(test_send_at_once) };
	int failed = 0;

	gpu = open_device();
	if (gpu_is_cpu(gpu))
		puts("1..1\nok 1 # SKIP a CPU reads batches in place");
	else
		failed = cmocka_run_group_tests(tests, NULL, NULL);
	close_device(gpu);
	return failed;
}
