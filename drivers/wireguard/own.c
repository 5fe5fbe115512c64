/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/own.h"
#include "core/base/paths.h"

#include <string.h>
#include <unistd.h>

#define TO_DO "kiln pki network --help tells how to make it"

bool own_is_needed(const struct config *config)
{
	return *config->ranks.network && !config->ranks.trusted;
}

void own_done(struct own *own)
{
	explicit_bzero(own, sizeof(*own));
}

static int find(const char *name, char ret_path[static PATH_BYTES], struct error *err)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");

	if (folder)
		(void)snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name);
	else
		(void)path_of(PATH_CREDENTIALS, name, ret_path);
	if (access(ret_path, R_OK) == 0)
		return 0;
	return error_set(err, -errno, "%s: cannot read it: %s; " TO_DO, ret_path, strerror(errno));
}

static int load_files(struct own *own, char ret_list[static PATH_BYTES], struct error *err)
{
	char key_file[PATH_BYTES], ca_file[PATH_BYTES], public_key[WIREGUARD_KEY_BYTES];
	int r;

	if ((r = find(OWN_KEY, key_file, err)) < 0 || (r = find(OWN_BOXES, ret_list, err)) < 0 ||
	    (r = find("control-ca", ca_file, err)) < 0 ||
	    (r = wireguard_read_key(key_file, own->private_key, public_key, err)) < 0 ||
	    (r = peers_read(ret_list, ca_file, &own->peers, err)) < 0)
		return r;
	own->box = peers_with_key(&own->peers, public_key);
	return own->box ? 0
			: error_set(err, -ENOKEY,
				    "%s has no box with the key of %s: a newer list or key was not copied to "
				    "this box, or the box was revoked",
				    ret_list, key_file);
}

/* Checks that the list has a key for each box of ranks.boxes. */
static int check_boxes(const struct config *config, const struct own *own, const char *list,
		       struct error *err)
{
	const char *at = config->ranks.boxes;

	for (size_t bytes; (bytes = config_next_name(&at)) > 0; at += bytes) {
		const struct peers_box *box;
		char name[CONFIG_HOST_MAX + 1];

		(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, at);
		box = peers_named(&own->peers, name);
		if (!box || !*box->public_key)
			return error_set(err, -EINVAL, "ranks.boxes has %s, for which %s has %s", name, list,
					 box ? "no key: the box was revoked" : "no box; " TO_DO);
	}
	return 0;
}

int own_load(const struct config *config, struct own *ret_own, struct error *err)
{
	const struct peers *peers = &ret_own->peers;
	struct cidr wanted = { 0 };
	char list[PATH_BYTES];
	int r;

	*ret_own = (struct own){ 0 };
	(void)cidr_parse(config->ranks.network, &wanted);
	r = load_files(ret_own, list, err);
	if (r == 0 && (peers->network.network != wanted.network || peers->network.prefix != wanted.prefix))
		r = error_set(err, -EINVAL, "ranks.network is %s, but %s is for another network",
			      config->ranks.network, list);
	if (r == 0)
		r = check_boxes(config, ret_own, list, err);
	if (r < 0)
		own_done(ret_own);
	return r;
}
