/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cache/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_DIGITS \
	15u /* digits of an object's name, in hex, that make its number: the number fits a file offset */

void cache_claims_open(struct cache *cache)
{
	cache->claims = openat(cache->fd, "claims", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0664);
}

/* Locks or unlocks a byte of the file "claims". A lock on an open file description (fcntl(2)) ends with the
 * process, and holds against other processes only. */
static int set_lock(const struct cache *cache, uint64_t claim, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)claim, .l_len = 1 };

	return fcntl(cache->claims, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* The start of the object's name as a number, and never CACHE_CLAIM_NONE. */
static uint64_t claim_of(const char *name)
{
	char digits[NUMBER_DIGITS + 1] = "";

	memcpy(digits, name, NUMBER_DIGITS);
	return strtoull(digits, NULL, 16) | 1;
}

int cache_claim(const struct cache *cache, const char name[static CACHE_NAME_BYTES], uint64_t *ret_claim)
{
	const uint64_t claim = claim_of(name);
	int r = cache->claims < 0 ? -EBADF : set_lock(cache, claim, F_WRLCK);

	if (r == 0)
		*ret_claim = claim;
	return r == 0 ? 1 : r == -EAGAIN || r == -EACCES ? 0 : r;
}

void cache_unclaim(const struct cache *cache, uint64_t claim)
{
	(void)set_lock(cache, claim, F_UNLCK);
}
