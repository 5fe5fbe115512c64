/* SPDX-License-Identifier: Apache-2.0 */
/* The WireGuard network between boxes: keys, the signed list of boxes, and the files of systemd-networkd. */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "drivers/wireguard/authority.h"
#include "drivers/wireguard/netdev.h"
#include "drivers/wireguard/own.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NETWORK "10.7.0.0/29" /* six boxes */

/* RFC 7748, 6.1: Alice. The first byte of the private key is clamped, as section 5 says. */
#define ALICE_PRIVATE "cAdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LGo="
#define ALICE_PUBLIC  "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

static char *in_rack(const char *name, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/rack%s%s", root, *name ? "/" : "", name);
	return out;
}

static char *text_of(const char *name)
{
	char path[PATH_BYTES], *text = NULL;
	struct error err;

	if (file_read(in_rack(name, path), PEERS_FILE_BYTES_MAX, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* An authority with three boxes and a person. */
static int setup(void **state)
{
	static const char *const boxes[] = { "box-1", "box-2", "box-3" };
	char rack[PATH_BYTES];
	struct error err;

	if (scratch_setup(state) || pki_init(in_rack("", rack), "rack", 10, &err) < 0 ||
	    pki_issue(rack, "me", "view", 10, &err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++)
		if (pki_issue(rack, boxes[i], NULL, 10, &err) < 0)
			return -1;
	return 0;
}

static int add(const char *network, const char *a, const char *b, struct error *err)
{
	const char *const names[] = { a, b, NULL };
	char rack[PATH_BYTES];

	return authority_add_boxes(in_rack("", rack), network, names, err);
}

static void must_add(const char *a, const char *b)
{
	struct error err;

	if (add(NETWORK, a, b, &err) < 0)
		fail_msg("%s", err.text);
}

static void must_read(struct peers *ret_peers)
{
	char list[PATH_BYTES], ca_file[PATH_BYTES];
	struct error err;

	if (peers_read(in_rack("boxes", list), in_rack("ca.crt", ca_file), ret_peers, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- Keys ---- */

static void test_keys(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		ALICE_PUBLIC, /* its bits are not those of a private key */
		"cAdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LGo",
		"cAdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LGp=",
		"cAdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LGo==",
		ALICE_PRIVATE "\n" ALICE_PRIVATE,
		ALICE_PRIVATE " ",
	};
	char private[WIREGUARD_KEY_BYTES], public[WIREGUARD_KEY_BYTES], again[WIREGUARD_KEY_BYTES];
	struct error err;

	(void)state;
	assert_int_equal(wireguard_parse_key(ALICE_PRIVATE "\n", private, public, &err), 0);
	assert_string_equal(private, ALICE_PRIVATE);
	assert_string_equal(public, ALICE_PUBLIC);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (wireguard_parse_key(bad[i], private, public, &err) != -EINVAL)
			fail_msg("\"%s\" was read", bad[i]);
		assert_true(!*bad[i] || !strstr(err.text, bad[i]) || strcmp(bad[i], "x") == 0);
	}
	assert_int_equal(wireguard_make_key(private, public, &err), 0);
	assert_int_equal(wireguard_public_key(private, again, &err), 0);
	assert_string_equal(public, again);
	assert_true(wireguard_is_key(private) && wireguard_is_key(public));
	assert_int_equal(wireguard_make_key(again, public, &err), 0);
	assert_string_not_equal(private, again);
}

/* ---- The list ---- */

static void test_add(void **state)
{
	static struct peers peers;
	char path[PATH_BYTES], private[WIREGUARD_KEY_BYTES], public[WIREGUARD_KEY_BYTES];
	CLEANUP(free_ptr) char *before = NULL, *after = NULL;
	struct error err;
	struct stat st;

	(void)state;
	must_add("box-2", "box-1");
	must_read(&peers);
	assert_int_equal(peers.count, 2);
	assert_string_equal(peers.box[0].name, "box-2");
	assert_true(peers.box[0].address == 0x0a070001 && peers.box[1].address == 0x0a070002);
	assert_int_equal(stat(in_rack("box-2.wireguard", path), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(wireguard_read_key(path, private, public, &err), 0);
	assert_string_equal(public, peers.box[0].public_key);
	before = text_of("boxes");
	assert_null(strstr(before, private));

	must_add("box-1", "box-2");
	after = text_of("boxes");
	assert_string_equal(before, after);
	must_add("box-3", NULL);
	must_read(&peers);
	assert_true(peers.count == 3 && peers.box[2].address == 0x0a070003);
	assert_string_equal(peers.box[0].public_key, public);
}

static void test_not_added(void **state)
{
	static const struct {
		const char *label, *network, *name, *words;
		int code;
	} cases[] = {
		{ "no network", "10.7.0.1/29", "box-1", "found \"10.7.0.1/29\" as the network", -EINVAL },
		{ "another network", "10.7.0.0/28", "box-1", "allowed: that of", -EINVAL },
		{ "a person", NETWORK, "me", "expected the certificate of a box", -EINVAL },
		{ "the authority", NETWORK, "ca", "expected the certificate of a box", -EINVAL },
		{ "no certificate", NETWORK, "box-9", "box-9.crt", -EIO },
		{ "a path", NETWORK, "../box-1", "as a name", -EINVAL },
	};
	CLEANUP(free_ptr) char *before = NULL, *after = NULL;

	(void)state;
	must_add("box-1", NULL);
	before = text_of("boxes");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		int r = add(cases[i].network, cases[i].name, NULL, &err);

		if (r != cases[i].code || !strstr(err.text, cases[i].words))
			fail_msg("%s: found %d \"%s\"", cases[i].label, r, err.text);
	}
	after = text_of("boxes");
	assert_string_equal(before, after);
}

static void test_full(void **state)
{
	char rack[PATH_BYTES], name[16];
	struct error err;

	(void)state;
	(void)in_rack("", rack);
	for (int i = 10; i < 13; i++) {
		(void)snprintf(name, sizeof(name), "box-%d", i);
		assert_int_equal(pki_issue(rack, name, NULL, 10, &err), 0);
	}
	must_add("box-1", "box-2");
	must_add("box-3", "box-10");
	must_add("box-11", "box-12");
	assert_int_equal(pki_issue(rack, "box-13", NULL, 10, &err), 0);
	assert_int_equal(add(NETWORK, "box-13", NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "6 boxes"));
}

/* A revoked box loses its key, in the list and as a file, and keeps its address; a box without its file gets
 * a new key. */
static void test_change(void **state)
{
	static struct peers before, after;
	char rack[PATH_BYTES], path[PATH_BYTES];
	struct error err;

	(void)state;
	(void)in_rack("", rack);
	assert_int_equal(authority_revoke_box(rack, "box-1", &err), 0);
	assert_int_equal(access(in_rack("boxes", path), F_OK), -1);
	must_add("box-1", "box-2");
	must_read(&before);
	assert_int_equal(pki_revoke(rack, "box-1", &err), 0);
	assert_int_equal(authority_revoke_box(rack, "box-1", &err), 0);
	assert_int_equal(authority_revoke_box(rack, "box-1", &err), 0);
	assert_int_equal(access(in_rack("box-1.wireguard", path), F_OK), -1);
	assert_int_equal(access(in_rack("box-2.wireguard", path), F_OK), 0);
	assert_int_equal(authority_revoke_box(rack, "nobody", &err), 0);
	assert_int_equal(add(NETWORK, "box-1", NULL, &err), -EKEYREVOKED);
	must_add("box-3", NULL);
	must_read(&after);
	assert_string_equal(after.box[0].public_key, "");
	assert_true(after.box[2].address == 0x0a070003);

	assert_int_equal(unlink(in_rack("box-2.wireguard", path)), 0);
	must_add("box-2", NULL);
	must_read(&after);
	assert_string_not_equal(after.box[1].public_key, before.box[1].public_key);
	assert_true(after.box[1].address == before.box[1].address);
}

/* ---- What is refused ---- */

/* Every value counts for the signature. */
static void test_signature(void **state)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{ "\"box-2\"", "\"box-4\"" },
		{ "10.7.0.2", "10.7.0.5" },
		{ "10.7.0.0/29", "10.7.0.0/28" },
		{ "\"signature\":\t\"", "\"signature\":\t\"AA" },
		{ "\"signature\":\t\"", "\"signature\":\t\"\",\"old\":\t\"" },
	};
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], ca_file[PATH_BYTES], theirs[PATH_BYTES];
	static struct peers peers;
	struct error err;

	(void)state;
	must_add("box-1", "box-2");
	text = text_of("boxes");
	(void)in_rack("boxes", path);
	(void)in_rack("ca.crt", ca_file);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *at = strstr(text, changes[i].from);
		CLEANUP(free_ptr) char *changed = NULL;
		int r;

		if (!at)
			fail_msg("no %s in %s", changes[i].from, text);
		assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, changes[i].to,
				     at + strlen(changes[i].from)) > 0);
		put(path, changed);
		r = peers_read(path, ca_file, &peers, &err);
		if (r != -EKEYREJECTED)
			fail_msg("%s: found %d \"%s\"", changes[i].to, r, err.text);
	}
	put(path, text);
	assert_int_equal(peers_read(path, ca_file, &peers, &err), 0);
	(void)snprintf(theirs, sizeof(theirs), "%s/theirs", root);
	assert_int_equal(pki_init(theirs, "theirs", 10, &err), 0);
	(void)snprintf(ca_file, sizeof(ca_file), "%s/theirs/ca.crt", root);
	assert_int_equal(peers_read(path, ca_file, &peers, &err), -EKEYREJECTED);
	assert_int_equal(peers_read(path, path, &peers, &err), -EKEYREJECTED);
}

#define BOX(name, address, key) \
	"{\"name\":\"" name "\",\"address\":\"" address "\",\"public_key\":\"" key "\"}"
#define LIST(boxes) "{\"network\":\"10.7.0.0/29\",\"signature\":\"\",\"boxes\":[" boxes "]}"
#define GOOD        BOX("box-1", "10.7.0.1", ALICE_PUBLIC)

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"network\":\"10.7.0.0/29\",\"signature\":\"\"}",
		"{\"network\":\"10.7.0.0\",\"signature\":\"\",\"boxes\":[]}",
		LIST("1"),
		LIST(BOX("a\\n[Service]", "10.7.0.1", ALICE_PUBLIC)),
		LIST(BOX("", "10.7.0.1", ALICE_PUBLIC)),
		LIST(BOX("a", "10.7.0.0", ALICE_PUBLIC)),
		LIST(BOX("a", "10.7.0.8", ALICE_PUBLIC)),
		LIST(BOX("a", "10.7.0.1", "x")),
		LIST(BOX("a", "10.7.0.1", "%i")),
		LIST(GOOD "," GOOD),
		LIST(GOOD "," BOX("BOX-1", "10.7.0.2", "")),
		LIST(GOOD "," BOX("box-2", "10.7.0.1", "")),
		LIST(GOOD "," BOX("box-2", "10.7.0.2", ALICE_PUBLIC)),
	};
	static const char good[] = LIST(GOOD "," BOX("b", "10.7.0.2", "") "," BOX("c", "10.7.0.3", ""));
	static struct peers peers;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (peers_parse("list", bad[i], strlen(bad[i]), &peers, &err) != -EBADMSG)
			fail_msg("%s was read", bad[i]);
	assert_int_equal(peers.count, 0);
	assert_int_equal(peers_parse("list", good, strlen(good), &peers, &err), 0);
	assert_int_equal(peers.count, 3);
	assert_null(peers_with_key(&peers, ""));
	assert_ptr_equal(peers_named(&peers, "BOX-1"), &peers.box[0]);
}

/* ---- systemd-networkd ---- */

static void test_netdev(void **state)
{
	CLEANUP(free_ptr) char *netdev = NULL, *network = NULL;
	static struct peers peers;
	struct error err;
	char expected[1024];

	(void)state;
	must_add("box-1", "box-2");
	must_add("box-3", NULL);
	must_read(&peers);
	*peers.box[2].public_key = '\0';
	assert_int_equal(netdev_text(&peers, &peers.box[1], "/run/k", &netdev, &err), 0);
	(void)snprintf(expected, sizeof(expected),
		       "[NetDev]\nName=kiln-ranks\nKind=wireguard\n\n"
		       "[WireGuard]\nPrivateKeyFile=/run/k\nListenPort=51820\n\n"
		       "[WireGuardPeer]\nPublicKey=%s\nAllowedIPs=10.7.0.1/32\nEndpoint=box-1:51820\n",
		       peers.box[0].public_key);
	assert_string_equal(strchr(netdev, '\n') + 1, expected);
	assert_int_equal(netdev_network_text(&peers, &peers.box[1], &network, &err), 0);
	assert_non_null(strstr(network, "[Match]\nName=kiln-ranks\n"));
	assert_non_null(strstr(network, "\nAddress=10.7.0.2/29\n"));
}

/* ---- What a box has ---- */

static void copy(const char *from, const char *credential)
{
	CLEANUP(free_ptr) char *text = text_of(from);
	char path[PATH_BYTES];
	struct error err;

	assert_int_equal(path_make(path_of(PATH_CREDENTIALS, NULL, path), &err), 0);
	put(path_of(PATH_CREDENTIALS, credential, path), text);
}

static void test_own(void **state)
{
	struct config config = { .ranks = { .network = NETWORK, .boxes = "box-1 box-3" } };
	struct own own;
	char path[PATH_BYTES], rack[PATH_BYTES];
	struct error err;

	(void)state;
	assert_true(own_is_needed(&config));
	must_add("box-1", "box-2");
	assert_int_equal(own_load(&config, &own, &err), -ENOENT);
	assert_non_null(strstr(err.text, OWN_KEY));
	copy("box-2.wireguard", OWN_KEY);
	copy("boxes", OWN_BOXES);
	copy("ca.crt", "control-ca");
	assert_int_equal(own_load(&config, &own, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ranks.boxes has box-3"));
	must_add("box-3", NULL);
	copy("boxes", OWN_BOXES);
	assert_int_equal(own_load(&config, &own, &err), 0);
	assert_string_equal(own.box->name, "box-2");
	own_done(&own);
	assert_int_equal(*own.private_key, '\0');

	config.ranks.network = "10.8.0.0/29";
	assert_int_equal(own_load(&config, &own, &err), -EINVAL);
	config.ranks.network = NETWORK;
	assert_int_equal(authority_revoke_box(in_rack("", rack), "box-3", &err), 0);
	copy("boxes", OWN_BOXES);
	assert_int_equal(own_load(&config, &own, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the box was revoked"));
	put(path_of(PATH_CREDENTIALS, OWN_KEY, path), ALICE_PRIVATE "\n");
	assert_int_equal(own_load(&config, &own, &err), -ENOKEY);
	assert_null(strstr(err.text, ALICE_PRIVATE));
	config.ranks.trusted = true;
	assert_false(own_is_needed(&config));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test_setup_teardown(test_add, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_not_added, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_signature, setup, scratch_teardown),
		cmocka_unit_test(test_parse),
		cmocka_unit_test_setup_teardown(test_netdev, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_own, setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("wireguard", tests, NULL, NULL);
}
