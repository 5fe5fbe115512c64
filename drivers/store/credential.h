/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the access keys for a store: from the file with the credential's name in systemd's credential
 * directory, else in PATH_CREDENTIALS; without a name from environment variables. No message ever contains a
 * value of a credential.
 *
 * A file is text: `NAME = VALUE` lines, `#` comments, and `[section]` lines, of which only [default] and the
 * section with the credential's name are read. NAME is access_key_id, secret_access_key or session_token, in
 * upper or lower case, with or without "aws_" before it. So the file may also be an AWS credentials file, or
 * a file for systemd's EnvironmentFile=.
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
 * file without both keys; the error's text names the folders. */
MUST_CHECK int credential_load(const char *name, struct credential *ret_credential, struct error *err);
/* Parses the text of a credential file. Errors: -EKEYREJECTED; the error's text has the number of the line.
 */
MUST_CHECK int credential_parse(const char *name, const char *text, struct credential *ret_credential,
				struct error *err);
#define CREDENTIAL_LINE_BYTES 4097u
/* Loads a credential file with a single line, a token of printable ASCII without spaces, from the folders of
 * credential_load().
 */
MUST_CHECK int credential_load_line(const char *name, char ret_line[static CREDENTIAL_LINE_BYTES],
				    struct error *err);
/* Parse the text of such a file, as the load functions do. Errors: -EKEYREJECTED. */
MUST_CHECK int credential_parse_line(const char *name, const char *text,
				     char ret_line[static CREDENTIAL_LINE_BYTES], struct error *err);
MUST_CHECK int credential_parse_url(const char *name, const char *text,
				    char ret_url[static CREDENTIAL_LINE_BYTES], struct error *err);
/* Loads a credential file with a single line that is an http:// or https:// URL. */
MUST_CHECK int credential_load_url(const char *name, char ret_url[static CREDENTIAL_LINE_BYTES],
				   struct error *err);
void credential_clear(struct credential *credential);
