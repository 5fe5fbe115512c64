/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "drivers/digest/digest.h"
#include "drivers/digest/mbedtls.h"
#include "drivers/gpu/gpu.h"
#include "drivers/gpu/internal.h"
#include "drivers/gpu/ptx.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCES_MAX      64u
#define BINARY_MAX_BYTES (UINT64_C(256) << 20)
#define CACHE_MAX_BYTES \
	(UINT64_C(512) << 20) /* limit of all cached binaries together; a binary has a few MB */
#define DIGEST_BYTES  32u
#define BUILD_LOG_MAX (ERROR_TEXT_MAX - 200u)

struct gpu_program {
	struct gpu *gpu;
	cl_program program;
	char cache_file[PATH_BYTES];
	bool cached, saved;
};

struct gpu_kernel {
	const struct gpu *gpu;
	cl_kernel kernel;
	size_t local[3];
	char name[64];
};

/* Names the cache file by the SHA-256 of everything that the binary depends on. The file contains the SHA-256
 * of the binary, then the binary: so a damaged file is not used, and cannot crash the device's driver. */
static void cache_name(const struct gpu *gpu, const struct gpu_source *sources, uint32_t count,
		       const char *options, char out[static PATH_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	char name[2 * DIGEST_BYTES + sizeof(GPU_BINARY_END)];
	mbedtls_sha256_context sha;

	mbedtls_sha256_init(&sha);
	(void)mbedtls_sha256_starts(&sha, 0);
	(void)mbedtls_sha256_update(&sha, (const uint8_t *)gpu->identity, strlen(gpu->identity) + 1);
	(void)mbedtls_sha256_update(&sha, (const uint8_t *)options, strlen(options) + 1);
	(void)mbedtls_sha256_update(&sha, (const uint8_t *)PTX_VERSION, sizeof(PTX_VERSION));
	for (uint32_t i = 0; i < count; i++)
		(void)mbedtls_sha256_update(&sha, (const uint8_t *)sources[i].text, sources[i].bytes);
	(void)mbedtls_sha256_finish(&sha, digest);
	mbedtls_sha256_free(&sha);
	digest_hex(digest, DIGEST_BYTES, name);
	memcpy(name + 2 * (size_t)DIGEST_BYTES, GPU_BINARY_END, sizeof(GPU_BINARY_END));
	(void)path_of(PATH_KERNELS, name, out);
}

/* Makes and builds the program from the cached binary, which counts as used then (gpu_prune()). Returns false
 * where the cache has no usable binary. */
static bool load_cached(struct gpu_program *program, const char *options)
{
	CLEANUP(free_ptr) char *file = NULL;
	uint8_t digest[DIGEST_BYTES];
	const unsigned char *binary;
	uint64_t bytes = 0;
	size_t binary_bytes;
	cl_int code, status = CL_SUCCESS;

	if (file_read(program->cache_file, BINARY_MAX_BYTES, &file, &bytes, NULL) < 0 ||
	    bytes <= DIGEST_BYTES)
		return false;
	binary = (const unsigned char *)file + DIGEST_BYTES;
	binary_bytes = bytes - DIGEST_BYTES;
	(void)mbedtls_sha256(binary, binary_bytes, digest, 0);
	if (memcmp(digest, file, DIGEST_BYTES) != 0)
		return false;
	program->program = clCreateProgramWithBinary(program->gpu->context, 1, &program->gpu->device,
						     &binary_bytes, &binary, &status, &code);
	if (code == CL_SUCCESS && status == CL_SUCCESS &&
	    clBuildProgram(program->program, 1, &program->gpu->device, options, NULL, NULL) == CL_SUCCESS) {
		(void)utimensat(AT_FDCWD, program->cache_file, NULL, 0);
		return true;
	}
	if (program->program)
		(void)clReleaseProgram(program->program);
	program->program = NULL;
	return false;
}

static int build_error(const struct gpu_program *program, const char *options, cl_int code, struct error *err)
{
	CLEANUP(free_ptr) char *log = NULL;
	size_t bytes = 0;

	(void)clGetProgramBuildInfo(program->program, program->gpu->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
				    &bytes);
	log = calloc(1, bytes + 1);
	if (log)
		(void)clGetProgramBuildInfo(program->program, program->gpu->device, CL_PROGRAM_BUILD_LOG,
					    bytes, log, NULL);
	return cl_error(program->gpu, err, code, "kernels do not build, options %s: %.*s", options,
			(int)BUILD_LOG_MAX / 2, log ? log : "");
}

static int build(struct gpu_program *program, const struct gpu_source *sources, uint32_t count,
		 const char *options, struct error *err)
{
	char line[SOURCES_MAX][128];
	const char *text[2 * SOURCES_MAX];
	size_t bytes[2 * SOURCES_MAX];
	cl_int code;

	/* Restart the line numbers at each file, so that build messages give the line numbers of the source
	 * files. */
	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(line[i], sizeof(line[i]), "\n#line 1 \"%s\"\n", sources[i].name);
		text[2 * (size_t)i] = line[i];
		bytes[2 * (size_t)i] = strlen(line[i]);
		text[2 * (size_t)i + 1] = sources[i].text;
		bytes[2 * (size_t)i + 1] = sources[i].bytes;
	}
	program->program = clCreateProgramWithSource(program->gpu->context, 2 * count, text, bytes, &code);
	if (code != CL_SUCCESS)
		return cl_error(program->gpu, err, code, "clCreateProgramWithSource");
	code = clBuildProgram(program->program, 1, &program->gpu->device, options, NULL, NULL);
	return code == CL_SUCCESS ? 0 : build_error(program, options, code, err);
}

/* Reads the binary of a program into ret_file, after `before` bytes for the caller. */
static int read_binary(const struct gpu_program *program, size_t before, uint8_t **ret_file,
		       size_t *ret_bytes, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *file = NULL;
	unsigned char *binary;
	size_t bytes = 0;
	cl_int code =
		clGetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, NULL);

	if (code != CL_SUCCESS)
		return cl_error(program->gpu, err, code, "CL_PROGRAM_BINARY_SIZES");
	if (!bytes || bytes > BINARY_MAX_BYTES)
		return error_set(err, -EFBIG, "%s: found a binary of %zu bytes, allowed: 1 .. %" PRIu64,
				 program->gpu->description, bytes, BINARY_MAX_BYTES);
	file = malloc(before + bytes);
	if (!file)
		return error_set(err, -ENOMEM, "no memory for a binary of %zu bytes", bytes);
	binary = file + before;
	code = clGetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	if (code != CL_SUCCESS)
		return cl_error(program->gpu, err, code, "CL_PROGRAM_BINARIES");
	*ret_file = TAKE(file);
	*ret_bytes = bytes;
	return 0;
}

static int ptx_refused(const struct gpu_program *program, int code, struct error *err)
{
	if (code == -ENOMEM)
		return error_set(err, code, "no memory for PTX");
	return error_set(err, -ENOEXEC, "%s: a program with instructions of sm_90a has a binary %s",
			 program->gpu->description,
			 code == -ENOENT ? "without them" : "that is no PTX for sm_90");
}

/* Builds a program with instructions of sm_90a (ptx.h) again, for that architecture. */
static int build_for_sm_90a(struct gpu_program *program, const char *options, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *binary = NULL;
	CLEANUP(free_ptr) char *ptx = NULL;
	const unsigned char *text;
	size_t bytes = 0;
	cl_int code, status = CL_SUCCESS;
	int r = read_binary(program, 0, &binary, &bytes, err);

	if (r < 0)
		return r;
	r = ptx_for_sm_90a((const char *)binary, bytes, &ptx);
	if (r < 0)
		return ptx_refused(program, r, err);
	(void)clReleaseProgram(program->program);
	text = (const unsigned char *)ptx;
	bytes = strlen(ptx) + 1;
	program->program = clCreateProgramWithBinary(program->gpu->context, 1, &program->gpu->device, &bytes,
						     &text, &status, &code);
	if (code == CL_SUCCESS)
		code = status;
	if (code == CL_INVALID_BINARY)
		return error_set(err, -ENOEXEC, "%s: the driver refuses PTX for sm_90a",
				 program->gpu->description);
	if (code != CL_SUCCESS)
		return cl_error(program->gpu, err, code, "PTX for sm_90a");
	code = clBuildProgram(program->program, 1, &program->gpu->device, options, NULL, NULL);
	return code == CL_SUCCESS ? 0 : build_error(program, options, code, err);
}

/* cl_nv_device_attribute_query */
#define CAPABILITY_MAJOR_NV 0x4000
#define CAPABILITY_MINOR_NV 0x4001

uint32_t gpu_nvidia_capability(const struct gpu *gpu)
{
	cl_uint major = 0, minor = 0;

	if (clGetDeviceInfo(gpu->device, CAPABILITY_MAJOR_NV, sizeof(major), &major, NULL) != CL_SUCCESS ||
	    clGetDeviceInfo(gpu->device, CAPABILITY_MINOR_NV, sizeof(minor), &minor, NULL) != CL_SUCCESS)
		return 0;
	return 10 * major + minor;
}

/* The number that PCI gives AMD. */
#define VENDOR_AMD 0x1002

bool gpu_is_amd(const struct gpu *gpu)
{
	cl_uint vendor = 0;

	return !gpu->cpu &&
	       clGetDeviceInfo(gpu->device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor, NULL) ==
		       CL_SUCCESS &&
	       vendor == VENDOR_AMD;
}

int gpu_program_build(struct gpu *gpu, const struct gpu_source *sources, uint32_t count, const char *options,
		      struct gpu_program **ret_program, struct error *err)
{
	CLEANUP(gpu_program_freep) struct gpu_program *program = calloc(1, sizeof(*program));
	int r;

	if (!program)
		return error_set(err, -ENOMEM, "program: out of memory");
	if (count > SOURCES_MAX)
		return error_set(err, -E2BIG, "program of %u sources, at most %u", count, SOURCES_MAX);
	program->gpu = gpu;
	cache_name(gpu, sources, count, options, program->cache_file);
	program->cached = load_cached(program, options);
	if (!program->cached) {
		if ((r = build(program, sources, count, options, err)) < 0 ||
		    (strstr(options, GPU_SM_90A) && (r = build_for_sm_90a(program, options, err)) < 0))
			return r;
	}
	*ret_program = TAKE(program);
	return 0;
}

int gpu_program_save(struct gpu_program *program, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *file = NULL;
	char directory[PATH_BYTES];
	size_t bytes = 0;
	int r;

	if (program->cached || program->saved)
		return 0;
	program->saved = true; /* set also after a failure: only one try; the next start compiles again */
	if ((r = path_make(path_of(PATH_KERNELS, NULL, directory), err)) < 0 ||
	    (r = read_binary(program, DIGEST_BYTES, &file, &bytes, err)) < 0)
		return r;
	(void)mbedtls_sha256(file + DIGEST_BYTES, bytes, file, 0);
	r = file_write_durable(program->cache_file, file, DIGEST_BYTES + bytes, err);
	if (r == 0)
		gpu_prune(directory, CACHE_MAX_BYTES);
	return r;
}

bool gpu_program_cached(const struct gpu_program *program)
{
	return program->cached;
}

void gpu_program_free(struct gpu_program *program)
{
	if (!program)
		return;
	if (program->program)
		(void)clReleaseProgram(program->program);
	free(program);
}

void gpu_program_freep(struct gpu_program **program)
{
	gpu_program_free(*program);
}

int gpu_kernel_create(struct gpu_program *program, const char *name, struct gpu_kernel **ret_kernel,
		      struct error *err)
{
	struct gpu_kernel *kernel = calloc(1, sizeof(*kernel));
	cl_int code;

	if (!kernel)
		return error_set(err, -ENOMEM, "kernel %s: out of memory", name);
	kernel->gpu = program->gpu;
	(void)snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	kernel->kernel = clCreateKernel(program->program, name, &code);
	if (code == CL_SUCCESS)
		code = clGetKernelWorkGroupInfo(kernel->kernel, program->gpu->device,
						CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(kernel->local),
						kernel->local, NULL);
	if (code != CL_SUCCESS) {
		gpu_kernel_free(kernel);
		return cl_error(program->gpu, err, code, "kernel %s", name);
	}
	if (!kernel->local[0] || !kernel->local[1]) {
		gpu_kernel_free(kernel);
		return error_set(err, -ENOEXEC, "kernel %s declares no reqd_work_group_size", name);
	}
	*ret_kernel = kernel;
	return 0;
}

void gpu_kernel_free(struct gpu_kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->kernel)
		(void)clReleaseKernel(kernel->kernel);
	free(kernel);
}

int gpu_kernel_set(struct gpu_kernel *kernel, uint32_t index, const void *value, size_t bytes,
		   struct error *err)
{
	cl_int code = clSetKernelArg(kernel->kernel, index, bytes, value);

	return code == CL_SUCCESS
		       ? 0
		       : cl_error(kernel->gpu, err, code, "kernel %s, argument %u", kernel->name, index);
}

int gpu_kernel_set_buffer(struct gpu_kernel *kernel, uint32_t index, const struct gpu_buffer *buffer,
			  struct error *err)
{
	return gpu_kernel_set(kernel, index, buffer ? &buffer->memory : NULL, sizeof(cl_mem), err);
}

int gpu_launch(struct gpu *gpu, struct gpu_kernel *kernel, const uint64_t groups[static 2], struct error *err)
{
	const size_t global[2] = { groups[0] * kernel->local[0], groups[1] * kernel->local[1] };
	cl_int code;

	if (!gpu->cpu && groups[1] > GPU_GROUPS_MAX)
		return error_set(err, -EINVAL,
				 "%s: kernel %s: %" PRIu64 " groups in the second dimension, allowed: %u; "
				 "lower run.batch_rows",
				 gpu->description, kernel->name, groups[1], GPU_GROUPS_MAX);
	code = clEnqueueNDRangeKernel(gpu->queue, kernel->kernel, 2, NULL, global, kernel->local, 0, NULL,
				      NULL);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "kernel %s, global size %zu x %zu", kernel->name, global[0],
				global[1]);
	return 0;
}
