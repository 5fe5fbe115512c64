/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/put.h"

int put_file(struct upload *upload, const char *name, char *ret_sha256_hex, uint64_t *ret_bytes,
	     bool *ret_gone, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES], open_file[32];
	int r = spool_open(upload->run.id, name, &fd, err);

	/* The file that is open, whatever has its name meanwhile. */
	(void)snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", fd);
	if (r == 0)
		r = store_put_file(upload->store, name, open_file, ret_sha256_hex, ret_bytes, err);
	if (r == -ENOENT)
		*ret_gone = file_exists(spool_path(upload->run.id, name, path), NULL) == 0;
	return r;
}
