/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/memory/buffer.h"

#include "core/base/paths.h"
#include "drivers/hugepage/hugepage.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define FREE_DISK_TRIES 3u /* other threads may use up the freed space */

/* ---- The account ---- */

static bool add_memory(struct budget *budget, uint64_t bytes)
{
	/* relaxed: a counter that guards nothing else. */
	uint64_t memory = atomic_load_explicit(&budget->memory, memory_order_relaxed);

	do {
		if (bytes > budget->max || memory > budget->max - bytes)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&budget->memory, &memory, memory + bytes,
							memory_order_relaxed, memory_order_relaxed));
	return true;
}

static void give_back(struct budget *budget, bool spilled, uint64_t bytes)
{
	if (!budget)
		return;
	atomic_fetch_sub_explicit(spilled ? &budget->spilled : &budget->memory, bytes, memory_order_relaxed);
}

/* ---- In memory: records are read in random order, so large buffers lie on 2 MiB pages ---- */

static void *allocate(uint64_t bytes)
{
	return bytes >= HUGEPAGE_BYTES ? hugepage_map(bytes) : malloc(bytes);
}

static void free_pages(const struct buffer *buffer)
{
	if (buffer->spilled || buffer->allocated >= HUGEPAGE_BYTES)
		(void)munmap(buffer->output.data, buffer->allocated);
	else
		free(buffer->output.data);
}

/* Gives the whole pages back to the kernel. malloc() may share the first and the last page with other memory.
 */
static void forget_pages(const struct buffer *buffer)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)buffer->output.data,
		  first = (begin + page - 1) & ~(page - 1), end = (begin + buffer->allocated) & ~(page - 1);

	if (end > first)
		(void)madvise(buffer->output.data + (first - begin), end - first, MADV_DONTNEED);
}

static void set_memory(struct buffer *buffer, uint8_t *data, uint64_t bytes)
{
	buffer->output.data = data;
	buffer->output.capacity = buffer->allocated = bytes;
}

/* ---- On disk ---- */

/* Opens a file without a name, so that a killed process leaves nothing on the disk. */
static int open_unnamed(const char *folder)
{
	char path[PATH_BYTES];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	path_of(PATH_CACHE, "spill-XXXXXX", path);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

static int map_file(uint64_t bytes, uint8_t **ret_data, struct error *err)
{
	char folder[PATH_BYTES];
	CLEANUP(close_fd) int fd = -1;
	uint8_t *data;
	int r;

	path_of(PATH_CACHE, NULL, folder);
	r = path_make(folder, err);
	if (r < 0)
		return r;
	fd = open_unnamed(folder);
	r = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
	if (r != 0)
		return error_set(err, -r,
				 "%s: cannot spill %" PRIu64
				 " bytes of a window there, beyond fetch.memory_bytes: %s",
				 folder, bytes, strerror(r));
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return error_set(err, -errno, "%s: cannot map %" PRIu64 " bytes: %s", folder, bytes,
				 strerror(errno));
	*ret_data = data;
	return 0;
}

static int move_to_file(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err)
{
	struct budget *budget = buffer->budget;
	uint8_t *data;
	int r = map_file(bytes, &data, err);

	if (r < 0)
		return r;
	if (used > 0)
		memcpy(data, buffer->output.data, used);
	buffer_drop(buffer);
	set_memory(buffer, data, bytes);
	buffer->spilled = true;
	atomic_fetch_add_explicit(&budget->spilled, bytes, memory_order_relaxed);
	return 0;
}

/* ---- Buffers ---- */

int buffer_try(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err)
{
	uint64_t more = bytes - buffer->output.capacity;
	uint8_t *data;

	if (bytes <= buffer->output.capacity)
		return 0;
	if (buffer->spilled || !add_memory(buffer->budget, more))
		return move_to_file(buffer, used, bytes, err);
	if (bytes <= buffer->allocated) {
		buffer->output.capacity = bytes;
		return 0;
	}
	data = allocate(bytes);
	if (!data) {
		give_back(buffer->budget, false, more);
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes of a window", bytes);
	}
	if (used > 0)
		memcpy(data, buffer->output.data, used);
	free_pages(buffer);
	set_memory(buffer, data, bytes);
	return 0;
}

bool buffer_lacks_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

int buffer_grow(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err)
{
	struct budget *budget = buffer->budget;
	int r = buffer_try(buffer, used, bytes, err);

	for (unsigned i = 0; i < FREE_DISK_TRIES && buffer_lacks_disk(r) && budget->free_disk; i++) {
		if (!budget->free_disk(budget->context, bytes))
			return r;
		r = buffer_try(buffer, used, bytes, err);
	}
	return r;
}

static int grow_output(struct inflate_output *output, uint64_t used, uint64_t bytes, struct error *err)
{
	return buffer_grow((struct buffer *)output, used, bytes, err);
}
static_assert(offsetof(struct buffer, output) == 0, "grow_output() casts an output to its buffer");

void buffer_init(struct buffer *buffer, struct budget *budget)
{
	*buffer = (struct buffer){ .output.grow = grow_output, .budget = budget };
}

struct buffer buffer_spare(uint64_t bytes)
{
	struct buffer spare = { .output.data = allocate(bytes) };

	spare.allocated = spare.output.data ? bytes : 0;
	return spare;
}

void buffer_rest(struct buffer *buffer)
{
	if (buffer->spilled) {
		buffer_drop(buffer);
		return;
	}
	if (buffer->output.capacity == 0)
		return;
	give_back(buffer->budget, false, buffer->output.capacity);
	forget_pages(buffer);
	buffer->output.capacity = 0;
}

static void replace(struct buffer *buffer, struct buffer spare)
{
	buffer_init(buffer, buffer->budget);
	buffer->output.data = spare.output.data;
	buffer->allocated = spare.allocated;
}

struct buffer buffer_take(struct buffer *buffer, struct buffer spare)
{
	struct buffer taken = *buffer;

	give_back(buffer->budget, buffer->spilled, buffer->output.capacity);
	taken.budget = NULL;
	replace(buffer, spare);
	return taken;
}

void buffer_expect(struct buffer *buffer, uint64_t bytes)
{
	if (bytes <= buffer->allocated)
		return;
	buffer_drop(buffer);
	replace(buffer, buffer_spare(bytes));
}

void buffer_drop(struct buffer *buffer)
{
	give_back(buffer->budget, buffer->spilled, buffer->output.capacity);
	free_pages(buffer);
	buffer_init(buffer, buffer->budget);
}
