/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: a thread that inflates a shard waits as long as the folder KILN_HOLD holds a file "inflate";
 * a thread that computes the CRC of a large record waits for a file "crc".
 */
#include <dlfcn.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void hold(const char *what)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	const char *folder = getenv("KILN_HOLD");
	char path[4096];

	if (!folder)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", folder, what);
	while (access(path, F_OK) == 0)
		(void)nanosleep(&nap, NULL);
}

enum libdeflate_result libdeflate_gzip_decompress_ex(struct libdeflate_decompressor *decompressor,
						     const void *in, size_t in_bytes, void *out,
						     size_t out_bytes, size_t *ret_used, size_t *ret_made)
{
	enum libdeflate_result (*real)(struct libdeflate_decompressor *, const void *, size_t, void *, size_t,
				       size_t *, size_t *);

	*(void **)&real = dlsym(RTLD_NEXT, "libdeflate_gzip_decompress_ex");
	hold("inflate");
	return real(decompressor, in, in_bytes, out, out_bytes, ret_used, ret_made);
}

/* The functions of ISA-L. */
unsigned int crc32_iscsi(unsigned char *data, int bytes, unsigned int crc);

unsigned int crc32_iscsi(unsigned char *data, int bytes, unsigned int crc)
{
	unsigned int (*real)(unsigned char *, int, unsigned int);

	*(void **)&real = dlsym(RTLD_NEXT, "crc32_iscsi");
	hold("crc");
	return real(data, bytes, crc);
}
