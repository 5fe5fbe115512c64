/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-uploadd. upload.h describes its structure. */
#include "core/base/log.h"
#include "drivers/notify/notify.h"
#include "uploadd/uploader.h"

#include <string.h>
#include <sysexits.h>

int main(int argc, char **argv)
{
	static struct uploader uploader;
	struct error err = { 0 };
	int r;

	log_open("uploadd");
	uploader.drain = argc == 2 && strcmp(argv[1], "--drain") == 0;
	if (argc > 1 && !uploader.drain) {
		fputs("Usage: kiln-uploadd [--drain]   with --drain it ends when the run is final and in the "
		      "store\n",
		      stderr);
		return EX_USAGE;
	}
	alive_back_off(STATUS_UPLOADD);
	r = uploader_lock(&uploader, &err);
	if (r != 0)
		return r < 0 ? alive_fatal(STATUS_UPLOADD, &err) : EX_OK;
	uploader_open_page(&uploader);
	if (watch_open(&uploader.watch, &err) < 0)
		return alive_fatal(STATUS_UPLOADD, &err);
	uploader.worker = alive_worker("the uploader");
	alive_open();
	notify_ready("waiting for a run");
	if (uploader_run(&uploader, &err) < 0)
		return alive_fatal(STATUS_UPLOADD, &err);
	status_closep(&uploader.page);
	upload_close(&uploader.current);
	return EX_OK;
}
