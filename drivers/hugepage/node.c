/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/hugepage/hugepage.h"

#include <inttypes.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>

#define NODES          "/sys/devices/system/node"
#define PATH_MAX_BYTES 512
#define NODES_MAX      1024

static bool number_read(const char *path, int64_t *ret_number)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");

	return file && fscanf(file, "%" SCNd64, ret_number) == 1;
}

static char *pool_path(const char *root, int node, const char *name, char out[static PATH_MAX_BYTES])
{
	(void)snprintf(out, PATH_MAX_BYTES, "%s" NODES "/node%d/hugepages/hugepages-2048kB/%s", root, node,
		       name);
	return out;
}

int hugepage_node_of_core(const char *root, int core)
{
	char path[PATH_MAX_BYTES];

	for (int node = 0; node < NODES_MAX; node++) {
		(void)snprintf(path, sizeof(path), "%s" NODES "/node%d/cpu%d", root, node, core);
		if (access(path, F_OK) == 0)
			return node;
	}
	return 0;
}

void hugepage_prefer_node(int node)
{
	unsigned long mask[NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };

	if (node >= 0 && node < NODES_MAX)
		mask[(size_t)node / (8 * sizeof(*mask))] = 1ul << ((size_t)node % (8 * sizeof(*mask)));
	(void)syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_PREFERRED, node < 0 ? NULL : mask,
		      NODES_MAX);
}

int hugepage_node_reserve(const char *root, int node, uint64_t bytes, uint64_t reuse_bytes,
			  uint64_t *ret_pages, struct error *err)
{
	int64_t needed = (int64_t)((bytes + HUGEPAGE_BYTES - 1) / HUGEPAGE_BYTES) -
			 (int64_t)(reuse_bytes / HUGEPAGE_BYTES);
	char total_path[PATH_MAX_BYTES], free_path[PATH_MAX_BYTES];
	int64_t total = 0, free_now = 0;

	(void)pool_path(root, node, "nr_hugepages", total_path);
	(void)pool_path(root, node, "free_hugepages", free_path);
	if (!number_read(total_path, &total) || !number_read(free_path, &free_now))
		return error_set(err, -ENOMEM, "node %d: %s: this kernel has no 2 MiB pages", node,
				 total_path);
	if (needed > free_now) {
		CLEANUP(close_file) FILE *file = fopen(total_path, "we");

		if (file && fprintf(file, "%" PRId64 "\n", total + needed - free_now) > 0)
			(void)fflush(file);
		/* The kernel adds as many pages as it can and reports no error: read the pool again. */
		if (!number_read(total_path, &total) || !number_read(free_path, &free_now))
			total = free_now = 0;
	}
	if (needed > free_now)
		return error_set(err, -ENOMEM,
				 "node %d: %" PRId64 " hugepages of 2 MiB needed, %" PRId64 " free (%" PRId64
				 " in its pool)",
				 node, needed, free_now, total);
	*ret_pages = (uint64_t)total;
	return 0;
}
