/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-controld. controld.h tells how it is built. */
#include "controld/controld.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/notify/notify.h"

#include <malloc.h>

/* Allocations above this size become mappings of their own. Clients' long lines and answers then leave no
 * holes in the heap: 48 MiB of them left 400 MiB of holes, as the C library raises this size by itself when
 * it sees large blocks freed. */
#define MAPPED_BYTES (32 << 10)

int main(void)
{
	CLEANUP(server_done) struct server server = { .loop.fd = -1 };
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
