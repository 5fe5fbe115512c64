/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the first start is killed at any system call, the next start applies the files on the ESP, refuses none
 * of them and leaves none there. Each case is killed before every system call in turn.
 */
#include "oneshot/boot/configure.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/boot/ssh_keys.c"  // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "killed.h"

static char base[64];

static void shell(const char *format)
{
	char command[512];

	(void)snprintf(command, sizeof(command), format, base, base, base);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
}

static void put(enum path where, const char *name, const char *text)
{
	char path[PATH_BYTES], folder[PATH_BYTES];
	struct error err = { 0 };

	(void)snprintf(folder, sizeof(folder), "%s", path_of(where, name, path));
	*strrchr(folder, '/') = '\0';
	if (path_make(folder, &err) < 0 || file_write_durable(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static int configure(struct error *err)
{
	(void)err;
	return oneshot_configure(0, NULL);
}

/* Runs the start in a child process, so that its messages are not in the output of this test. */
static void start_once_more(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(oneshot_configure(0, NULL));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The text has more bytes than are erased at once. */
static const char *config(void)
{
	static char text[6000];

	memset(text, '\n', sizeof(text) - 1);
	(void)memcpy(text, "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n", 62);
	return text;
}

/* ---- What is there before, and afterwards ---- */

static void ask_all(void)
{
	put(PATH_ESP_CONFIG, "kiln.conf", config());
	put(PATH_ESP_CONFIG, "kiln.conf" REASON_SUFFIX, "an old reason");
	put(PATH_ESP_CONFIG, "credentials/store", "access_key_id=ID\nsecret_access_key=S\n");
	put(PATH_ESP_CONFIG, "wired.network", "[Match]\nType=ether\n");
}

static void all_is_stored(void)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	struct error err = { 0 };

	if (file_read(path_of(PATH_CONFIG, NULL, path), FILE_BYTES_MAX, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(text, config());
	assert_int_equal(access(path_of(PATH_CREDENTIALS, "store", path), F_OK), 0);
	assert_int_equal(access(path_of(PATH_NETWORK, "wired.network", path), F_OK), 0);
}

static void ask_control(void)
{
	shell("cd %s/pki && cp ca.crt ../root/efi/config/control-ca && cp box.crt "
	      "../root/efi/config/control-crt && "
	      "cp box.key ../root/efi/config/control-key");
}

static void control_is_stored(void)
{
	shell("cd %s/pki && cmp ca.crt ../root/data/kiln/credentials/control-ca && "
	      "cmp box.crt ../root/data/kiln/credentials/control-crt && "
	      "cmp box.key ../root/data/kiln/credentials/control-key");
}

static void ask_back(void)
{
	ask_control();
	start_once_more();
	shell("mkdir -p %s/root/data/etc/network && touch %s/root/data/etc/network/wired.network");
	shell("cd %s/root/efi/config && touch control-ca control-crt control-key wired.network");
}

static void all_is_taken_back(void)
{
	shell("test -z \"$(find %s/root/data -type f)\"");
}

static void test_killed(void (*ask)(void), void (*check)(void))
{
	unsigned call = 0;
	bool killed = true;

	for (; killed; call++) {
		assert_true(call < KILLED_CALLS_MAX);
		shell("rm -rf %s/root && mkdir -p %s/root/efi/config/credentials");
		ask();
		killed = killed_at(configure, call);
		if (killed)
			start_once_more();
		check();
		/* The ESP has neither files nor reasons why a file was refused. */
		shell("test -z \"$(find %s/root/efi/config -type f)\"");
	}
}

static void test_all(void **state)
{
	(void)state;
	test_killed(ask_all, all_is_stored);
}

static void test_control(void **state)
{
	(void)state;
	test_killed(ask_control, control_is_stored);
}

static void test_back(void **state)
{
	(void)state;
	test_killed(ask_back, all_is_taken_back);
}

static int setup(void **state)
{
	char path[128];
	struct error err = { 0 };

	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/kiln-configure-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/root", base);
	(void)setenv("KILN_ROOT", path, 1);
	(void)snprintf(path, sizeof(path), "%s/pki", base);
	if (pki_init(path, "rack", 2, &err) < 0 || pki_issue(path, "box", NULL, 1, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shell("rm -rf %s");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
