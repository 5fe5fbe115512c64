/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-controld; controld.h describes its parts. */
#include "controld/controld.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "drivers/notify/notify.h"

#include <malloc.h>

/* malloc() gives each block above this size a mapping of its own, so that clients' long lines and answers
 * leave no holes in the heap. Without a fixed size the C library raises the size when large blocks are freed:
 * 48 MiB of lines and answers then left 400 MiB of holes. */
#define MAPPED_BYTES (32 << 10)

static const struct program program = {
	"kiln-controld", "",
	"Answers the control protocol on /run/kiln/control.sock and, with control.remote, to other machines."
};

int main(int argc, char **argv)
{
	CLEANUP(server_done) struct server server = { .loop.fd = -1, .local.fd = -1, .remote.fd = -1 };
	struct error err = { 0 };
	int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
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
