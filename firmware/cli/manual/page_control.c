/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual/pages.h"
#include "cli/manual/roff.h"
#include "core/control/control.h"

static void put_method(FILE *out, const struct control_method *method)
{
	char allowed[256];

	roff_group(out, method->name);
	roff_paragraph(out, "Role %s%s: %s.", control_role_name(method->role), method->acts ? ", acts" : "",
		       method->help);
	for (const struct control_param *param = method->params; param->name; param++) {
		roff_item(out, param->name, "%s", param->help);
		roff_item_more(out, "%s%s", control_allowed(param, allowed, sizeof(allowed)),
			       param->required ? "; must be given" : "");
	}
	roff_paragraph(out, "Result: %s.", method->result);
}

static void put_bounds(FILE *out)
{
	roff_section(out, "LIMITS");
	roff_item(out, "request", "%u KiB in one line, which arrives within %u s", CONTROL_REQUEST_MAX >> 10,
		  CONTROL_REQUEST_S);
	roff_item(out, "answer", "%u MiB; a client that reads nothing for %u s is disconnected",
		  CONTROL_REPLY_MAX >> 20, CONTROL_REPLY_S);
	roff_item(out, "connections",
		  "%u; at most %u from other machines and %u from one address, and at most %u subscribers",
		  CONTROL_CLIENTS_MAX, CONTROL_REMOTE_MAX, CONTROL_ADDRESS_MAX, CONTROL_SUBSCRIBED_MAX);
	roff_item(out, "idle connection", "%u s between two requests, %u s from another machine",
		  CONTROL_IDLE_S, CONTROL_REMOTE_IDLE_S);
	roff_item(out, "TLS handshake", "%u s", CONTROL_HANDSHAKE_S);
}

void page_control(FILE *out)
{
	char code[32];

	roff_title(out, "kiln-control", "7", "the control protocol of a Kiln box");
	roff_section(out, "DESCRIPTION");
	roff_paragraph(out, "`kiln-controld` answers JSON-RPC 2.0, one object per line, on the Unix socket "
			    "`/run/kiln/control.sock` and, with `control.remote`, over mutual TLS 1.2. A "
			    "request and its answer:");
	roff_example(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n"
			  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1, ...}}");
	roff_paragraph(
		out,
		"Every result has the member `protocol`, %u. An integer above 2^53 is a decimal string. A "
		"request without an `id` is carried out and gets no answer.",
		CONTROL_PROTOCOL);
	roff_section(out, "ROLES");
	roff_paragraph(
		out,
		"view < operate < admin. On the socket root is admin, and the groups kiln-admin, "
		"kiln-operate "
		"and kiln-view give the other users their role. Over TLS the role is the OU of the client's "
		"certificate. The role ranks is of a box that leads a job on several boxes: only that role "
		"may call the methods rank.*, and it may call no other.");
	roff_paragraph(
		out,
		"A method that acts also takes `idempotency_key` (1 .. %u characters of [A-Za-z0-9_-]). A "
		"request with a key that was used before is not acted on again: it gets the first answer.",
		CONTROL_KEY_MAX);
	put_bounds(out);
	roff_section(out, "METHODS");
	for (size_t i = 0; i < control_methods_count; i++)
		put_method(out, &control_methods[i]);
	roff_section(out, "ERRORS");
	for (size_t i = 0; i < control_errors_count; i++) {
		(void)snprintf(code, sizeof(code), "%d %s", (int)control_errors[i].code,
			       control_errors[i].name);
		roff_item(out, code, "%s", control_errors[i].help);
	}
	roff_see_also(out, "kiln(1), kiln-events(7), kiln-controld(8)");
}
