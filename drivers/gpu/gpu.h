/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compute device through OpenCL 1.2 and the ICD loader: one context, one in-order queue, buffers, programs,
 * kernels. A CPU device (PoCL) is a real device: it uses host memory in place.
 *
 * Order: gpu_open -> gpu_program_build -> gpu_kernel_create -> (gpu_kernel_set*, gpu_launch)* -> free in
 * reverse. Cost: launches, writes, reads and copies only enqueue unless they say "blocks"; none allocates in
 * our own code. Threads: one, except gpu_event_wait(), gpu_buffer_fetch() and gpu_event_free(), which any
 * thread may call. Errors: every cl_int is checked and named in the text, with the device, and with kernel
 * and global size where there is one. -ENODEV no such device, or it is lost; -ENOEXEC a build failed (the
 * text holds options and the start of the build log); -ENOMEM; -EIO anything else.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;
struct gpu_buffer;
struct gpu_program;
struct gpu_kernel;

/* A command's completion; zeroed = none. */
struct gpu_event {
	void *handle;
	const struct gpu *gpu;
};

/* One file of a program; `name` shows in build messages. */
struct gpu_source {
	const char *name, *text;
	size_t bytes;
};

/* Open a device. `platform`: "auto" or part of its name, in any case; `type`: enum config_device, where
 * DEVICE_AUTO prefers a GPU to a CPU; one below OpenCL 1.2 is passed over. Makes a directory for PoCL's files
 * below PATH_RUNTIME and points PoCL at it unless POCL_CACHE_DIR is set: PoCL ends the program when it cannot
 * write there, so that is checked here. Where the process may use all cores, sets POCL_AFFINITY unless it is
 * set: each of PoCL's threads stays on a core of its own. */
MUST_CHECK int gpu_open(const char *platform, int type, struct gpu **ret_gpu, struct error *err);
void gpu_close(struct gpu *gpu);
void gpu_closep(struct gpu **gpu);

bool gpu_is_cpu(const struct gpu *gpu);
/* Work-groups that run at the same time, about. */
uint32_t gpu_units(const struct gpu *gpu);
/* "PLATFORM: DEVICE, driver VERSION" */
const char *gpu_description(const struct gpu *gpu);

/* What the device has, and the most of it in one buffer. Others may be using some of it. */
struct gpu_memory {
	uint64_t bytes, buffer_bytes;
};
struct gpu_memory gpu_memory(const struct gpu *gpu);

/* Device memory of all zeros. On a CPU device it is host memory, see gpu_buffer_fetch(). */
MUST_CHECK int gpu_buffer_create(struct gpu *gpu, uint64_t bytes, struct gpu_buffer **ret_buffer,
				 struct error *err);
/* CPU devices only: the caller's memory, read in place; it must outlive the kernels that read it. */
MUST_CHECK int gpu_buffer_wrap(struct gpu *gpu, const void *host, uint64_t bytes,
			       struct gpu_buffer **ret_buffer, struct error *err);
/* A part of a buffer; `offset` is a multiple of GPU_ALIGN_BYTES. It must be freed before its whole. */
#define GPU_ALIGN_BYTES 512u
MUST_CHECK int gpu_buffer_part(struct gpu_buffer *whole, uint64_t offset, uint64_t bytes,
			       struct gpu_buffer **ret_buffer, struct error *err);
void gpu_buffer_free(struct gpu_buffer *buffer);
void gpu_buffer_freep(struct gpu_buffer **buffer);

/* Host memory -> buffer. `wait`: blocks until the memory may be reused. */
MUST_CHECK int gpu_write(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, const void *data,
			 uint64_t bytes, bool wait, struct error *err);
/* Buffer -> host memory. With ret_event NULL it blocks; otherwise `data` is valid after the event. */
MUST_CHECK int gpu_read(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, void *data,
			uint64_t bytes, struct gpu_event *ret_event, struct error *err);
/* The whole of `from` into `to`, which is at least as large. */
MUST_CHECK int gpu_copy(struct gpu *gpu, struct gpu_buffer *from, struct gpu_buffer *to,
			struct gpu_event *ret_event, struct error *err);
/* Host view of a buffer made by gpu_buffer_create() once `after` is complete. Blocks; on a CPU device nothing
 * is copied. The view holds until the buffer is written again. */
MUST_CHECK int gpu_buffer_fetch(struct gpu *gpu, struct gpu_buffer *buffer, const struct gpu_event *after,
				const void **ret_host, struct error *err);

MUST_CHECK int gpu_event_wait(const struct gpu_event *event, struct error *err);
bool gpu_event_done(const struct gpu_event *event);
void gpu_event_free(struct gpu_event *event);
/* Start what is enqueued. */
MUST_CHECK int gpu_flush(struct gpu *gpu, struct error *err);
/* Blocks until the queue is empty; never in a step. */
MUST_CHECK int gpu_finish(struct gpu *gpu, struct error *err);

/* Build from sources, or load the cached binary of (platform, device, driver, options, sources). */
MUST_CHECK int gpu_program_build(struct gpu *gpu, const struct gpu_source *sources, uint32_t count,
				 const char *options, struct gpu_program **ret_program, struct error *err);
/* Cache the binary; once: later calls and cache hits do nothing. Errors: of the file or the device; they only
 * mean that the next start compiles again. Call it while the queue is empty and after every kernel ran once:
 * it then takes some 5 ms. PoCL compiles a kernel at its first launch or here, which costs seconds, and
 * PoCL 3.1 aborts (pocl_release_dlhandle_cache) when another thread asks for the binary while kernels run. */
MUST_CHECK int gpu_program_save(struct gpu_program *program, struct error *err);
/* True when the binary came from the cache. */
bool gpu_program_cached(const struct gpu_program *program);
void gpu_program_free(struct gpu_program *program);
void gpu_program_freep(struct gpu_program **program);

/* Every kernel declares reqd_work_group_size. The object keeps its arguments between launches. */
MUST_CHECK int gpu_kernel_create(struct gpu_program *program, const char *name,
				 struct gpu_kernel **ret_kernel, struct error *err);
void gpu_kernel_free(struct gpu_kernel *kernel);
MUST_CHECK int gpu_kernel_set(struct gpu_kernel *kernel, uint32_t index, const void *value, size_t bytes,
			      struct error *err);
/* NULL gives the kernel a null pointer. */
MUST_CHECK int gpu_kernel_set_buffer(struct gpu_kernel *kernel, uint32_t index,
				     const struct gpu_buffer *buffer, struct error *err);
/* Enqueue `groups` work-groups in two dimensions. */
MUST_CHECK int gpu_launch(struct gpu *gpu, struct gpu_kernel *kernel, const uint64_t groups[static 2],
			  struct error *err);
