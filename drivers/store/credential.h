/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the keys to a store come from: a file of a given name in systemd's credential directory, else in
 * PATH_CREDENTIALS, or the environment. Nothing here is ever put into a message.
 *
 * A file is text: `NAME = VALUE` lines, `#` comments, and `[section]` lines, of which only [default] and one
 * of the credential's own name count. NAME is access_key_id, secret_access_key or session_token, in either
 * case, with or without "aws_" before it: an AWS credentials file and a file for systemd's EnvironmentFile=
 * both are read.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>

#define CREDENTIAL_ID_BYTES     129u
#define CREDENTIAL_SECRET_BYTES 129u
#define CREDENTIAL_TOKEN_BYTES  4097u

struct credential {
	char access_key_id[CREDENTIAL_ID_BYTES]; /* "" = none: requests are not signed */
	char secret_access_key[CREDENTIAL_SECRET_BYTES];
	char session_token[CREDENTIAL_TOKEN_BYTES]; /* "" = none */
};

/* Errors: -EKEYREJECTED no such file, or one without both keys, naming the places looked at. */
MUST_CHECK int credential_load(const char *name, struct credential *ret_credential, struct error *err);
/* The text of such a file. Errors: -EKEYREJECTED with the line. */
MUST_CHECK int credential_parse(const char *name, const char *text, struct credential *ret_credential,
				struct error *err);
/* A file that holds one line, a token of printable ASCII without spaces; the same places. */
#define CREDENTIAL_LINE_BYTES 4097u
MUST_CHECK int credential_load_line(const char *name, char ret_line[static CREDENTIAL_LINE_BYTES],
				    struct error *err);
void credential_clear(struct credential *credential);
