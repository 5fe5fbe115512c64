/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_source.h"

#include <inttypes.h>
#include <stdlib.h>

int picture_grow(void **buffer, uint64_t *capacity, uint64_t bytes, struct error *err)
{
	if (bytes <= *capacity)
		return 0;
	free(*buffer);
	*capacity = 0;
	*buffer = calloc(1, bytes);
	if (!*buffer)
		return error_set(err, -ENOMEM, "no memory for a picture: %" PRIu64 " bytes", bytes);
	*capacity = bytes;
	return 0;
}
