/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln pki`: makes certificates for --host. */
#include "drivers/tls/pki.h"

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
	  .choices = "view|operate|admin",
	  .help = "make a person's certificate with this role; without --role the certificate is a box's" },
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

	return pki_revoke(arguments_operand(arguments, 0), arguments_operand(arguments, 1), &err) < 0
		       ? cli_error(&err)
		       : CLI_OK;
}

static const struct verb pki_revoke_row = {
	.name = "revoke",
	.summary = "add the certificate NAME to the list FOLDER/revoked",
	.operands = folder_and_name,
	.run = revoke_name,
};

static const struct verb *const subs[] = { &pki_init_row, &pki_issue_row, &pki_revoke_row, NULL };

const struct verb verb_pki = {
	.name = "pki",
	.summary = "make certificates for --host",
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
