/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/local_time.h"

#include "core/base/cleanup.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#define ZONE_FOLDER "/usr/share/zoneinfo/"

static const char day_names[LOCAL_DAYS_A_WEEK][4] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };

static bool parse_day(const char **text, unsigned *ret_day)
{
	for (unsigned i = 0; i < LOCAL_DAYS_A_WEEK; i++)
		if (strncmp(*text, day_names[i], 3) == 0) {
			*ret_day = i;
			*text += 3;
			return true;
		}
	return false;
}

bool local_days_parse(const char *text, unsigned *ret_days)
{
	unsigned days = 0, first, last;

	*ret_days = 0;
	if (strcmp(text, "none") == 0)
		return true;
	for (;; text++) {
		if (!parse_day(&text, &first))
			return false;
		last = first;
		if (strncmp(text, "..", 2) == 0) {
			text += 2;
			if (!parse_day(&text, &last) || last < first)
				return false;
		}
		for (; first <= last; first++)
			days |= 1u << first;
		if (*text != ',')
			break;
	}
	if (*text)
		return false;
	*ret_days = days;
	return true;
}

bool local_time_parse(const char *text, unsigned *ret_minutes)
{
	unsigned hours, minutes;

	if (!*text) {
		*ret_minutes = LOCAL_NO_TIME;
		return true;
	}
	if (strlen(text) != 5 || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]) ||
	    text[2] != ':' || !isdigit((unsigned char)text[3]) || !isdigit((unsigned char)text[4]))
		return false;
	hours = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
	minutes = (unsigned)(text[3] - '0') * 10 + (unsigned)(text[4] - '0');
	if (hours > 23 || minutes > 59)
		return false;
	*ret_minutes = hours * 60 + minutes;
	return true;
}

bool local_zone_exists(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+/-";
	char path[sizeof(ZONE_FOLDER) + LOCAL_ZONE_BYTES], magic[4];
	CLEANUP(close_fd) int fd = -1;
	size_t length = strlen(text);

	if (strcmp(text, "UTC") == 0)
		return true;
	if (length < 1 || length >= LOCAL_ZONE_BYTES || strspn(text, letters) != length || *text == '/')
		return false;
	(void)snprintf(path, sizeof(path), ZONE_FOLDER "%s", text);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* the magic number of zone files, tzfile(5) */
	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "TZif", sizeof(magic)) == 0;
}
