/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/gzip.h"

#include <inttypes.h>
#include <string.h>

int gzip_open(const char *path, const char *name, gzFile *ret_file, struct error *err)
{
	gzFile file = gzopen(path, "r");

	if (!file)
		return error_set(err, -errno, "%s: cannot read it: %s", name, strerror(errno));
	*ret_file = file;
	return 0;
}

int gzip_explain(gzFile file, const char *path, const char *name, int r, struct error *err)
{
	char rest[4096];
	const char *text;
	int z;

	while (gzread(file, rest, sizeof(rest)) > 0)
		;
	text = gzerror(file, &z);
	if (z >= 0)
		return r;
	/* zlib's text begins with the path, which may be the path of a temporary copy, so remove it. */
	if (strncmp(text, path, strlen(path)) == 0)
		text += strlen(path) + strlen(": ");
	return error_set(err, -EBADMSG, "%s: damaged or cut at byte %jd of the compressed file or before: %s",
			 name, (intmax_t)gzoffset(file), text);
}
