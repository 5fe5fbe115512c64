/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* Codes that Khronos' headers do not have: of NVIDIA's driver, and of the ICD loader without a platform. */
#define FAULT_NV        (-9999)
#define NO_PLATFORM_KHR (-1001)

static const struct {
	cl_int code;
	const char *name;
} code_names[] = {
	{ CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND" },
	{ CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE" },
	{ CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE" },
	{ CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
	{ CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES" },
	{ CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY" },
	{ CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE" },
	{ CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET" },
	{ CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
	{ CL_INVALID_VALUE, "CL_INVALID_VALUE" },
	{ CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM" },
	{ CL_INVALID_DEVICE, "CL_INVALID_DEVICE" },
	{ CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT" },
	{ CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE" },
	{ CL_INVALID_HOST_PTR, "CL_INVALID_HOST_PTR" },
	{ CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT" },
	{ CL_INVALID_BINARY, "CL_INVALID_BINARY" },
	{ CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS" },
	{ CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM" },
	{ CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE" },
	{ CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME" },
	{ CL_INVALID_KERNEL, "CL_INVALID_KERNEL" },
	{ CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX" },
	{ CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE" },
	{ CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE" },
	{ CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS" },
	{ CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE" },
	{ CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE" },
	{ CL_INVALID_EVENT, "CL_INVALID_EVENT" },
	{ CL_INVALID_OPERATION, "CL_INVALID_OPERATION" },
	{ CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE" },
	{ FAULT_NV, "a kernel read or wrote outside its buffers, as NVIDIA's driver says" },
	{ NO_PLATFORM_KHR, "CL_PLATFORM_NOT_FOUND_KHR" },
};

const char *cl_error_name(cl_int code)
{
	for (size_t i = 0; i < sizeof(code_names) / sizeof(*code_names); i++)
		if (code_names[i].code == code)
			return code_names[i].name;
	return "an unnamed OpenCL error";
}

/* ---- What the driver says ---- */

struct said {
	pthread_mutex_t lock;
	char text[200]; /* the last message; "" = none */
};

struct said *said_new(void)
{
	struct said *said = calloc(1, sizeof(*said));

	if (said)
		(void)pthread_mutex_init(&said->lock, NULL);
	return said;
}

void CL_CALLBACK gpu_said(const char *text, const void *more, size_t bytes, void *context)
{
	struct said *said = context;

	(void)more;
	(void)bytes;
	if (!said)
		return; /* oclgrind 21.10 forgets what the context was made with */
	(void)pthread_mutex_lock(&said->lock);
	(void)snprintf(said->text, sizeof(said->text), "%s", text);
	(void)pthread_mutex_unlock(&said->lock);
}

/* Takes the last message, so that a later error does not repeat it. */
static void take_said(struct said *said, char out[static sizeof(said->text)])
{
	(void)pthread_mutex_lock(&said->lock);
	memcpy(out, said->text, sizeof(said->text));
	*said->text = '\0';
	(void)pthread_mutex_unlock(&said->lock);
}

/* ---- What an error means ---- */

enum meaning { NO_MEMORY, NO_DEVICE, NO_PROGRAM, FAULT, MISTAKE };

/* Drivers report CL_OUT_OF_RESOURCES when an allocation fails, but also when a kernel faults or takes too
 * long. */
static enum meaning meaning_of(cl_int code, bool allocates)
{
	switch (code) {
	case CL_DEVICE_NOT_FOUND:
	case CL_DEVICE_NOT_AVAILABLE:
	case NO_PLATFORM_KHR:
		return NO_DEVICE;
	case CL_BUILD_PROGRAM_FAILURE:
	case CL_INVALID_BINARY:
		return NO_PROGRAM;
	case CL_MEM_OBJECT_ALLOCATION_FAILURE:
	case CL_OUT_OF_HOST_MEMORY:
	case CL_INVALID_BUFFER_SIZE:
		return NO_MEMORY;
	case CL_OUT_OF_RESOURCES:
		return allocates ? NO_MEMORY : FAULT;
	case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
	case CL_INVALID_COMMAND_QUEUE:
	case FAULT_NV:
		return FAULT;
	default:
		return MISTAKE;
	}
}

static const struct {
	int code;
	const char *advice;
} meanings[] = {
	[NO_MEMORY] = { -ENOMEM, "; lower run.batch_rows, or end what else uses the device's memory" },
	[NO_DEVICE] = { -ENODEV, "" },
	[NO_PROGRAM] = { -ENOEXEC, "" },
	[FAULT] = { -EIO, "; a command failed on the device: `journalctl -k` shows what its driver wrote" },
	[MISTAKE] = { -EIO, "" },
};

static int set_error(const struct gpu *gpu, struct error *err, cl_int code, bool allocates,
		     const char *format, va_list args)
{
	const enum meaning meaning = meaning_of(code, allocates);
	char what[ERROR_TEXT_MAX / 2], said[sizeof(gpu->said->text)];

	(void)vsnprintf(what, sizeof(what), format, args);
	take_said(gpu->said, said);
	return error_set_lines(err, meanings[meaning].code, "%s: %s: %s (%d)%s%s%s", gpu->description, what,
			       cl_error_name(code), code, *said ? "; the driver says: " : "", said,
			       meanings[meaning].advice);
}

int cl_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = set_error(gpu, err, code, false, format, args);
	va_end(args);
	return r;
}

int cl_allocation_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = set_error(gpu, err, code, true, format, args);
	va_end(args);
	return r;
}
