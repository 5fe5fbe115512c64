/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the control protocol as texts: config/control.md, and a verb's help. */
#include "core/control/control.h"

#include <inttypes.h>
#include <string.h>

static void reference_method(const struct control_method *method, FILE *out)
{
	char allowed[256];

	fprintf(out, "\n### `%s`\n\nRole %s%s: %s.\n\n", method->name, control_role_name(method->role),
		method->acts ? ", acts" : "", method->help);
	if (method->params[0].name)
		fputs("| parameter | allowed | |\n| --- | --- | --- |\n", out);
	for (const struct control_param *param = method->params; param->name; param++) {
		(void)control_allowed(param, allowed, sizeof(allowed));
		fprintf(out, "| `%s`%s | ", param->name, param->required ? ", must be given" : "");
		for (const char *c = allowed; *c; c++)
			fputs(*c == '|' ? ", " : (char[]){ *c, '\0' }, out);
		fprintf(out, " | %s |\n", param->help);
	}
	fprintf(out, "%sResult: %s.\n", method->params[0].name ? "\n" : "", method->result);
}

void control_reference(FILE *out)
{
	fprintf(out,
		"# The control protocol\n\n"
		"Written by `kiln control reference` from the tables in "
		"firmware/core/control/control_methods.c.\n\n"
		"JSON-RPC 2.0, one object a line, over `/run/kiln/control.sock`; an example:\n\n"
		"    {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n\n"
		"Every result carries `protocol`: %u. Integers above 2^53 travel as decimal strings. Roles: "
		"view < "
		"operate < admin; root\nis admin, the groups kiln-admin, kiln-operate and kiln-view name the "
		"others. Methods that act take `idempotency_key`\nbesides (1 .. %u characters of "
		"[A-Za-z0-9_-]): what was done under a key is not done again.\n\n"
		"Bounds: a request of at most %u KiB that arrives within %u s, an answer of at most %u MiB, "
		"%u "
		"connections, %u\nof them from other machines, %u subscribers. Who takes no byte of an "
		"answer for %u s is "
		"dropped.\n\n## Methods\n",
		CONTROL_PROTOCOL, CONTROL_KEY_MAX, CONTROL_REQUEST_MAX >> 10, CONTROL_REQUEST_S,
		CONTROL_REPLY_MAX >> 20, CONTROL_CLIENTS_MAX, CONTROL_REMOTE_MAX, CONTROL_SUBSCRIBED_MAX,
		CONTROL_REPLY_S);
	for (size_t i = 0; i < control_methods_count; i++)
		reference_method(&control_methods[i], out);
	fputs("\n## Errors\n\n| code | name | |\n| --- | --- | --- |\n", out);
	for (size_t i = 0; i < control_errors_count; i++)
		fprintf(out, "| %d | %s | %s |\n", control_errors[i].code, control_errors[i].name,
			control_errors[i].help);
}

void control_help(const struct control_method *method, FILE *out)
{
	char allowed[256], option[64];

	for (const struct control_param *param = method->params; param->name; param++) {
		(void)snprintf(option, sizeof(option), "--%s%s", param->name,
			       param->type == CONTROL_BOOLEAN ? "" : " VALUE");
		fprintf(out, "  %-22s %s%s%s%s\n", option, param->help,
			param->type == CONTROL_BOOLEAN ? "" : " (",
			param->type == CONTROL_BOOLEAN ? ""
						       : control_allowed(param, allowed, sizeof(allowed)),
			param->type == CONTROL_BOOLEAN ? "" : ")");
	}
}
