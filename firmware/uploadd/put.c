/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/put.h"

int put_file(struct upload *upload, const char *name, char *ret_sha256_hex, uint64_t *ret_bytes,
	     bool *ret_gone, struct error *err)
{
	char path[PATH_BYTES];
	int r;

	(void)spool_path(upload->run.id, name, path);
	r = store_put_file(upload->store, name, path, ret_sha256_hex, ret_bytes, err);
	if (r == -ENOENT)
		*ret_gone = file_exists(path, NULL) == 0;
	return r;
}
