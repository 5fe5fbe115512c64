/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/credential.h"

#include "core/base/paths.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <mbedtls/platform_util.h>

#define FILE_BYTES_MAX 65536u

void credential_clear(struct credential *credential)
{
	mbedtls_platform_zeroize(credential, sizeof(*credential));
}

/* Copies a value that will be part of an HTTP header. Returns false where the value is not printable ASCII
 * without spaces, or does not fit. */
static bool copy_value(char *out, size_t out_bytes, const char *value, size_t bytes)
{
	if (bytes >= out_bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return false;
	memcpy(out, value, bytes);
	out[bytes] = 0;
	return true;
}

/* Reads one setting. Names that are not part of a credential (region, output, ...) are ignored. Returns false
 * for a bad value. */
static bool read_setting(struct credential *credential, const char *name, size_t name_bytes,
			 const char *value, size_t bytes)
{
	if (name_bytes > 4 && !strncasecmp(name, "aws_", 4)) {
		name += 4;
		name_bytes -= 4;
	}
	if (name_bytes == 13 && !strncasecmp(name, "access_key_id", 13))
		return copy_value(credential->access_key_id, sizeof(credential->access_key_id), value, bytes);
	if (name_bytes == 17 && !strncasecmp(name, "secret_access_key", 17))
		return copy_value(credential->secret_access_key, sizeof(credential->secret_access_key), value,
				  bytes);
	if (name_bytes == 13 && !strncasecmp(name, "session_token", 13))
		return copy_value(credential->session_token, sizeof(credential->session_token), value, bytes);
	return true;
}

static void trim(const char **text, size_t *bytes)
{
	while (*bytes && isspace((unsigned char)**text)) {
		++*text;
		--*bytes;
	}
	while (*bytes && isspace((unsigned char)(*text)[*bytes - 1]))
		--*bytes;
}

static bool is_ours(const char *line, size_t bytes, const char *name)
{
	return (bytes == 9 && !strncmp(line, "[default]", 9)) ||
	       (bytes == strlen(name) + 2 && !strncmp(line + 1, name, bytes - 2));
}

static bool read_line(struct credential *credential, const char *line, size_t bytes)
{
	const char *equals = memchr(line, '=', bytes), *value;
	size_t name_bytes, value_bytes;

	if (!equals)
		return false;
	name_bytes = (size_t)(equals - line);
	value = equals + 1;
	value_bytes = bytes - name_bytes - 1;
	trim(&line, &name_bytes);
	trim(&value, &value_bytes);
	if (value_bytes >= 2 && value[0] == '"' && value[value_bytes - 1] == '"') {
		value++;
		value_bytes -= 2;
	}
	return read_setting(credential, line, name_bytes, value, value_bytes);
}

int credential_parse(const char *name, const char *text, struct credential *ret_credential, struct error *err)
{
	struct credential credential = { 0 };
	bool ours = true;
	unsigned number = 1;

	for (const char *end; *text; text = *end ? end + 1 : end, number++) {
		const char *line = text;
		size_t bytes;

		end = strchrnul(text, '\n');
		bytes = (size_t)(end - text);
		trim(&line, &bytes);
		if (bytes && *line == '[') {
			ours = is_ours(line, bytes, name);
		} else if (bytes && *line != '#' && ours && !read_line(&credential, line, bytes)) {
			credential_clear(&credential);
			return error_set(err, -EKEYREJECTED,
					 "credential '%s', line %u: found neither NAME = VALUE nor a "
					 "comment, or a value "
					 "too long or with spaces",
					 name, number);
		}
	}
	if (!credential.access_key_id[0] || !credential.secret_access_key[0]) {
		credential_clear(&credential);
		return error_set(err, -EKEYREJECTED,
				 "credential '%s': access_key_id or secret_access_key is missing", name);
	}
	*ret_credential = credential;
	credential_clear(&credential);
	return 0;
}

static int from_environment(struct credential *ret_credential, struct error *err)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
					     "AWS_SESSION_TOKEN" };
	const char *values[3];

	for (size_t i = 0; i < 3; i++) {
		values[i] = getenv(names[i]);
		if (!values[i])
			values[i] = "";
	}
	*ret_credential = (struct credential){ 0 };
	if (!values[0][0] && !values[1][0])
		return 0;
	for (size_t i = 0; i < 3; i++)
		if (!read_setting(ret_credential, names[i], strlen(names[i]), values[i], strlen(values[i])))
			return error_set(err, -EKEYREJECTED,
					 "%s in the environment is too long or has spaces", names[i]);
	if (!values[0][0] || !values[1][0])
		return error_set(err, -EKEYREJECTED, "%s is not in the environment, %s is",
				 names[!!values[0][0]], names[!values[0][0]]);
	return 0;
}

static bool name_is_valid(const char *name)
{
	size_t bytes = strlen(name);

	for (size_t i = 0; i < bytes; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return bytes >= 1 && bytes <= 64;
}

/* Reads the text of a credential file. The caller overwrites the text with zeros before it frees it. */
static int read_text(const char *name, char **ret_text, uint64_t *ret_bytes, struct error *err)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");
	char path[PATH_BYTES];
	int r;

	if (!name_is_valid(name))
		return error_set(err, -EINVAL, "credential '%s': a name is 1 to 64 of A-Z a-z 0-9 _ -", name);
	if (!directory || (size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path) ||
	    access(path, F_OK) < 0)
		(void)path_of(PATH_CREDENTIALS, name, path);
	r = file_read(path, FILE_BYTES_MAX, ret_text, ret_bytes, err);
	/* The text "-" means that the box does not have this credential: a unit's SetCredential= sets it as
	 * the default. */
	if (r == 0 && strcmp(*ret_text, "-") == 0) {
		free(TAKE(*ret_text));
		return error_set(err, -EKEYREJECTED,
				 "credential '%s': this box has no credential of that name", name);
	}
	if (r == 0)
		return 0;
	(void)error_prefix(err, "credential '%s'", name);
	if (err)
		err->code = -EKEYREJECTED;
	return -EKEYREJECTED;
}

int credential_load(const char *name, struct credential *ret_credential, struct error *err)
{
	char *text = NULL;
	uint64_t bytes = 0;
	int r;

	if (!name || !name[0])
		return from_environment(ret_credential, err);
	r = read_text(name, &text, &bytes, err);
	if (r < 0)
		return r;
	r = credential_parse(name, text, ret_credential, err);
	mbedtls_platform_zeroize(text, bytes);
	free(text);
	return r;
}

/* ---- One line ---- */

int credential_parse_line(const char *name, const char *text, char ret_line[static CREDENTIAL_LINE_BYTES],
			  struct error *err)
{
	size_t length = strlen(text);

	trim(&text, &length);
	if (length > 0 && copy_value(ret_line, CREDENTIAL_LINE_BYTES, text, length))
		return 0;
	return error_set(err, -EKEYREJECTED,
			 "credential '%s': expected one line of printable characters without spaces, at most "
			 "%u",
			 name, CREDENTIAL_LINE_BYTES - 1);
}

int credential_parse_url(const char *name, const char *text, char ret_url[static CREDENTIAL_LINE_BYTES],
			 struct error *err)
{
	int r = credential_parse_line(name, text, ret_url, err);

	if (r < 0 || strncmp(ret_url, "https://", 8) == 0 || strncmp(ret_url, "http://", 7) == 0)
		return r;
	mbedtls_platform_zeroize(ret_url, CREDENTIAL_LINE_BYTES);
	return error_set(err, -EKEYREJECTED,
			 "credential '%s': expected one line with an http:// or https:// URL", name);
}

static int load(const char *name, char out[static CREDENTIAL_LINE_BYTES],
		int (*parse)(const char *name, const char *text, char out[static CREDENTIAL_LINE_BYTES],
			     struct error *err),
		struct error *err)
{
	char *text = NULL;
	uint64_t bytes = 0;
	int r = read_text(name, &text, &bytes, err);

	if (r < 0)
		return r;
	r = parse(name, text, out, err);
	mbedtls_platform_zeroize(text, bytes);
	free(text);
	return r;
}

int credential_load_line(const char *name, char ret_line[static CREDENTIAL_LINE_BYTES], struct error *err)
{
	return load(name, ret_line, credential_parse_line, err);
}

int credential_load_url(const char *name, char ret_url[static CREDENTIAL_LINE_BYTES], struct error *err)
{
	return load(name, ret_url, credential_parse_url, err);
}
