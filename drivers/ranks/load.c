/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/load.h"

#include "core/base/paths.h"

#include <dlfcn.h>
#include <inttypes.h>

#define FILE_NAME "kiln-ranks.so"

int load_library(const char *path, const struct ranks_library **ret_library, struct error *err)
{
	char beside[PATH_BYTES];
	const char *file = path ? path : path_beside(FILE_NAME, beside);
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct ranks_library *library;

	if (!handle)
		return error_set(
			err, -ENOENT,
			"a run of several ranks needs Open MPI: %s; install the package openmpi-bin, and "
			"Kiln again if " FILE_NAME " is missing",
			dlerror());
	library = dlsym(handle, LIBRARY_SYMBOL);
	if (!library || library->version != LIBRARY_VERSION)
		return error_set(err, -EINVAL, "%s: version %" PRIu32 " of its table, expected %u", file,
				 library ? library->version : 0, LIBRARY_VERSION);
	*ret_library = library;
	return 0;
}
