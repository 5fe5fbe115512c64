/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides of one TLS connection in this process: what each side accepts, refuses and says of it. Also the
 * files of drivers/tls/pki.h that they use, and files that are wrong. tests/system/control_remote.sh has
 * clients of other makes.
 */
#include "drivers/tls/tls.h"
#include "core/base/paths.h"
#include "drivers/tls/pki.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define ROUNDS_MAX 1000

static const char *const units[] = { "view", "operate", "admin", NULL };
static bool clock_is_good = true;
static time_t issued_s; /* when certificates were issued that end then */

static bool clock_is_set(void)
{
	return clock_is_good;
}

static char *in_root(const char *name, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/%s", root, name);
	return out;
}

static void put(const char *name, const char *text)
{
	char path[PATH_BYTES];
	FILE *file = fopen(in_root(name, path), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void issue(const char *folder, const char *name, const char *unit, unsigned days)
{
	char path[PATH_BYTES];
	struct error err;

	if (pki_issue(in_root(folder, path), name, unit, days, &err) < 0)
		fail_msg("%s", err.text);
}

/* Two authorities with the same certificates. */
static int setup(void **state)
{
	static const char *const folders[] = { "ours", "theirs" };
	struct error err;

	if (scratch_setup(state))
		return -1;
	for (size_t i = 0; i < 2; i++) {
		char path[PATH_BYTES];

		if (pki_init(in_root(folders[i], path), "rack", 10, &err) < 0)
			fail_msg("%s", err.text);
		issue(folders[i], "box", NULL, 10);
		issue(folders[i], "viewer", "view", 10);
		issue(folders[i], "boss", "admin", 10);
	}
	issue("ours", "cook", "cook", 10);
	issue("ours", "gone", "view", 10);
	issue("ours", "old-viewer", "view", 0);
	issue("ours", "old-boss", "admin", 0);
	issued_s = time(NULL);
	return pki_revoke(in_root("ours", (char[PATH_BYTES]){ 0 }), "gone", &err);
}

/* ---- A connection ---- */

struct end {
	struct tls *tls;
	struct tls_link *link;
	int fd, r;
	struct error err;
};

static void open_end(struct end *end, enum tls_side side, const char *authority, const char *pair,
		     const char *revoked)
{
	char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES];
	struct tls_options options = {
		.side = side, .ca_file = ca, .cert_file = cert, .key_file = key, .revoked_file = revoked
	};

	options.units = side == TLS_SERVER ? units : NULL;
	options.clock_is_set = side == TLS_SERVER ? clock_is_set : NULL;
	(void)snprintf(ca, sizeof(ca), "%s/%s/ca.crt", root, authority);
	(void)snprintf(cert, sizeof(cert), "%s/%s.crt", root, pair);
	(void)snprintf(key, sizeof(key), "%s/%s.key", root, pair);
	if (tls_open(&options, &end->tls, &end->err) < 0)
		fail_msg("%s", end->err.text);
	end->r = -EAGAIN;
}

static void attach(struct end *end, const char *server_name)
{
	if (tls_attach(end->tls, end->fd, server_name, &end->link, &end->err) < 0)
		fail_msg("%s", end->err.text);
}

static void connect_ends(struct end ends[static 2], const char *server_name)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	ends[0].fd = fds[0];
	ends[1].fd = fds[1];
	attach(&ends[0], NULL);
	attach(&ends[1], server_name);
}

static void shake_hands(struct end ends[static 2])
{
	for (int i = 0; i < ROUNDS_MAX && (ends[0].r == -EAGAIN || ends[1].r == -EAGAIN); i++)
		if (ends[i % 2].r == -EAGAIN)
			ends[i % 2].r = tls_handshake(ends[i % 2].link, &ends[i % 2].err);
}

static void close_end(struct end *end)
{
	tls_detachp(&end->link);
	if (end->fd >= 0)
		(void)close(end->fd);
	end->fd = -1;
	tls_closep(&end->tls);
}

/* ---- Who may talk to whom ---- */

static const struct {
	const char *label, *server, *client_ca, *client, *name, *revoked, *server_says, *client_says;
} refusals[] = {
	{ "a client of another authority", "ours/box", "ours", "theirs/viewer", "box", NULL,
	  "refused: The certificate is not correctly signed", "an authority that it does not know" },
	{ "a server of another authority", "theirs/box", "ours", "ours/viewer", "box", NULL,
	  "the other side refuses: our certificate comes from an authority that it does not know",
	  "refused: The certificate is not correctly signed" },
	{ "a server of another name", "ours/box", "ours", "ours/viewer", "other", NULL,
	  "the other side refuses: it refuses our certificate", "refused: The certificate Common Name" },
	{ "a box in the place of a person", "ours/box", "ours", "ours/box", "box", NULL,
	  "refused: the certificate's OU names no role", "the other side refuses: " },
	{ "a person in the place of a box", "ours/viewer", "ours", "ours/viewer", "viewer", NULL,
	  "refused: ", "the other side refuses: it found no certificate, or no cipher suite in common" },
	{ "a role that there is not", "ours/box", "ours", "ours/cook", "box", NULL,
	  "refused: the certificate's OU names no role",
	  "the other side refuses: our certificate's OU names no role" },
	{ "a revoked client", "ours/box", "ours", "ours/gone", "box", "ours/revoked",
	  "refused: the certificate is revoked", "the other side refuses: our certificate is revoked there" },
	{ "a list that cannot be read", "ours/box", "ours", "ours/viewer", "box", "ours",
	  "refused: the list of revoked certificates cannot be read", "revoked there" },
};

static void check_text(const char *label, const struct end *end, const char *words)
{
	if (end->r != -EACCES || !strstr(end->err.text, words))
		fail_msg("%s: found %d, \"%s\", expected \"%s\"", label, end->r, end->err.text, words);
}

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct end ends[2] = { 0 };
		char revoked[PATH_BYTES];

		open_end(&ends[0], TLS_SERVER, "ours", refusals[i].server,
			 refusals[i].revoked ? in_root(refusals[i].revoked, revoked) : NULL);
		open_end(&ends[1], TLS_CLIENT, refusals[i].client_ca, refusals[i].client, NULL);
		connect_ends(ends, refusals[i].name);
		shake_hands(ends);
		check_text(refusals[i].label, &ends[0], refusals[i].server_says);
		check_text(refusals[i].label, &ends[1], refusals[i].client_says);
		close_end(&ends[1]);
		close_end(&ends[0]);
	}
}

static void test_a_connection(void **state)
{
	struct end ends[2] = { 0 };
	char revoked[PATH_BYTES], data[8], line[128];

	(void)state;
	put("list", "# none yet\n");
	open_end(&ends[0], TLS_SERVER, "ours", "ours/box", in_root("list", revoked));
	open_end(&ends[1], TLS_CLIENT, "ours", "ours/boss", NULL);
	connect_ends(ends, "box");
	assert_string_equal(tls_name(ends[0].link), "");
	assert_int_equal(tls_unit(ends[0].link), -1);
	shake_hands(ends);
	assert_int_equal(ends[0].r, 0);
	assert_int_equal(ends[1].r, 0);
	assert_string_equal(tls_name(ends[0].link), "boss");
	assert_string_equal(units[tls_unit(ends[0].link)], "admin");
	assert_int_not_equal(tls_peer(ends[0].link), tls_peer(ends[1].link));

	assert_int_equal(tls_read(ends[0].link, data, sizeof(data)), -EAGAIN);
	assert_false(tls_wants_write(ends[0].link));
	assert_int_equal(tls_write(ends[1].link, "0123456789", 10), 10);
	assert_int_equal(tls_read(ends[0].link, data, 4), 4);
	assert_memory_equal(data, "0123", 4);
	assert_int_equal(tls_buffered(ends[0].link), 6);
	assert_int_equal(tls_read(ends[0].link, data, sizeof(data)), 6);

	assert_false(tls_is_revoked(ends[0].link));
	(void)snprintf(line, sizeof(line), "%016llX # of another place\n",
		       (unsigned long long)tls_peer(ends[0].link));
	put("list", line);
	assert_false(tls_is_revoked(ends[0].link)); /* a part of a fingerprint is none */
	(void)unlink(revoked);
	assert_false(tls_is_revoked(ends[0].link));
	assert_int_equal(mkdir(revoked, 0700), 0);
	assert_true(tls_is_revoked(ends[0].link));
	assert_int_equal(rmdir(revoked), 0);

	close_end(&ends[1]);
	assert_int_equal(tls_read(ends[0].link, data, sizeof(data)), 0);
	assert_int_equal(tls_write(ends[0].link, "x", 1), -EPIPE);
	close_end(&ends[0]);
}

static void test_a_slow_reader(void **state)
{
	static char much[1 << 16];
	struct end ends[2] = { 0 };
	size_t written = 0, read = 0;
	ssize_t n;

	(void)state;
	open_end(&ends[0], TLS_SERVER, "ours", "ours/box", NULL);
	open_end(&ends[1], TLS_CLIENT, "ours", "ours/viewer", NULL);
	connect_ends(ends, "box");
	shake_hands(ends);
	while ((n = tls_write(ends[0].link, much, sizeof(much))) > 0)
		written += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	assert_true(tls_wants_write(ends[0].link));
	while ((n = tls_read(ends[1].link, much, sizeof(much))) > 0)
		read += (size_t)n;
	n = tls_write(ends[0].link, much, sizeof(much)); /* the same bytes once more */
	assert_true(n > 0);
	assert_false(tls_wants_write(ends[0].link));
	written += (size_t)n;
	while ((n = tls_read(ends[1].link, much, sizeof(much))) > 0)
		read += (size_t)n;
	assert_int_equal(read, written);
	close_end(&ends[1]);
	close_end(&ends[0]);
}

/* A client that is no TLS client, and one that leaves. */
static void test_odd_clients(void **state)
{
	static const struct {
		const char *says;
		int code;
		const char *words;
	} odd[] = {
		{ "GET / HTTP/1.0\r\n\r\n", -EACCES, "refused: SSL - " },
		{ "", -ECONNRESET, "the other side ended the handshake" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct end end = { 0 };
		int fds[2];

		open_end(&end, TLS_SERVER, "ours", "ours/box", NULL);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
		end.fd = fds[0];
		attach(&end, NULL);
		assert_int_equal(send(fds[1], odd[i].says, strlen(odd[i].says), 0), strlen(odd[i].says));
		(void)close(fds[1]);
		while (end.r == -EAGAIN)
			end.r = tls_handshake(end.link, &end.err);
		assert_int_equal(end.r, odd[i].code);
		if (!strstr(end.err.text, odd[i].words))
			fail_msg("found \"%s\", expected \"%s\"", end.err.text, odd[i].words);
		close_end(&end);
	}
}

/* Without a set clock, dates do not matter for the first role; for the others they do. */
static const struct {
	bool clock;
	const char *client;
	int code;
	const char *server_says, *client_says;
} late[] = {
	{ true, "ours/old-viewer", -EACCES, "refused: The certificate validity has expired",
	  "our certificate has expired" },
	{ false, "ours/old-viewer", 0, "", "" },
	{ false, "ours/old-boss", -EACCES, "the clock is not set here: only the role view needs no date",
	  "our certificate has expired" },
};

static void test_dates(void **state)
{
	(void)state;
	while (time(NULL) <= issued_s)
		(void)usleep(10000);
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		struct end ends[2] = { 0 };

		clock_is_good = late[i].clock;
		open_end(&ends[0], TLS_SERVER, "ours", "ours/box", NULL);
		open_end(&ends[1], TLS_CLIENT, "ours", late[i].client, NULL);
		connect_ends(ends, "box");
		shake_hands(ends);
		assert_int_equal(ends[0].r, late[i].code);
		if (late[i].code) {
			check_text(late[i].client, &ends[0], late[i].server_says);
			check_text(late[i].client, &ends[1], late[i].client_says);
		}
		close_end(&ends[1]);
		close_end(&ends[0]);
	}
	clock_is_good = true;
}

/* ---- Files ---- */

static const struct {
	const char *label, *ca, *cert, *key, *words;
} files[] = {
	{ "no authority", "absent", "ours/box.crt", "ours/box.key", "absent: " },
	{ "no certificate", "ours/ca.crt", "absent", "ours/box.key", "absent: " },
	{ "no key", "ours/ca.crt", "ours/box.crt", "absent", "absent: cannot read it: No such file" },
	{ "a key in the place of a certificate", "ours/ca.crt", "ours/box.key", "ours/box.key", "box.key: " },
	{ "the key of another certificate", "ours/ca.crt", "ours/box.crt", "ours/boss.key", "boss.key: " },
	{ "text", "text", "ours/box.crt", "ours/box.key", "text: " },
};

static void test_files(void **state)
{
	(void)state;
	put("text", "no certificate at all\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES];
		const struct tls_options options = { .side = TLS_CLIENT,
						     .ca_file = in_root(files[i].ca, ca),
						     .cert_file = in_root(files[i].cert, cert),
						     .key_file = in_root(files[i].key, key) };
		struct tls *tls = NULL;
		struct error err = { 0 };

		assert_int_equal(tls_open(&options, &tls, &err), -EKEYREJECTED);
		assert_null(tls);
		if (!strstr(err.text, files[i].words))
			fail_msg("%s: %s", files[i].label, err.text);
	}
}

/* ---- The authority's folder ---- */

static const struct {
	const char *name;
	int code;
	const char *words;
} names[] = {
	{ "", -EINVAL, "allowed: 1 .. 63 characters" },
	{ ".hidden", -EINVAL, "\".hidden\"" },
	{ "-x", -EINVAL, "\"-x\"" },
	{ "a/b", -EINVAL, "\"a/b\"" },
	{ "a,OU=admin", -EINVAL, "\"a,OU=admin\"" },
	{ "0123456789012345678901234567890123456789012345678901234567890123", -EINVAL, "allowed" },
	{ "box", -EEXIST, "box.key: cannot write it: File exists" },
};

static void test_names(void **state)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	struct error err;

	(void)state;
	(void)in_root("ours", folder);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(pki_issue(folder, names[i].name, NULL, 10, &err), names[i].code);
		if (!strstr(err.text, names[i].words))
			fail_msg("\"%s\": %s", names[i].name, err.text);
	}
	assert_int_equal(pki_init(folder, "again", 10, &err), -EEXIST);
	assert_int_equal(pki_init(in_root("new", path), "a/b", 10, &err), -EINVAL);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(pki_issue(in_root("nowhere", path), "box", NULL, 10, &err), -EIO);
	assert_non_null(strstr(err.text, "nowhere/ca.crt"));
	(void)unlink(in_root("theirs/ca.key", path));
	assert_int_equal(pki_issue(in_root("theirs", path), "late", NULL, 10, &err), -EIO);
	assert_non_null(strstr(err.text, "theirs/ca.key"));
}

static void test_revoke(void **state)
{
	CLEANUP(free_ptr) char *once = NULL, *twice = NULL;
	char folder[PATH_BYTES], list[PATH_BYTES];
	struct error err;

	(void)state;
	(void)in_root("ours", folder);
	(void)in_root("ours/revoked", list);
	assert_int_equal(pki_revoke(folder, "viewer", &err), 0);
	assert_int_equal(file_read(list, 4096, &once, NULL, &err), 0);
	assert_non_null(strstr(once, "# gone\n"));
	assert_non_null(strstr(once, "# viewer\n"));
	assert_int_equal(pki_revoke(folder, "viewer", &err), 0);
	assert_int_equal(file_read(list, 4096, &twice, NULL, &err), 0);
	assert_string_equal(once, twice);
	assert_int_equal(pki_revoke(folder, "nobody", &err), -EIO);
	assert_int_equal(pki_revoke(folder, "a/b", &err), -EINVAL);
	assert_int_equal(unlink(list), 0);
	assert_int_equal(mkdir(list, 0700), 0);
	assert_true(pki_revoke(folder, "viewer", &err) < 0);
	assert_non_null(strstr(err.text, list));
}

static void test_check(void **state)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	struct error err;
	uint64_t bytes;

	(void)state;
	assert_int_equal(file_read(in_root("ours/ca.crt", path), 1 << 16, &text, &bytes, &err), 0);
	assert_int_equal(pki_check(text, bytes, &err), 0);
	assert_int_equal(pki_check("", 0, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no certificate in PEM: "));
	text[bytes / 2] = '!';
	assert_int_equal(pki_check(text, bytes, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),      cmocka_unit_test(test_a_connection),
		cmocka_unit_test(test_a_slow_reader), cmocka_unit_test(test_odd_clients),
		cmocka_unit_test(test_dates),         cmocka_unit_test(test_files),
		cmocka_unit_test(test_names),         cmocka_unit_test(test_revoke),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
