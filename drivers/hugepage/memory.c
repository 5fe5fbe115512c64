/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/hugepage/hugepage.h"

#include <sys/mman.h>
#include <unistd.h>

/* Maps 2 MiB more than needed, then unmaps the memory before the first 2 MiB boundary, and the memory after
 * the end. */
void *hugepage_map(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1), before,
		 behind;
	uint8_t *data;

	if (whole < bytes || whole > SIZE_MAX - HUGEPAGE_BYTES)
		return NULL;
	data = mmap(NULL, whole + HUGEPAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)data & (HUGEPAGE_BYTES - 1);
	behind = HUGEPAGE_BYTES - before;
	if (before > 0)
		(void)munmap(data, before);
	(void)munmap(data + before + whole, behind);
	(void)madvise(data + before, whole & ~(HUGEPAGE_BYTES - 1), MADV_HUGEPAGE);
	return data + before;
}
