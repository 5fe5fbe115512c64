/* SPDX-License-Identifier: Apache-2.0 */
#include "model/self_test.h"

#define GROUP  64u /* work-items in a group; self_test.cl has the same number */
#define GROUPS 256u
#define COUNT  (GROUP * GROUPS)

extern const char kernel_self_test[];
extern const size_t kernel_self_test_bytes;

struct work {
	struct gpu_buffer *x, *y, *sums;
	struct gpu_program *program;
	struct gpu_kernel *kernel;
	float host_x[COUNT], host_y[COUNT], host_sums[GROUPS];
};

static void work_done(struct work **work)
{
	if (!*work)
		return;
	gpu_kernel_free((*work)->kernel);
	gpu_program_free((*work)->program);
	gpu_buffer_free((*work)->x);
	gpu_buffer_free((*work)->y);
	gpu_buffer_free((*work)->sums);
	free(*work);
	*work = NULL;
}

static int launch(struct gpu *gpu, struct work *work, struct error *err)
{
	const struct gpu_source source = { "self_test.cl", kernel_self_test, kernel_self_test_bytes };
	const uint64_t groups[2] = { GROUPS, 1 };
	int r;

	if ((r = gpu_buffer_create(gpu, sizeof(work->host_x), &work->x, err)) < 0 ||
	    (r = gpu_buffer_create(gpu, sizeof(work->host_y), &work->y, err)) < 0 ||
	    (r = gpu_buffer_create(gpu, sizeof(work->host_sums), &work->sums, err)) < 0 ||
	    (r = gpu_program_build(gpu, &source, 1, "", &work->program, err)) < 0 ||
	    (r = gpu_kernel_create(work->program, "self_test", &work->kernel, err)) < 0 ||
	    (r = gpu_kernel_set_buffer(work->kernel, 0, work->x, err)) < 0 ||
	    (r = gpu_kernel_set_buffer(work->kernel, 1, work->y, err)) < 0 ||
	    (r = gpu_kernel_set_buffer(work->kernel, 2, work->sums, err)) < 0 ||
	    (r = gpu_write(gpu, work->x, 0, work->host_x, sizeof(work->host_x), true, err)) < 0 ||
	    (r = gpu_write(gpu, work->y, 0, work->host_y, sizeof(work->host_y), true, err)) < 0 ||
	    (r = gpu_launch(gpu, work->kernel, groups, err)) < 0)
		return r;
	return gpu_read(gpu, work->sums, 0, work->host_sums, sizeof(work->host_sums), NULL, err);
}

static int verify(const struct gpu *gpu, const struct work *work, struct error *err)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		double expected = 0;

		for (uint32_t i = g * GROUP; i < (g + 1) * GROUP; i++)
			expected += (double)work->host_x[i] * (double)work->host_y[i];
		if ((double)work->host_sums[g] != expected)
			return error_set(err, -EIO, "%s: self-test: sum %u is %g, expected %g",
					 gpu_description(gpu), g, (double)work->host_sums[g], expected);
	}
	return 0;
}

int self_test(struct gpu *gpu, struct error *err)
{
	CLEANUP(work_done) struct work *work = calloc(1, sizeof(*work));
	int r;

	if (!work)
		return error_set(err, -ENOMEM, "no memory for the self-test");
	for (uint32_t i = 0; i < COUNT; i++) {
		work->host_x[i] = (float)(i % 31);
		work->host_y[i] = (float)(i % 23) - 11;
	}
	r = launch(gpu, work, err);
	return r < 0 ? r : verify(gpu, work, err);
}
