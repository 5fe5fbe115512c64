/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/netdev.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* A list that is taken is printed and taken again as the same. No value of it adds a line to a file of
 * systemd-networkd: it has 8 lines, and 5 for each peer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL, *netdev = NULL;
	unsigned char hash[PEERS_HASH_BYTES], hash_again[PEERS_HASH_BYTES];
	static struct peers peers, again;
	struct error err = { 0 };
	unsigned lines = 0, expected = 8;

	if (peers_parse("boxes", (const char *)data, size, &peers, &err) < 0) {
		must(*err.text);
		return 0;
	}
	must(peers_print(&peers, &text, &err) == 0 &&
	     peers_parse("boxes", text, strlen(text), &again, &err) == 0);
	peers_hash(&peers, hash);
	peers_hash(&again, hash_again);
	must(memcmp(hash, hash_again, sizeof(hash)) == 0 && strcmp(peers.signature, again.signature) == 0);
	must(netdev_text(&peers, NULL, "/k", &netdev, &err) == 0);
	for (const char *at = netdev; (at = strchr(at, '\n')); at++)
		lines++;
	for (uint32_t i = 0; i < peers.count; i++)
		expected += *peers.box[i].public_key ? 5 : 0;
	must(lines == expected);
	return 0;
}
