/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of the control protocol: as config/control.md, and as the help of verbs. */
#include "core/control/control.h"

#include <inttypes.h>
#include <string.h>

static void reference_method(const struct control_method *method, FILE *out)
{
	char allowed[256];

	fprintf(out,
		"\n### `%s`\n\n"
		"Role %s%s: %s.\n\n",
		method->name, control_role_name(method->role), method->acts ? ", acts" : "", method->help);
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
		"Printed by `kiln control reference` from the tables in "
		"firmware/core/control/control_methods.c.\n\n"
		"JSON-RPC 2.0 over `/run/kiln/control.sock`, one "
		"object per line. An example of a request:\n\n"
		"    "
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n\n"
		"Every result has the member "
		"`protocol`: %u. Integers above 2^53 are decimal strings. The roles are view < operate < "
		"admin:\nroot is admin, and the groups kiln-admin, kiln-operate and kiln-view give their "
		"members the role of that name. A method that\nacts also has the parameter `idempotency_key` "
		"(1 .. %u characters of [A-Za-z0-9_-]): a second request with the same\nkey gets the first "
		"answer, and is not acted on again.\n\n"
		"Limits: a request has at most %u KiB and arrives "
		"within %u s, an answer has at most %u MiB; there are at most %u connections,\nat most %u of "
		"them from other machines and %u from one\naddress, and at most %u subscribers. A client "
		"that "
		"reads no byte of an answer for %u s is disconnected, and so is a client\non another machine "
		"that asks nothing for %u s or whose TLS handshake takes %u s. A request without an `id` is "
		"carried out and\ngets no answer.\n\n## Methods\n",
		CONTROL_PROTOCOL, CONTROL_KEY_MAX, CONTROL_REQUEST_MAX >> 10, CONTROL_REQUEST_S,
		CONTROL_REPLY_MAX >> 20, CONTROL_CLIENTS_MAX, CONTROL_REMOTE_MAX, CONTROL_ADDRESS_MAX,
		CONTROL_SUBSCRIBED_MAX, CONTROL_REPLY_S, CONTROL_REMOTE_IDLE_S, CONTROL_HANDSHAKE_S);
	for (size_t i = 0; i < control_methods_count; i++)
		reference_method(&control_methods[i], out);
	fputs("\n## Errors\n\n| code | name | |\n| --- | --- | --- |\n", out);
	for (size_t i = 0; i < control_errors_count; i++)
		fprintf(out, "| %d | %s | %s |\n", control_errors[i].code, control_errors[i].name,
			control_errors[i].help);
}
