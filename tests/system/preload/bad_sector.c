/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: the first read of the file whose name ends with KILN_BAD_SECTOR fails with an I/O error. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool met;
static _Atomic uintptr_t mapped, mapped_end;

static bool is_bad(int fd)
{
	const char *name = getenv("KILN_BAD_SECTOR");
	char link[64], path[4096];
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	bytes = readlink(link, path, sizeof(path) - 1);
	if (!name || bytes < (ssize_t)strlen(name))
		return false;
	path[bytes] = 0;
	return strcmp(path + bytes - strlen(name), name) == 0;
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	if (is_bad(fd) && !atomic_exchange(&met, true)) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, buffer, bytes, offset);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	uintptr_t at = (uintptr_t)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);

	if (fd >= 0 && is_bad(fd)) {
		atomic_store(&mapped, at);
		atomic_store(&mapped_end, at + bytes);
	}
	return (void *)at; // NOLINT(performance-no-int-to-ptr)
}

/* madvise(2) returns EFAULT where an access would raise SIGBUS. */
int madvise(void *address, size_t bytes, int advice)
{
	uintptr_t at = (uintptr_t)address;

	if (advice == MADV_POPULATE_READ && at >= atomic_load(&mapped) && at < atomic_load(&mapped_end) &&
	    !atomic_exchange(&met, true)) {
		errno = EFAULT;
		return -1;
	}
	return (int)syscall(SYS_madvise, address, bytes, advice);
}
