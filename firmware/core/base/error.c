/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"
#include "core/base/visible.h"

#include <stdarg.h>
#include <string.h>
#include <sysexits.h>

static int set(struct error *err, int code, const char *(*show)(const char *text, char *out, size_t size),
	       const char *format, va_list args)
{
	char text[ERROR_TEXT_MAX];

	err->code = code;
	(void)vsnprintf(text, sizeof(text), format, args);
	(void)show(text, err->text, sizeof(err->text));
	return code;
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	(void)set(err, code, visible, format, args);
	va_end(args);
	return code;
}

int error_set_lines(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	(void)set(err, code, visible_lines, format, args);
	va_end(args);
	return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char old[ERROR_TEXT_MAX];
	va_list args;
	size_t used;

	if (!err)
		return 0;
	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	(void)set(err, err->code, visible, format, args);
	va_end(args);
	used = strlen(err->text);
	if (used < sizeof(err->text) - 3)
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": %.*s",
			       (int)(sizeof(err->text) - 3 - used), old);
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
	case -ENOKEY:
		return EX_NOPERM;
	default:
		return EX_UNAVAILABLE;
	}
}
