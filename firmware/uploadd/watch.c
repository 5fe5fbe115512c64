/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/watch.h"
#include "core/base/paths.h"
#include "core/run/spool.h"

#include <poll.h>
#include <string.h>
#include <sys/inotify.h>

#define EVENTS (IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO)

int watch_open(struct watch *watch, struct error *err)
{
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return watch->fd < 0 ? error_set(err, -errno, "no inotify: %s", strerror(errno)) : 0;
}

void watch_run(struct watch *watch, const char *run_id)
{
	static const char *const folders[] = { "checkpoints", "logs/train", "logs/validation",
					       "logs/steps",  "logs",       "model/saved_model/1",
					       "model" };
	char path[PATH_BYTES];

	(void)inotify_add_watch(watch->fd, path_of(PATH_RUN, NULL, path), IN_MOVED_TO);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)inotify_add_watch(watch->fd, spool_path(run_id, folders[i], path), EVENTS);
}

void watch_wait(struct watch *watch, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = watch->fd, .events = POLLIN };
	char events[4096];

	(void)poll(&poll_fd, 1, timeout_ms);
	while (read(watch->fd, events, sizeof(events)) > 0)
		continue;
}
