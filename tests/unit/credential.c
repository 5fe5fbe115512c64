/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/credential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *label, *text;
	int code;
	const char *id, *secret, *token, *words;
} cases[] = {
	{ "an AWS file", "[default]\naws_access_key_id = ID\naws_secret_access_key = a/b+c=\n", 0, "ID",
	  "a/b+c=", "", NULL },
	{ "an environment file", "AWS_ACCESS_KEY_ID=ID\nAWS_SECRET_ACCESS_KEY=\"S\"\nAWS_SESSION_TOKEN=T\n",
	  0, "ID", "S", "T", NULL },
	{ "plain names, CRLF, no last newline", "# mine\r\n\r\naccess_key_id=ID\r\nsecret_access_key=S", 0,
	  "ID", "S", "", NULL },
	{ "other names are none of ours", "region = x y z\naccess_key_id=ID\nsecret_access_key=S\n", 0, "ID",
	  "S", "", NULL },
	{ "a section of its name",
	  "[other]\naccess_key_id=NO\n[box]\naccess_key_id=ID\nsecret_access_key=S\n", 0, "ID", "S", "",
	  NULL },
	{ "other sections only", "[other]\naccess_key_id=NO\nsecret_access_key=NO\n", -EKEYREJECTED, "", "",
	  "", "missing" },
	{ "empty", "", -EKEYREJECTED, "", "", "", "missing" },
	{ "no secret", "access_key_id=ID\n", -EKEYREJECTED, "", "", "", "missing" },
	{ "no equals sign", "access_key_id=ID\nSECRETTEXT\n", -EKEYREJECTED, "", "", "", "line 2" },
	{ "a header smuggled in", "access_key_id=ID\nsecret_access_key=SECRETTEXT\rX\n", -EKEYREJECTED, "",
	  "", "", "line 2" },
	{ "a space inside", "access_key_id=I D\nsecret_access_key=SECRETTEXT\n", -EKEYREJECTED, "", "", "",
	  "line 1" },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct credential credential = { 0 };
		struct error err = { 0 };

		assert_int_equal(credential_parse("box", cases[i].text, &credential, &err), cases[i].code);
		assert_string_equal(credential.access_key_id, cases[i].id);
		assert_string_equal(credential.secret_access_key, cases[i].secret);
		assert_string_equal(credential.session_token, cases[i].token);
		assert_null(strstr(err.text, "SECRETTEXT"));
		if (cases[i].words && !strstr(err.text, cases[i].words))
			fail_msg("%s: %s", cases[i].label, err.text);
	}
}

static void test_too_long(void **state)
{
	struct credential credential = { 0 };
	char text[CREDENTIAL_SECRET_BYTES + 64];
	struct error err = { 0 };
	int at = sprintf(text, "access_key_id=ID\nsecret_access_key=");

	(void)state;
	memset(text + at, 's', CREDENTIAL_SECRET_BYTES);
	text[at + (int)CREDENTIAL_SECRET_BYTES] = 0;
	assert_int_equal(credential_parse("box", text, &credential, &err), -EKEYREJECTED);
	text[at + (int)CREDENTIAL_SECRET_BYTES - 1] = 0;
	assert_int_equal(credential_parse("box", text, &credential, &err), 0);
}

static void test_environment(void **state)
{
	struct credential credential;
	struct error err = { 0 };

	(void)state;
	(void)unsetenv("AWS_ACCESS_KEY_ID");
	(void)unsetenv("AWS_SECRET_ACCESS_KEY");
	(void)unsetenv("AWS_SESSION_TOKEN");
	assert_int_equal(credential_load("", &credential, &err), 0);
	assert_string_equal(credential.access_key_id, "");
	(void)setenv("AWS_ACCESS_KEY_ID", "ID", 1);
	assert_int_equal(credential_load("", &credential, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "AWS_SECRET_ACCESS_KEY is not in the environment"));
	(void)setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	(void)setenv("AWS_SESSION_TOKEN", "T", 1);
	assert_int_equal(credential_load("", &credential, &err), 0);
	assert_string_equal(credential.secret_access_key, "S");
	assert_string_equal(credential.session_token, "T");
	(void)unsetenv("AWS_ACCESS_KEY_ID");
	assert_int_equal(credential_load("", &credential, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "AWS_ACCESS_KEY_ID is not in the environment"));
}

static void test_names(void **state)
{
	static const char *const names[] = { "../etc/passwd", "a/b", "a b", ".", "x\n" };
	struct credential credential;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(credential_load(names[i], &credential, &err), -EINVAL);
	}
}

/* A file in systemd's folder of credentials. */
static void put(const char *folder, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/hook", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_line(void **state)
{
	static const char *const bad[] = { "", "\n", "two words\n", "two\nlines\n", "caf\xc3\xa9\n" };
	char folder[] = "/tmp/kiln-credential-XXXXXX", command[64], line[CREDENTIAL_LINE_BYTES];
	char longest[CREDENTIAL_LINE_BYTES + 1];
	struct error err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)setenv("CREDENTIALS_DIRECTORY", folder, 1);
	put(folder, "  t0k3n+/=\n\n");
	assert_int_equal(credential_load_line("hook", line, &err), 0);
	assert_string_equal(line, "t0k3n+/=");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(folder, bad[i]);
		assert_int_equal(credential_load_line("hook", line, &err), -EKEYREJECTED);
		assert_non_null(strstr(err.text, "credential 'hook': expected one line"));
	}
	memset(longest, 'x', sizeof(longest));
	longest[CREDENTIAL_LINE_BYTES] = '\0';
	put(folder, longest);
	assert_int_equal(credential_load_line("hook", line, &err), -EKEYREJECTED);
	longest[CREDENTIAL_LINE_BYTES - 1] = '\0';
	put(folder, longest);
	assert_int_equal(credential_load_line("hook", line, &err), 0);
	/* The placeholder that a unit sets for a missing credential. */
	put(folder, "-");
	assert_int_equal(credential_load_line("hook", line, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "this box has no credential of that name"));
	assert_int_equal(credential_load_line("absent", line, &err), -EKEYREJECTED);
	assert_int_equal(credential_load_line("../hook", line, &err), -EINVAL);
	(void)unsetenv("CREDENTIALS_DIRECTORY");
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),       cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_line),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
