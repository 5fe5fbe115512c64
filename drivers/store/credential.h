/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys to a store: from a file of a given name in systemd's credential directory, else in
 * PATH_CREDENTIALS, or from the environment. No value of a credential is ever part of a message.
 *
 * A file is text: `NAME = VALUE` lines, `#` comments, and `[section]` lines, of which only [default] and one
 * of the credential's own name count. NAME is access_key_id, secret_access_key or session_token, in either
 * case, with or without "aws_" before it: so an AWS credentials file is read, and a file for systemd's
 * EnvironmentFile= too.
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

/* Loads the credential `name`; "" or NULL: from the environment. Errors: -EKEYREJECTED no such file, or a
 * file without both keys; the sentence names the folders. */
MUST_CHECK int credential_load(const char *name, struct credential *ret_credential, struct error *err);
/* Parses the text of a credential file. Errors: -EKEYREJECTED with the line. */
MUST_CHECK int credential_parse(const char *name, const char *text, struct credential *ret_credential,
				struct error *err);
#define CREDENTIAL_LINE_BYTES 4097u
/* Loads a credential file that is one line, a token of printable ASCII without spaces, from the same folders.
 */
MUST_CHECK int credential_load_line(const char *name, char ret_line[static CREDENTIAL_LINE_BYTES],
				    struct error *err);
void credential_clear(struct credential *credential);
