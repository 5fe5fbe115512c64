/* SPDX-License-Identifier: Apache-2.0 */
/* Answers `kiln` on this box: see core/control.h for what, controld.h for how. */
#include "controld/controld.h"
#include "core/log.h"
#include "drivers/notify/notify.h"

int main(void)
{
	CLEANUP(server_done) struct server server = { .listen_fd = -1, .epoll_fd = -1 };
	struct error err = { 0 };

	log_open("controld");
	methods_check();
	if (server_open(&server, &err) < 0)
		return fatal(&err);
	notify_ready("answering");
	return server_run(&server, &err) < 0 ? fatal(&err) : 0;
}
