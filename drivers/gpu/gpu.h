/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compute device through OpenCL 1.2 and the ICD loader: one context, one in-order queue, buffers, programs,
 * kernels. A CPU device (PoCL) uses host memory in place, without copies. A GPU has more queues: one for the
 * copies of gpu_send(), one for those of gpu_buffer_fetch(), one for those of gpu_receive().
 *
 * Order: gpu_list at any time; gpu_open -> gpu_program_build -> gpu_kernel_create -> (gpu_kernel_set*,
 * gpu_launch)* -> free in reverse. Cost: launches, writes, reads and copies only enqueue, unless they say
 * "blocks"; our own code allocates no memory in them. Threads: one, except gpu_event_wait(),
 * gpu_buffer_fetch() and gpu_event_free(), which any thread may call. Crash: leaves nothing but the cache of
 * binaries, whose files have a checksum. Errors: every cl_int is checked; the text has its name, the device,
 * the kernel and the global size. -ENODEV no such device, or it is lost; -EINVAL several devices fit;
 * -ENOEXEC a build failed (the text has the options and the start of the build log); -ENOMEM; -EIO anything
 * else, such as a kernel that faults. The text also has what the driver said, and what to do.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "drivers/gpu/choose.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;
struct gpu_buffer;
struct gpu_host;
struct gpu_program;
struct gpu_kernel;

/* A handle by which one waits for the end of a command; zeroed = no command. */
struct gpu_event {
	void *handle;
	const struct gpu *gpu;
};

/* A source file of a program; `name` appears in build messages. */
struct gpu_source {
	const char *name, *text;
	size_t bytes;
};

/* Lists the devices of all OpenCL platforms, GPUs first, for gpu_choose(); the caller frees the list with
 * free(). Sets environment variables of drivers, unless they are set already. CUDA_CACHE_PATH is where
 * NVIDIA's driver stores what it compiled: a folder in PATH_KERNELS. POCL_CACHE_DIR is a directory below
 * PATH_RUNTIME; gpu_list() checks that it is writable, because PoCL would abort the process otherwise.
 * POCL_AFFINITY lets each of PoCL's threads stay on one core; it is set only where the process may use all
 * cores. Errors: -ENODEV no platform; -ENOMEM; those of the directory. */
MUST_CHECK int gpu_list(struct gpu_listed **ret_list, unsigned *ret_count, struct error *err);
/* Opens the device that gpu_choose() finds (drivers/gpu/choose.h) among those of gpu_list(). */
MUST_CHECK int gpu_open(const struct gpu_wish *wish, struct gpu **ret_gpu, struct error *err);
/* Any device: the first GPU, or the first CPU where there is none. */
#define GPU_ANY ((struct gpu_wish){ .platform = "auto", .type = DEVICE_AUTO, .id = "auto" })
void gpu_close(struct gpu *gpu);
void gpu_closep(struct gpu **gpu);

bool gpu_is_cpu(const struct gpu *gpu);
/* Returns about how many work-groups run at the same time. */
uint32_t gpu_units(const struct gpu *gpu);
/* Returns the compute capability of an NVIDIA GPU, 90 for 9.0; 0: the device is another. */
uint32_t gpu_nvidia_capability(const struct gpu *gpu);
/* Returns whether the device is a GPU of AMD. */
bool gpu_is_amd(const struct gpu *gpu);
/* Finds the cores of the memory node of the device. Returns false where that is not known. */
bool gpu_cores(const struct gpu *gpu, cpu_set_t *ret_cores);
/* Returns "PLATFORM: DEVICE, driver VERSION". */
const char *gpu_description(const struct gpu *gpu);

/* The device's memory in all, and the size of the largest single buffer that the device promises; some
 * devices give larger ones. Other processes may use some of this memory. */
struct gpu_memory {
	uint64_t bytes, buffer_bytes;
};
struct gpu_memory gpu_memory(const struct gpu *gpu);

/* Allocates device memory and fills it with zeros. Blocks until it is filled. On a CPU device this is host
 * memory, which gpu_buffer_fetch() need not copy; a page of it takes memory once it is written. Errors:
 * -ENOMEM the device has no room for it. */
MUST_CHECK int gpu_buffer_create(struct gpu *gpu, uint64_t bytes, struct gpu_buffer **ret_buffer,
				 struct error *err);
/* CPU devices only: makes a buffer of the caller's memory, which kernels read in place. The memory must
 * outlive these kernels. */
MUST_CHECK int gpu_buffer_wrap(struct gpu *gpu, const void *host, uint64_t bytes,
			       struct gpu_buffer **ret_buffer, struct error *err);
#define GPU_ALIGN_BYTES 512u
/* Makes a buffer that is a range of the buffer `whole`; `offset` is a multiple of GPU_ALIGN_BYTES. Ranges
 * may overlap. Free them in any order, all before `whole`; one thread at a time makes and frees the ranges of
 * a buffer. */
MUST_CHECK int gpu_buffer_sub(struct gpu_buffer *whole, uint64_t offset, uint64_t bytes,
			      struct gpu_buffer **ret_buffer, struct error *err);
void gpu_buffer_free(struct gpu_buffer *buffer);
void gpu_buffer_freep(struct gpu_buffer **buffer);

/* Returns whether the device has memory of its own and a driver that pins host memory: then copies from and
 * into the memory of a struct gpu_host run while caller and kernels go on, others may not. False on a CPU.
 * Whether the driver pins is known after the first gpu_host_create(): until then true is a guess, and one
 * that fails makes it false for the device from then on. */
bool gpu_stages(const struct gpu *gpu);
/* Makes zeroed host memory, pinned where gpu_stages() says so; else, and where the driver pins none, it is
 * normal memory. Frees nothing in use: free it when the copies from and into it are complete. Errors:
 * -ENOMEM. */
MUST_CHECK int gpu_host_create(struct gpu *gpu, uint64_t bytes, struct gpu_host **ret_host,
			       struct error *err);
/* Pins the caller's memory where gpu_stages() says so, which takes 1 ms for 5 to 25 MB. The memory begins at
 * a page, may be written, and stays mapped until gpu_host_free(): NVIDIA's driver does not pin a mapping for
 * reading alone, without an error. A driver may keep a copy of it in device memory; nobody has measured
 * whether one does. Errors: -ENOMEM and others of the driver, which does not pin it; the memory can be used
 * as before. */
MUST_CHECK int gpu_host_wrap(struct gpu *gpu, void *memory, uint64_t bytes, struct gpu_host **ret_host,
			     struct error *err);
void *gpu_host_memory(const struct gpu_host *host);
/* Call it before gpu_close(). Accepts NULL. */
void gpu_host_free(struct gpu_host *host);
void gpu_host_freep(struct gpu_host **host);

/* Copies host memory into the buffer. With `wait` blocks until the host memory may be changed again. */
MUST_CHECK int gpu_write(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, const void *data,
			 uint64_t bytes, bool wait, struct error *err);
/* GPUs only: copies host memory into the buffer while kernels run. Nobody may change the host memory, and no
 * kernel may use the buffer, until the launches after the next gpu_await_sent() are done; only then may the
 * same bytes be sent to again. Where gpu_stages() says so, the call returns at once for the memory of a
 * struct gpu_host; for other memory the driver may copy while the caller waits. */
MUST_CHECK int gpu_send(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, const void *data,
			uint64_t bytes, struct error *err);
/* GPUs only: the commands enqueued from now on begin when every copy of gpu_send() so far is complete. */
MUST_CHECK int gpu_await_sent(struct gpu *gpu, struct error *err);
/* Copies the buffer into host memory. Blocks where ret_event is NULL; otherwise `data` is valid once the
 * event is complete. */
MUST_CHECK int gpu_read(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, void *data,
			uint64_t bytes, struct gpu_event *ret_event, struct error *err);
/* GPUs only: copies a range of the buffer into host memory, beside the commands that are enqueued from now
 * on, and when those enqueued before are complete. No later kernel may write the range before the event is
 * complete; then `data` is valid. Starts the commands before, as gpu_flush() does. The copy runs beside
 * kernels where `data` is memory of a struct gpu_host and gpu_stages() says so. */
MUST_CHECK int gpu_receive(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, void *data,
			   uint64_t bytes, struct gpu_event *ret_event, struct error *err);
/* CPU devices only: returns the memory of a buffer made by gpu_buffer_create(), which kernels use in place.
 * The caller reads and writes those ranges of it that no kernel uses at that time. */
void *gpu_buffer_memory(const struct gpu_buffer *buffer);
/* Makes an event that is complete when all commands enqueued so far are. */
MUST_CHECK int gpu_mark(struct gpu *gpu, struct gpu_event *ret_event, struct error *err);
/* Copies the whole buffer `from` into `to`, which must be at least as large. */
MUST_CHECK int gpu_copy(struct gpu *gpu, struct gpu_buffer *from, struct gpu_buffer *to,
			struct gpu_event *ret_event, struct error *err);
/* Waits until `after` is complete, then points *ret_host at the contents of a buffer made by
 * gpu_buffer_create(). Blocks. Copies nothing on a CPU device. The view is valid until the buffer is written
 * again. */
MUST_CHECK int gpu_buffer_fetch(struct gpu *gpu, struct gpu_buffer *buffer, const struct gpu_event *after,
				const void **ret_host, struct error *err);

MUST_CHECK int gpu_event_wait(const struct gpu_event *event, struct error *err);
bool gpu_event_done(const struct gpu_event *event);
void gpu_event_free(struct gpu_event *event);
/* Makes the device start the commands in the queue. */
MUST_CHECK int gpu_flush(struct gpu *gpu, struct error *err);
/* Blocks until the queue is empty, and the copies of gpu_send() are complete. Too slow for use within a
 * training step. */
MUST_CHECK int gpu_finish(struct gpu *gpu, struct error *err);

/* The option of programs with instructions that of NVIDIA's GPUs only those of architecture sm_90a have, of
 * compute capability 9.0. Each instruction is inline PTX behind a mark (drivers/gpu/ptx.h). */
#define GPU_SM_90A "-DWARP_GROUPS"

/* Loads the cached binary for this platform, device, driver, options and sources or, where there is none,
 * builds the sources. With the option GPU_SM_90A it then builds the PTX without the marks. Errors of that:
 * -ENOEXEC the binary is no PTX for sm_90, or has no mark; the driver refuses the PTX without them. */
MUST_CHECK int gpu_program_build(struct gpu *gpu, const struct gpu_source *sources, uint32_t count,
				 const char *options, struct gpu_program **ret_program, struct error *err);
/* Saves the binary in the cache. Above 512 MiB the cache loses those binaries that no program was made of for
 * longest. Does nothing where the binary came from the cache, or at a second call.
 * Errors: those of the file or the device; the only effect is that the next start compiles again. Call it
 * while the queue is empty and after every kernel has run once: then it takes about 5 ms. Before that it
 * takes seconds, because PoCL compiles here each kernel that was never launched. While kernels run on another
 * thread PoCL 3.1 aborts (pocl_release_dlhandle_cache). */
MUST_CHECK int gpu_program_save(struct gpu_program *program, struct error *err);
/* Returns whether the binary came from the cache. */
bool gpu_program_cached(const struct gpu_program *program);
void gpu_program_free(struct gpu_program *program);
void gpu_program_freep(struct gpu_program **program);

/* Every kernel declares reqd_work_group_size. A kernel object remembers its arguments from one launch to the
 * next. */
MUST_CHECK int gpu_kernel_create(struct gpu_program *program, const char *name,
				 struct gpu_kernel **ret_kernel, struct error *err);
void gpu_kernel_free(struct gpu_kernel *kernel);
MUST_CHECK int gpu_kernel_set(struct gpu_kernel *kernel, uint32_t index, const void *value, size_t bytes,
			      struct error *err);
/* Sets a buffer as an argument; NULL gives the kernel a null pointer. */
MUST_CHECK int gpu_kernel_set_buffer(struct gpu_kernel *kernel, uint32_t index,
				     const struct gpu_buffer *buffer, struct error *err);
/* Most groups in the second dimension on a GPU (CUDA C Programming Guide, "Technical Specifications per
 * Compute Capability"). */
#define GPU_GROUPS_MAX 65535u
/* Enqueues `groups` work-groups in two dimensions. Errors: -EINVAL too many in the second dimension. */
MUST_CHECK int gpu_launch(struct gpu *gpu, struct gpu_kernel *kernel, const uint64_t groups[static 2],
			  struct error *err);
