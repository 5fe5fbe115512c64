/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/netdev.h"

#include <net/if.h>
#include <stdlib.h>

#define MADE_BY    "# Made by kiln-oneshot network at each boot, from ranks.network and the list of boxes.\n"
#define FLAGS_FILE "/sys/class/net/" NETDEV_INTERFACE "/flags"

/* Closes a stream of open_memstream(3), which sets *text only then. */
static int finish(FILE *out, char *const *text, struct error *err)
{
	const bool failed = ferror(out) != 0;

	return fclose(out) != 0 || failed || !*text ? error_set(err, -ENOMEM, "no memory for a network file")
						    : 0;
}

int netdev_text(const struct peers *peers, const struct peers_box *own, const char *key_file, char **ret_text,
		struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	int r;

	if (!out)
		return error_set(err, -ENOMEM, "no memory for a network file");
	fprintf(out,
		MADE_BY "[NetDev]\nName=" NETDEV_INTERFACE "\nKind=wireguard\n\n"
			"[WireGuard]\nPrivateKeyFile=%s\nListenPort=%u\n",
		key_file, NETDEV_PORT);
	for (uint32_t i = 0; i < peers->count; i++) {
		const struct peers_box *box = &peers->box[i];
		char address[CIDR_TEXT_BYTES];

		if (box == own || !*box->public_key)
			continue;
		fprintf(out, "\n[WireGuardPeer]\nPublicKey=%s\nAllowedIPs=%s/32\nEndpoint=%s:%u\n",
			box->public_key, cidr_address(box->address, address), box->name, NETDEV_PORT);
	}
	if ((r = finish(out, &text, err)) == 0)
		*ret_text = TAKE(text);
	return r;
}

int netdev_network_text(const struct peers *peers, const struct peers_box *own, char **ret_text,
			struct error *err)
{
	char address[CIDR_TEXT_BYTES], *text;

	/* RequiredForOnline: a boot and a night on this box alone do not wait for other boxes. */
	if (asprintf(&text,
		     MADE_BY "[Match]\nName=" NETDEV_INTERFACE "\n\n[Link]\nRequiredForOnline=no\n\n"
			     "[Network]\nAddress=%s/%u\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n",
		     cidr_address(own->address, address), peers->network.prefix) < 0)
		return error_set(err, -ENOMEM, "no memory for a network file");
	*ret_text = text;
	return 0;
}

bool netdev_is_up(void)
{
	CLEANUP(close_file) FILE *file = fopen(FLAGS_FILE, "re");
	unsigned flags;

	return file && fscanf(file, "%x", &flags) == 1 && flags & IFF_UP;
}
