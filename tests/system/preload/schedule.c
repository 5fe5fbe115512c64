/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: threads pause at random where they hand work to each other: at commands for an OpenCL queue, in
 * front of a rename and an fsync, and after a mutex is unlocked. The pauses of a thread depend on
 * KILN_SCHEDULE_SEED and on the order in which the threads came here first, so that a seed gives one family
 * of schedules as on a machine under load.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_uint threads;
static _Thread_local uint64_t state;

static uint64_t next_number(void)
{
	const char *seed = getenv("KILN_SCHEDULE_SEED");

	if (!state)
		state = (seed ? strtoull(seed, NULL, 10) : 1) * UINT64_C(0x9e3779b97f4a7c15) +
			atomic_fetch_add(&threads, 1) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Pauses for up to `most_us` in one of `one_in` cases. */
static void pause_sometimes(uint32_t one_in, uint32_t most_us)
{
	const uint64_t number = next_number();
	const struct timespec pause = { .tv_nsec = (long)((number >> 20) % most_us) * 1000L };

	if (number % one_in == 0)
		(void)nanosleep(&pause, NULL);
}

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

static int (*real_unlock)(pthread_mutex_t *mutex);

__attribute__((constructor)) static void find_unlock(void)
{
	NEXT(pthread_mutex_unlock, real_unlock);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int r;

	if (!real_unlock)
		find_unlock();
	r = real_unlock(mutex);
	pause_sometimes(256, 1000);
	return r;
}

int rename(const char *from, const char *to)
{
	int (*real)(const char *, const char *);

	NEXT(rename, real);
	pause_sometimes(2, 20000);
	return real(from, to);
}

int fsync(int fd)
{
	int (*real)(int);

	NEXT(fsync, real);
	pause_sometimes(2, 20000);
	return real(fd);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			      const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
			      const cl_event *wait, cl_event *event)
{
	static cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
			      const size_t *, cl_uint, const cl_event *, cl_event *);

	if (!real)
		NEXT(clEnqueueNDRangeKernel, real);
	pause_sometimes(64, 5000);
	return real(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			    size_t bytes, const void *data, cl_uint waits, const cl_event *wait,
			    cl_event *event)
{
	static cl_int (*real)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
			      const cl_event *, cl_event *);

	if (!real)
		NEXT(clEnqueueWriteBuffer, real);
	pause_sometimes(2, 10000);
	return real(queue, buffer, blocking, offset, bytes, data, waits, wait, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			   size_t to_offset, size_t bytes, cl_uint waits, const cl_event *wait,
			   cl_event *event)
{
	static cl_int (*real)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
			      const cl_event *, cl_event *);

	if (!real)
		NEXT(clEnqueueCopyBuffer, real);
	pause_sometimes(2, 10000);
	return real(queue, from, to, from_offset, to_offset, bytes, waits, wait, event);
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
	static cl_int (*real)(cl_uint, const cl_event *);
	cl_int code;

	if (!real)
		NEXT(clWaitForEvents, real);
	code = real(count, events);
	pause_sometimes(2, 5000);
	return code;
}
