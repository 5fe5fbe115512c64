/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD library: prints at exit to stderr, for each kernel and size of launch, how often it ran and the
 * time that the device needed for it, by OpenCL's profiling events; the largest total first. The first
 * KILN_KERNEL_TIMES_SKIP launches of each kernel and size (default 3) are left out: they may compile.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX   4096u
#define EVENTS_MAX 4096u

static struct row {
	char name[64];
	size_t global[3], local[3];
	unsigned long launches, timed;
	double ns;
} row[ROWS_MAX];
static unsigned rows;

static struct pending {
	cl_event event;
	struct row *row;
} pending[EVENTS_MAX];
static unsigned events;

static void collect(void)
{
	const char *skip = getenv("KILN_KERNEL_TIMES_SKIP");
	const unsigned long first = skip ? strtoul(skip, NULL, 10) : 3;

	for (unsigned i = 0; i < events; i++) {
		struct pending *p = &pending[i];
		cl_ulong start = 0, end = 0;

		(void)clWaitForEvents(1, &p->event);
		(void)clGetEventProfilingInfo(p->event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
					      NULL);
		(void)clGetEventProfilingInfo(p->event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
		(void)clReleaseEvent(p->event);
		if (p->row->launches++ < first)
			continue;
		p->row->timed++;
		p->row->ns += (double)(end - start);
	}
	events = 0;
}

static struct row *find(cl_kernel kernel, const size_t *global, const size_t *local, cl_uint dimensions)
{
	struct row key = { .global = { 1, 1, 1 }, .local = { 1, 1, 1 } };

	(void)clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(key.name), key.name, NULL);
	memcpy(key.global, global, dimensions * sizeof(*global));
	if (local)
		memcpy(key.local, local, dimensions * sizeof(*local));
	for (unsigned i = 0; i < rows; i++)
		if (strcmp(row[i].name, key.name) == 0 &&
		    memcmp(row[i].global, key.global, sizeof(key.global)) == 0)
			return &row[i];
	if (rows == ROWS_MAX)
		return NULL;
	row[rows] = key;
	return &row[rows++];
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
				      cl_command_queue_properties properties, cl_int *ret)
{
	cl_command_queue (*real)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *) =
		dlsym(RTLD_NEXT, "clCreateCommandQueue");

	return real(context, device, properties | CL_QUEUE_PROFILING_ENABLE, ret);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			      const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
			      const cl_event *wait, cl_event *ret_event)
{
	cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
		       cl_uint, const cl_event *, cl_event *) = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
	struct row *found = find(kernel, global, local, dimensions);
	cl_event event = NULL;
	const cl_int rc = real(queue, kernel, dimensions, offset, global, local, waits, wait, &event);

	if (rc != CL_SUCCESS)
		return rc;
	if (ret_event) {
		*ret_event = event;
		(void)clRetainEvent(event);
	}
	if (!found) {
		(void)clReleaseEvent(event);
		return rc;
	}
	if (events == EVENTS_MAX)
		collect();
	pending[events++] = (struct pending){ event, found };
	return rc;
}

static int by_total(const void *a, const void *b)
{
	const double left = ((const struct row *)a)->ns, right = ((const struct row *)b)->ns;

	return (left < right) - (left > right);
}

__attribute__((destructor)) static void print(void)
{
	double all = 0;

	if (rows == 0)
		return;
	collect();
	qsort(row, rows, sizeof(*row), by_total);
	for (unsigned i = 0; i < rows; i++)
		all += row[i].ns;
	(void)fprintf(stderr, "%7s %9s %11s  kernel, groups\n", "share", "launches", "us each");
	for (unsigned i = 0; i < rows; i++) {
		const struct row *r = &row[i];

		if (r->timed)
			(void)fprintf(stderr, "%6.2f%% %9lu %11.2f  %s %zu x %zu\n", 100 * r->ns / all,
				      r->timed, r->ns / 1e3 / (double)r->timed, r->name,
				      r->global[0] / r->local[0], r->global[1] / r->local[1]);
	}
}
