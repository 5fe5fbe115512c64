/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD library: measures on a GPU how well the copies of batches are hidden behind kernels, by OpenCL's
 * profiling events, in the device's clock. A step begins where the queue of the kernels waits for the copies
 * of a batch (clEnqueueBarrierWithWaitList). Measured are COUNT steps from step FIRST on:
 * KILN_FEED_STEPS="FIRST COUNT [ENDS]" (20 100). Prints JSON lines to KILN_FEED_FILE, which it appends to
 * (default: stderr); each case begins with KILN_FEED_CASE. A device that reads batches in place has no
 * copies, and gets no lines.
 *
 * An event makes a launch two to three times as long for the host on NVIDIA's driver, so that it may wait for
 * the host where it does not without events. From step ENDS on another COUNT steps are measured with three
 * events: of the copies, of the first kernel, and of the read behind the last one; the time from the first
 * kernel to the read counts as one kernel. The pauses within it count as work, so the share of hidden copies
 * is an upper bound there. ENDS lies behind the first window and the STEPS_LATER steps after it.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 262144u
/* The commands of a window are complete so many steps later: a batch of the trainer is done two steps later.
 */
#define STEPS_LATER 4u

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

enum kind { KERNEL, COPY, READ, KINDS };

static struct command {
	cl_event event;
	enum kind kind;
	unsigned long step; /* whose kernels need it, or which it belongs to */
	double start_us, end_us;
} command[COMMANDS_MAX];
static unsigned commands, lost;
/* The trainer's thread that writes checkpoints reads buffers, too. */
static pthread_mutex_t commands_lock = PTHREAD_MUTEX_INITIALIZER;

/* Time that the host spends in calls of the window. WAIT: clWaitForEvents. */
enum { WAIT = KINDS, CALLS };
static struct calls {
	unsigned long count;
	double us;
} calls[CALLS];

static unsigned long first = 20, count = 100, ends, step;
static int only_ends;       /* the window is the second one */
static unsigned long begun; /* the last step that has an event of a kernel */
static unsigned long long copied_bytes;
static int reported;

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

__attribute__((constructor)) static void open_window(void)
{
	const char *asked = getenv("KILN_FEED_STEPS");
	char *end = NULL;

	if (!asked)
		return;
	first = strtoul(asked, &end, 10);
	count = strtoul(end, &end, 10);
	ends = strtoul(end, NULL, 10);
	if (!count || (ends && ends < first + count + STEPS_LATER)) {
		(void)fprintf(
			stderr,
			"KILN_FEED_STEPS: found \"%s\", allowed: \"FIRST COUNT [ENDS]\" with COUNT > 0 and "
			"ENDS >= FIRST + COUNT + %u\n",
			asked, STEPS_LATER);
		_exit(EX_USAGE);
	}
}

static int is_measured(unsigned long of_step)
{
	return of_step >= first && of_step < first + count;
}

static void note_call(int call, double start_us)
{
	if (!is_measured(step))
		return;
	calls[call].count++;
	calls[call].us += now_us() - start_us;
}

/* Keeps the event of a command of the window; gives the caller its own reference if it asked for one. */
static void note_command(enum kind kind, unsigned long of_step, cl_event event, cl_event *ret_event)
{
	if (ret_event)
		*ret_event = event;
	(void)pthread_mutex_lock(&commands_lock);
	if (is_measured(of_step) && commands < COMMANDS_MAX) {
		if (ret_event)
			(void)clRetainEvent(event);
		command[commands++] = (struct command){ .event = event, .kind = kind, .step = of_step };
	} else {
		lost += is_measured(of_step) != 0;
		if (!ret_event)
			(void)clReleaseEvent(event);
	}
	(void)pthread_mutex_unlock(&commands_lock);
}

/* ---- The report ---- */

static int by_start(const void *a, const void *b)
{
	const struct command *left = a, *right = b;

	return (left->start_us > right->start_us) - (left->start_us < right->start_us);
}

static void read_times(void)
{
	for (unsigned i = 0; i < commands; i++) {
		cl_ulong start = 0, end = 0;

		(void)clWaitForEvents(1, &command[i].event);
		(void)clGetEventProfilingInfo(command[i].event, CL_PROFILING_COMMAND_START, sizeof(start),
					      &start, NULL);
		(void)clGetEventProfilingInfo(command[i].event, CL_PROFILING_COMMAND_END, sizeof(end), &end,
					      NULL);
		(void)clReleaseEvent(command[i].event);
		command[i].start_us = (double)start * 1e-3;
		command[i].end_us = (double)end * 1e-3;
	}
	qsort(command, commands, sizeof(*command), by_start);
}

/* Lets the first kernel of each step end where the read behind the last one starts. */
static void join_kernels(void)
{
	for (unsigned i = 0; i < commands; i++)
		for (unsigned j = i; command[i].kind == KERNEL && j < commands; j++)
			if (command[j].kind == READ && command[j].step == command[i].step) {
				command[i].end_us = command[j].start_us;
				break;
			}
}

/* Returns how much of a copy lies within kernels of other steps. The commands are sorted by their start. */
static double hidden_us(const struct command *copy)
{
	double hidden = 0, covered = copy->start_us;

	for (unsigned i = 0; i < commands && command[i].start_us < copy->end_us; i++) {
		const struct command *kernel = &command[i];
		const double start = kernel->start_us > covered ? kernel->start_us : covered,
			     end = kernel->end_us < copy->end_us ? kernel->end_us : copy->end_us;

		if (kernel->kind != KERNEL || kernel->step == copy->step || end <= start)
			continue;
		hidden += end - start;
		covered = end;
	}
	return hidden;
}

/* Time in which no kernel runs, between the first kernel of the window and its last. */
struct idle {
	double all_us, kernels_us, between_steps_us, within_steps_us;
};

static struct idle find_idle(void)
{
	struct idle idle = { 0 };
	const struct command *before = NULL;
	double begin = 0, until = 0;

	for (unsigned i = 0; i < commands; i++) {
		const struct command *kernel = &command[i];

		if (kernel->kind != KERNEL)
			continue;
		if (!before)
			begin = until = kernel->start_us;
		else if (kernel->start_us > until)
			*(before->step == kernel->step ? &idle.within_steps_us : &idle.between_steps_us) +=
				kernel->start_us - until;
		until = kernel->end_us > until ? kernel->end_us : until;
		before = kernel;
	}
	idle.all_us = until - begin;
	idle.kernels_us = idle.all_us - idle.between_steps_us - idle.within_steps_us;
	return idle;
}

static double total_us(enum kind kind, unsigned *ret_count)
{
	double total = 0;

	*ret_count = 0;
	for (unsigned i = 0; i < commands; i++)
		if (command[i].kind == kind) {
			total += command[i].end_us - command[i].start_us;
			++*ret_count;
		}
	return total;
}

static void print(FILE *out, const char *what, double value, const char *unit)
{
	const char *name = getenv("KILN_FEED_CASE");

	(void)fprintf(out, "{\"name\":\"feed\",\"case\":\"%s%s%s%s\",\"value\":%.2f,\"unit\":\"%s\"}\n",
		      name ? name : "", name ? ": " : "", only_ends ? "few events: " : "", what, value, unit);
}

static void print_device(FILE *out, double steps)
{
	const struct idle idle = find_idle();
	unsigned copies, reads, kernels;
	const double copy_us = total_us(COPY, &copies), read_us = total_us(READ, &reads);
	double hidden = 0;

	(void)total_us(KERNEL, &kernels);
	for (unsigned i = 0; i < commands; i++)
		hidden += command[i].kind == COPY ? hidden_us(&command[i]) : 0;
	print(out,
	      only_ends ? "time of copies within kernels of other steps, at most"
			: "time of copies within kernels of other steps",
	      100 * hidden / copy_us, "%");
	print(out, "device time without a kernel", 100 * (1 - idle.kernels_us / idle.all_us), "%");
	print(out, "the same, between two steps", 100 * idle.between_steps_us / idle.all_us, "%");
	print(out, "the same, between kernels of a step", 100 * idle.within_steps_us / idle.all_us, "%");
	print(out, "a step on the device", idle.all_us / steps, "us");
	print(out, "its kernels", idle.kernels_us / steps, "us");
	print(out, "number of its kernels", kernels / steps, "1");
	print(out, "its copies", copy_us / steps, "us");
	print(out, "number of its copies", copies / steps, "1");
	print(out, "speed of the copies", (double)copied_bytes * 1e-3 / copy_us, "GB/s");
	print(out, "its reads", read_us / steps, "us");
	print(out, "number of its reads", reads / steps, "1");
}

static void print_host(FILE *out, double steps)
{
	static const char *const name[CALLS] = { "host, launches of a step", "host, copies of a step",
						 "host, reads of a step", "host, waiting in a step" };

	for (int call = 0; call < CALLS; call++)
		print(out, name[call], calls[call].us / steps, "us");
}

static void open_second(void)
{
	only_ends = 1;
	reported = 0;
	first = ends;
	commands = lost = 0;
	copied_bytes = 0;
	memset(calls, 0, sizeof(calls));
}

static void report(void)
{
	const char *path = getenv("KILN_FEED_FILE");
	const unsigned long last = step < first + count ? step : first + count - 1;
	const double steps = (double)(last - first + 1);
	unsigned copies;
	FILE *out;

	reported = 1;
	(void)total_us(COPY, &copies);
	if (step < first || !copies)
		return;
	out = path ? fopen(path, "ae") : stderr;
	if (!out)
		return;
	read_times();
	if (only_ends)
		join_kernels();
	print(out, "steps measured", steps, "1");
	if (lost)
		print(out, "commands that had no place", lost, "1");
	print_device(out, steps);
	print_host(out, steps);
	if (path)
		(void)fclose(out);
	if (ends && !only_ends)
		open_second();
}

__attribute__((destructor)) static void end(void)
{
	if (!reported)
		report();
}

/* ---- Calls ---- */

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
				      cl_command_queue_properties properties, cl_int *ret)
{
	static cl_command_queue (*next)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);

	if (!next)
		NEXT(clCreateCommandQueue, next);
	return next(context, device, properties | CL_QUEUE_PROFILING_ENABLE, ret);
}

/* Tells whether the next launch gets an event of ours. */
static int is_noted(void)
{
	if (!is_measured(step) || (only_ends && begun == step))
		return 0;
	begun = step;
	return 1;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			      const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
			      const cl_event *wait, cl_event *ret_event)
{
	static cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
			      const size_t *, cl_uint, const cl_event *, cl_event *);
	const int noted = is_noted();
	const double start = now_us();
	cl_event event = NULL;
	cl_int code;

	if (!next)
		NEXT(clEnqueueNDRangeKernel, next);
	code = next(queue, kernel, dimensions, offset, global, local, waits, wait,
		    noted ? &event : ret_event);
	note_call(KERNEL, start);
	if (code == CL_SUCCESS && noted)
		note_command(KERNEL, step, event, ret_event);
	return code;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset,
			    size_t bytes, const void *data, cl_uint waits, const cl_event *wait,
			    cl_event *ret_event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
			      const cl_event *, cl_event *);
	const double start = now_us();
	cl_event event = NULL;
	cl_int code;

	if (!next)
		NEXT(clEnqueueWriteBuffer, next);
	code = next(queue, buffer, blocks, offset, bytes, data, waits, wait, &event);
	note_call(COPY, start);
	if (code != CL_SUCCESS)
		return code;
	copied_bytes += is_measured(step + 1) ? bytes : 0;
	note_command(COPY, step + 1, event, ret_event);
	return code;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
			   void *data, cl_uint waits, const cl_event *wait, cl_event *ret_event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
			      const cl_event *, cl_event *);
	const double start = now_us();
	cl_event event = NULL;
	cl_int code;

	if (!next)
		NEXT(clEnqueueReadBuffer, next);
	code = next(queue, buffer, blocks, offset, bytes, data, waits, wait, &event);
	note_call(READ, start);
	if (code == CL_SUCCESS)
		note_command(READ, step, event, ret_event);
	return code;
}

cl_int clWaitForEvents(cl_uint events, const cl_event *event)
{
	static cl_int (*next)(cl_uint, const cl_event *);
	const double start = now_us();
	cl_int code;

	if (!next)
		NEXT(clWaitForEvents, next);
	code = next(events, event);
	note_call(WAIT, start);
	return code;
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event *wait,
				    cl_event *ret_event)
{
	static cl_int (*next)(cl_command_queue, cl_uint, const cl_event *, cl_event *);

	if (!next)
		NEXT(clEnqueueBarrierWithWaitList, next);
	step++;
	if (!reported && step >= first + count + STEPS_LATER)
		report();
	return next(queue, waits, wait, ret_event);
}
