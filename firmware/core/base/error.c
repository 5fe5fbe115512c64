/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"

#include <stdarg.h>
#include <string.h>
#include <sysexits.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	va_start(args, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char old[ERROR_TEXT_MAX];
	va_list args;
	int used;

	if (!err)
		return 0;
	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	used = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (used >= 0 && used < (int)sizeof(err->text) - 3)
		(void)snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %.*s",
			       (int)sizeof(err->text) - 3 - used, old);
	return err->code;
}

int error_exit_code(const struct error *err)
{
	switch (err->code) {
	case -EINVAL:
		return EX_CONFIG;
	case -EBADMSG:
	case -ESTALE:
	case -EDOM:
		return EX_DATAERR;
	case -EACCES:
	case -EPERM:
	case -ENOENT:
	case -EKEYREJECTED:
		return EX_NOPERM;
	default:
		return EX_UNAVAILABLE;
	}
}
