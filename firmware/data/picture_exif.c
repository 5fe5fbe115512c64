/* SPDX-License-Identifier: Apache-2.0 */
/* EXIF: a TIFF structure, of which only the orientation of the first folder (IFD0) is read. Source:
 * Exif 2.32, section 4.6. */
#include "data/picture_source.h"

#include <string.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT      3u
#define ENTRY_BYTES     12u

struct tiff {
	const uint8_t *data;
	uint64_t bytes;
	bool big; /* big-endian */
};

static uint32_t read_u16(const struct tiff *tiff, uint64_t at)
{
	const uint8_t *byte = tiff->data + at;

	return tiff->big ? (uint32_t)byte[0] << 8 | byte[1] : (uint32_t)byte[1] << 8 | byte[0];
}

static uint64_t read_u32(const struct tiff *tiff, uint64_t at)
{
	const uint64_t first = read_u16(tiff, at), second = read_u16(tiff, at + 2);

	return tiff->big ? first << 16 | second : second << 16 | first;
}

/* Returns the orientation of the folder at `at`, or 1. */
static uint32_t folder_orientation(const struct tiff *tiff, uint64_t at)
{
	uint64_t entries, entry;

	if (at > tiff->bytes || tiff->bytes - at < 2)
		return 1;
	entries = read_u16(tiff, at);
	if (entries > (tiff->bytes - at - 2) / ENTRY_BYTES)
		entries = (tiff->bytes - at - 2) / ENTRY_BYTES;
	for (entry = at + 2; entries > 0; entries--, entry += ENTRY_BYTES) {
		uint32_t value = read_u16(tiff, entry + 8);

		if (read_u16(tiff, entry) == TAG_ORIENTATION && read_u16(tiff, entry + 2) == TYPE_SHORT &&
		    read_u32(tiff, entry + 4) == 1)
			return value >= 1 && value <= 8 ? value : 1;
	}
	return 1;
}

uint32_t picture_exif_orientation(const uint8_t *exif, uint64_t bytes)
{
	struct tiff tiff = { .data = exif, .bytes = bytes };

	if (bytes < 8 || (memcmp(exif, "II*\0", 4) != 0 && memcmp(exif, "MM\0*", 4) != 0))
		return 1;
	tiff.big = *exif == 'M';
	return folder_orientation(&tiff, read_u32(&tiff, 4));
}
