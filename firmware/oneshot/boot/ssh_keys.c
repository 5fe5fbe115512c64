/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks public keys as ssh-keygen writes them, one "TYPE BASE64 COMMENT" per line (sshd(8), "AUTHORIZED_KEYS
 * FILE FORMAT"). The decoded key begins with the length of its type and the type (RFC 4253, 6.6). Options are
 * refused: they may run commands.
 */
#include "oneshot/boot/ssh_keys.h"

#include <mbedtls/base64.h>
#include <stdbool.h>
#include <string.h>

#define TYPES_ALLOWED     "ssh-ed25519, ecdsa-sha2-nistp256, -384, -521, sk-..., ssh-rsa"
#define TYPE_LENGTH_BYTES 4u
#define KEY_BYTES_MAX     4096u /* bytes of a decoded key; RSA with 16384 bits needs half of that */
#define SPACES            " \t\r"

static const char *const types[] = {
	"ssh-ed25519",
	"ecdsa-sha2-nistp256",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp521",
	"sk-ssh-ed25519@openssh.com",
	"sk-ecdsa-sha2-nistp256@openssh.com",
	"ssh-rsa",
};

static bool is_type(const char *word, size_t bytes)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i]) == bytes && strncmp(word, types[i], bytes) == 0)
			return true;
	return false;
}

static bool is_key_of(const char *type, size_t type_bytes, const char *word, size_t bytes)
{
	unsigned char key[KEY_BYTES_MAX];
	const unsigned char length[TYPE_LENGTH_BYTES] = { 0, 0, 0, (unsigned char)type_bytes };
	size_t decoded = 0;

	return mbedtls_base64_decode(key, sizeof(key), &decoded, (const unsigned char *)word, bytes) == 0 &&
	       decoded > sizeof(length) + type_bytes && memcmp(key, length, sizeof(length)) == 0 &&
	       memcmp(key + sizeof(length), type, type_bytes) == 0;
}

static int check_line(unsigned number, const char *line, struct error *err)
{
	size_t type = strcspn(line, SPACES), gap = strspn(line + type, SPACES);
	const char *key = line + type + gap;

	if (strstr(line, "PRIVATE KEY"))
		return error_set(err, -EINVAL,
				 "line %u: this is a private key, which must stay where it was made: put the "
				 "public key here, the file of the same name that ends in .pub",
				 number);
	if (!is_type(line, type))
		return error_set(err, -EINVAL,
				 "line %u: found \"%.*s\", allowed: a key's type, one of %s; no options",
				 number, type < 40 ? (int)type : 40, line, TYPES_ALLOWED);
	if (!is_key_of(line, type, key, strcspn(key, SPACES)))
		return error_set(err, -EINVAL,
				 "line %u: the text after %.*s is not a complete key of this type", number,
				 (int)type, line);
	return 0;
}

int ssh_keys_check(const char *text, struct error *err)
{
	CLEANUP(free_ptr) char *copy = strdup(text);
	char *rest = copy, *line;
	unsigned keys = 0;
	int r = 0;

	if (!copy)
		return error_set(err, -ENOMEM, "no memory");
	for (unsigned number = 1; r == 0 && (line = strsep(&rest, "\n")); number++) {
		line += strspn(line, SPACES);
		if (*line == '\0' || *line == '#')
			continue;
		r = check_line(number, line, err);
		keys++;
	}
	if (r == 0 && keys == 0)
		return error_set(err, -EINVAL, "there is no key in it; an empty file closes SSH");
	return r;
}
