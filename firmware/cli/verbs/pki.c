/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/tls/pki.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"

#include <string.h>

#define CA_DAYS    3650u
#define ISSUE_DAYS 825u

static const char usage[] =
	"Usage: kiln pki init FOLDER                             make an authority for a rack\n"
	"       kiln pki issue FOLDER NAME [--days N]            a box's certificate; NAME is what --host "
	"calls it\n"
	"       kiln pki issue FOLDER NAME --role ROLE [--days N]  a person's; ROLE is view, operate or "
	"admin\n"
	"       kiln pki revoke FOLDER NAME                      put it on FOLDER/revoked\n\n"
	"On a box, as root: ca.crt, NAME.crt and NAME.key become control-ca, control-crt and control-key in\n"
	"/data/kiln/credentials, FOLDER/revoked becomes /etc/kiln/revoked, kiln.conf says control.remote = "
	"true,\n"
	"and then `systemctl restart kiln-controld`; a new list of revoked ones counts without that.\n"
	"A person's become ca.crt, client.crt and client.key in ~/.kiln. ca.key stays where nobody gets at "
	"it.\n";

static bool is_role(const char *role)
{
	return strcmp(role, "view") == 0 || strcmp(role, "operate") == 0 || strcmp(role, "admin") == 0;
}

static int issue(int argc, char **argv)
{
	const char *role = NULL;
	unsigned long days = ISSUE_DAYS;
	struct error err = { 0 };
	char *end;

	for (int i = 4; i < argc; i += 2) {
		if (i + 1 < argc && strcmp(argv[i], "--role") == 0 && is_role(argv[i + 1]))
			role = argv[i + 1];
		else if (i + 1 < argc && strcmp(argv[i], "--days") == 0 &&
			 (days = strtoul(argv[i + 1], &end, 10)) >= 1 && days <= CA_DAYS && !*end)
			continue;
		else
			return cli_usage(
				"pki",
				"found \"%s\", expected --role view, operate or admin, or --days 1 .. %u",
				argv[i], CA_DAYS);
	}
	return pki_issue(argv[2], argv[3], role, (unsigned)days, &err) < 0 ? cli_error(&err) : CLI_OK;
}

int cli_pki(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return CLI_OK;
	}
	if (argc == 3 && strcmp(argv[1], "init") == 0)
		return pki_init(argv[2], "kiln-ca", CA_DAYS, &err) < 0 ? cli_error(&err) : CLI_OK;
	if (argc >= 4 && strcmp(argv[1], "issue") == 0)
		return issue(argc, argv);
	if (argc == 4 && strcmp(argv[1], "revoke") == 0)
		return pki_revoke(argv[2], argv[3], &err) < 0 ? cli_error(&err) : CLI_OK;
	return cli_usage("pki", "which: init, issue or revoke?");
}
