/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds folders of /data to the places where programs look for them. Files that must survive an update of the
 * image are on /data.
 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "oneshot/boot/boot.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sysexits.h>

/* Only folders are bound, not files: kiln.conf is replaced by rename(), which fails with EBUSY for a bound
 * file. */
static const struct {
	const char *on_data, *seen;
} bindings[] = {
	{ "/data/etc/kiln", "/etc/kiln" },
	/* Files that say when the timer last elapsed, and what time it was when the box went down: a box
	   without a clock battery starts with this time. */
	{ "/data/kiln/stamps/timers", "/var/lib/systemd/timers" },
	{ "/data/kiln/stamps/timesync", "/var/lib/systemd/timesync" },
	/* Network settings from the ESP, such as static addresses (systemd.network(5)). */
	{ "/data/etc/network", "/run/systemd/network" },
	{ "/data/kiln/journal", "/var/log/journal" },
};

static bool is_bound(const char *on_data, const char *seen)
{
	struct stat a, b;

	return stat(on_data, &a) == 0 && stat(seen, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int bind(const char *on_data, const char *seen, struct error *err)
{
	int r;

	if ((r = path_make(on_data, err)) < 0 || (r = path_make(seen, err)) < 0 || is_bound(on_data, seen))
		return r;
	if (mount(on_data, seen, NULL, MS_BIND, NULL) < 0)
		return error_set(err, -errno, "cannot bind %s on %s: %s", on_data, seen, strerror(errno));
	log_info("%s is on %s", on_data, seen);
	return 0;
}

int oneshot_provision(int argc, char **argv)
{
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	/* A failure is only logged, because the last binding, that of /etc/kiln, must be tried in any case.
	 */
	for (size_t i = 1; i < sizeof(bindings) / sizeof(bindings[0]); i++)
		if (bind(bindings[i].on_data, bindings[i].seen, &err) < 0)
			log_err("%s", err.text);
	return bind(bindings[0].on_data, bindings[0].seen, &err) < 0 ? fatal(&err) : EX_OK;
}
