/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of the control protocol: as config/control.md, and as the help of verbs. */
#include "core/base/wrap.h"
#include "core/control/control.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define WIDTH 112 /* longest line in columns */

static void reference_param(const struct control_param *param, FILE *out)
{
	char allowed[256], text[1024];
	size_t used;

	(void)control_allowed(param, allowed, sizeof(allowed));
	used = (size_t)snprintf(text, sizeof(text), "- `%s` (", param->name);
	for (const char *c = allowed; *c && used < sizeof(text); c++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
					 *c == '|' ? ", " : (char[]){ *c, '\0' });
	(void)snprintf(text + used, sizeof(text) - used, "%s): %s.", param->required ? "; must be given" : "",
		       param->help);
	wrap_print(text, 0, "  ", WIDTH, out);
}

static void reference_method(const struct control_method *method, FILE *out)
{
	char text[1024];

	fprintf(out, "\n### `%s`\n\n", method->name);
	(void)snprintf(text, sizeof(text), "Role %s%s: %s.", control_role_name(method->role),
		       method->acts ? ", acts" : "", method->help);
	wrap_print(text, 0, "", WIDTH, out);
	if (method->params[0].name)
		fputs("\nParameters:\n\n", out);
	for (const struct control_param *param = method->params; param->name; param++)
		reference_param(param, out);
	(void)snprintf(text, sizeof(text), "Result: %s.", method->result);
	(void)fputc('\n', out);
	wrap_print(text, 0, "", WIDTH, out);
}

static void paragraph(FILE *out, const char *format, ...) PRINTF(2, 3);

static void paragraph(FILE *out, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fputc('\n', out);
	wrap_print(text, 0, "", WIDTH, out);
}

static void reference_protocol(FILE *out)
{
	fputs("# The control protocol\n", out);
	paragraph(out, "Printed by `kiln control reference` from the tables in "
		       "firmware/core/control/control_methods.c.");
	paragraph(out, "JSON-RPC 2.0 over `/run/kiln/control.sock`, one object per line. An example of a "
		       "request:");
	fputs("\n    {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n", out);
	paragraph(out,
		  "Every result has the member `protocol`: %u. Integers above 2^53 are decimal strings. The "
		  "roles are view < operate < admin: root is admin, and the groups kiln-admin, kiln-operate "
		  "and kiln-view give their members the role of that name. A method that acts also has the "
		  "parameter `idempotency_key` (1 .. %u characters of [A-Za-z0-9_-]): a second request with "
		  "the same key gets the first answer, and is not acted on again.",
		  CONTROL_PROTOCOL, CONTROL_KEY_MAX);
	paragraph(
		out,
		"Limits: a request has at most %u KiB and arrives within %u s, an answer has at most %u "
		"MiB; there are at most %u connections, at most %u of them from other machines and %u from "
		"one address, and at most %u subscribers. A user or a certificate with a role below admin "
		"has at most %u connections and %u subscriptions. A client that reads no byte of an answer "
		"for %u s "
		"is disconnected, and so is a client on another machine that asks nothing for %u s or whose "
		"TLS handshake takes %u s. A request without an `id` is carried out and gets no answer.",
		CONTROL_REQUEST_MAX >> 10, CONTROL_REQUEST_S, CONTROL_REPLY_MAX >> 20, CONTROL_CLIENTS_MAX,
		CONTROL_REMOTE_MAX, CONTROL_ADDRESS_MAX, CONTROL_SUBSCRIBED_MAX, CONTROL_CALLER_MAX,
		CONTROL_CALLER_SUBS, CONTROL_REPLY_S, CONTROL_REMOTE_IDLE_S, CONTROL_HANDSHAKE_S);
}

void control_reference(FILE *out)
{
	reference_protocol(out);
	fputs("\n## Methods\n", out);
	for (size_t i = 0; i < control_methods_count; i++)
		reference_method(&control_methods[i], out);
	fputs("\n## Errors\n\n| code | name | |\n| --- | --- | --- |\n", out);
	for (size_t i = 0; i < control_errors_count; i++)
		fprintf(out, "| %d | %s | %s |\n", control_errors[i].code, control_errors[i].name,
			control_errors[i].help);
}
