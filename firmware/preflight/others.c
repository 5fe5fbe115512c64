/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes that this one leads: ranks.boxes. */
#include "core/base/paths.h"
#include "drivers/control/other.h"
#include "preflight/preflight.h"

#include <errno.h>
#include <unistd.h>

#define PART       "boxes"
#define NAME_BYTES 65u

/* Adds the row of a box that is not ready. */
static void add_error(struct preflight *preflight, const char *name, const struct error *err)
{
	enum preflight_result result = PREFLIGHT_FAILED;
	const char *todo;

	switch (err->code) {
	case -EBUSY:
		result = PREFLIGHT_WARNING;
		todo = "the run waits ranks.wait_s for the box, and then goes on without it";
		break;
	case -ESTALE:
		todo = "give the boxes the same build, device and time; with ranks.mixed devices may differ";
		break;
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		result = PREFLIGHT_NOT_SEEN;
		todo = "start the box, and compare its name in ranks.boxes and control.port";
		break;
	case -ENOENT:
	case -ENOMEM:
		todo = "this box cannot ask: mend what the text says, and call kiln check again";
		break;
	default:
		todo = "give the box its certificate and control.remote, and this box a certificate of the "
		       "role ranks: kiln pki issue --help";
	}
	preflight_add(preflight, PART, result, todo, "box %s: %s", name, err->text);
}

static void look_at(struct preflight *preflight, const char *name, const struct client_identity *as)
{
	CLEANUP(client_closep) struct client *client = NULL;
	struct error err = { 0 };

	if (other_open(name, preflight->config, as, &client, &err) < 0)
		add_error(preflight, name, &err);
	else
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "box %s: it has the build of this box, and is ready to train", name);
}

/* Tells whether this user may read the key. A key that is not there is told for each box. */
static bool may_read(struct preflight *preflight, const char *key)
{
	if (access(key, R_OK) == 0 || errno != EACCES)
		return true;
	preflight_add(preflight, PART, PREFLIGHT_NOT_SEEN, "call kiln check as root",
		      "%s: this user may not read it, so no other box was asked", key);
	return false;
}

void preflight_others(struct preflight *preflight)
{
	char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES], name[NAME_BYTES];
	/* the files that the unit of kiln-traind gets */
	const struct client_identity as = { path_of(PATH_CREDENTIALS, "control-ca", ca),
					    path_of(PATH_CREDENTIALS, "leads-crt", cert),
					    path_of(PATH_CREDENTIALS, "leads-key", key) };
	const char *next = preflight->config->ranks.boxes;

	if (!*next || !may_read(preflight, key))
		return;
	for (size_t bytes; (bytes = config_next_name(&next)) > 0; next += bytes) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, next);
		look_at(preflight, name, &as);
	}
}
