/* SPDX-License-Identifier: Apache-2.0 */
/* Answers `kiln` on this box: see core/control/control.h for what, controld.h for how. */
#include "controld/controld.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/notify/notify.h"

#include <malloc.h>

/* Clients' long lines and answers as mappings of their own, gone with them: on the heap, where the C library
 * puts them once it has seen a few go, 48 MiB of them left 400 MiB of holes. */
#define MAPPED_BYTES (32 << 10)

int main(void)
{
	CLEANUP(server_done) struct server server = { .epoll_fd = -1 };
	struct error err = { 0 };

	log_open("controld");
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
	methods_check();
	if (server_open(&server, &err) < 0)
		return fatal(&err);
	remote_open(&server);
	notify_ready("answering");
	return server_run(&server, &err) < 0 ? fatal(&err) : 0;
}
