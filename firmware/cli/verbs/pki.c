/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln pki`: makes certificates for --host, and the keys of the network between boxes. */
#include "drivers/tls/pki.h"
#include "drivers/wireguard/authority.h"
#include "drivers/wireguard/peers.h"

#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"

#define CA_DAYS    3650u
#define ISSUE_DAYS 825u

static const struct verb_operand folder[] = { { .name = "FOLDER", .value = VERB_FOLDER }, { 0 } };
static const struct verb_operand folder_and_name[] = {
	{ .name = "FOLDER", .value = VERB_FOLDER },
	{ .name = "NAME", .value = VERB_TEXT },
	{ 0 },
};

static int init(const struct arguments *arguments)
{
	struct error err = { 0 };

	return pki_init(arguments_operand(arguments, 0), "kiln-ca", CA_DAYS, &err) < 0 ? cli_error(&err)
										       : CLI_OK;
}

static const struct verb pki_init_row = {
	.name = "init",
	.summary = "make a certificate authority for a rack",
	.operands = folder,
	.run = init,
};

static int issue(const struct arguments *arguments)
{
	struct error err = { 0 };

	return pki_issue(arguments_operand(arguments, 0), arguments_operand(arguments, 1),
			 arguments_text(arguments, "role"),
			 (unsigned)arguments_number(arguments, "days", ISSUE_DAYS), &err) < 0
		       ? cli_error(&err)
		       : CLI_OK;
}

static const struct verb_option issue_options[] = {
	{ .name = "role",
	  .value = VERB_CHOICE,
	  .argument = "ROLE",
	  .choices = "view|operate|admin|ranks",
	  .help = "make a person's certificate with this role; ranks = of a box that leads others; without "
		  "--role the certificate is a box's" },
	{ .name = "days",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = CA_DAYS,
	  .help = "days until the certificate expires, default 825" },
	{ 0 },
};

static const struct verb pki_issue_row = {
	.name = "issue",
	.summary = "make a certificate for a box or for a person",
	.synopsis = "pki issue FOLDER NAME [--days N]\n"
		    "pki issue FOLDER NAME --role ROLE [--days N]",
	.about = "The NAME of a box must be the NAME that --host gives the box.",
	.operands = folder_and_name,
	.options = { issue_options },
	.run = issue,
};

static int revoke_name(const struct arguments *arguments)
{
	struct error err = { 0 };

	const char *in = arguments_operand(arguments, 0), *name = arguments_operand(arguments, 1);

	return pki_revoke(in, name, &err) < 0 || authority_revoke_box(in, name, &err) < 0 ? cli_error(&err)
											  : CLI_OK;
}

static const struct verb pki_revoke_row = {
	.name = "revoke",
	.summary = "add the certificate NAME to the list FOLDER/revoked",
	.about = "Also takes the key of the box NAME out of FOLDER/boxes, where `kiln pki network` put it, "
		 "and removes FOLDER/NAME.wireguard.",
	.operands = folder_and_name,
	.run = revoke_name,
};

static int add_to_network(const struct arguments *arguments)
{
	const char *names[PEERS_MAX + 1] = { 0 };
	const int count = arguments->operands - 2;
	struct error err = { 0 };

	if (count > (int)PEERS_MAX) {
		(void)error_set(&err, -E2BIG, "found %d names, allowed at a time: %u", count, PEERS_MAX);
		return cli_error(&err);
	}
	for (int i = 0; i < count; i++)
		names[i] = arguments_operand(arguments, i + 2);
	return authority_add_boxes(arguments_operand(arguments, 0), arguments_operand(arguments, 1), names,
				   &err) < 0
		       ? cli_error(&err)
		       : CLI_OK;
}

static const struct verb_operand network_operands[] = {
	{ .name = "FOLDER", .value = VERB_FOLDER },
	{ .name = "NETWORK", .value = VERB_TEXT },
	{ .name = "NAME", .value = VERB_TEXT, .repeated = true },
	{ 0 },
};

static const struct verb pki_network_row = {
	.name = "network",
	.summary = "add boxes to the encrypted network in which they train together",
	.about = "NETWORK is the value of ranks.network in kiln.conf, such as 10.7.0.0/24. Each NAME must "
		 "have a "
		 "certificate of `kiln pki issue`. Makes FOLDER/NAME.wireguard, the private key of the box, "
		 "and "
		 "adds the box with its address and its public key to the list FOLDER/boxes, which the "
		 "authority "
		 "signs. A box keeps its address for ever. To make a new key for a box, remove "
		 "FOLDER/NAME.wireguard first.\n\n"
		 "Copy NAME.wireguard to the box NAME as /data/kiln/credentials/ranks-key. Copy the list to "
		 "every "
		 "box as /data/kiln/credentials/ranks-boxes, again after each change of it. Then run "
		 "`systemctl "
		 "restart kiln-network systemd-networkd` or restart the box.",
	.operands = network_operands,
	.run = add_to_network,
};

static const struct verb *const subs[] = { &pki_init_row, &pki_issue_row, &pki_network_row, &pki_revoke_row,
					   NULL };

const struct verb verb_pki = {
	.name = "pki",
	.summary = "make certificates for --host, and keys for the network between boxes",
	.about = "To set up a box, as root: copy ca.crt, NAME.crt and NAME.key to /data/kiln/credentials as "
		 "control-ca, control-crt and control-key, copy FOLDER/revoked to /etc/kiln/revoked, set "
		 "control.remote = true in kiln.conf, and run `systemctl restart kiln-controld`. A new list "
		 "of revoked certificates takes effect without a restart.\n\n"
		 "A person copies ca.crt, "
		 "NAME.crt and NAME.key to ~/.kiln as ca.crt, client.crt and client.key. Keep ca.key where "
		 "nobody else can read it.",
	.subs = subs,
	.here = true,
};
