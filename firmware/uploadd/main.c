/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-uploadd. upload.h describes its structure. */
#include "core/base/log.h"
#include "core/base/program.h"
#include "drivers/notify/notify.h"
#include "uploadd/uploader.h"

static const struct program program = {
	"kiln-uploadd", "[--drain]",
	"Uploads the files of the spool to sink.url. With --drain it ends "
	"when the run has ended or stopped, and all its files are in the store"
};

int main(int argc, char **argv)
{
	static struct uploader uploader;
	struct error err = { 0 };
	int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	log_open("uploadd");
	uploader.drain = program_option(argc, argv, "--drain") != NULL;
	alive_back_off(STATUS_UPLOADD);
	r = uploader_lock(&uploader, &err);
	if (r != 0)
		return r < 0 ? alive_fatal(STATUS_UPLOADD, &err) : EX_OK;
	uploader_open_page(&uploader);
	if (watch_open(&uploader.watch, &err) < 0)
		return alive_fatal(STATUS_UPLOADD, &err);
	uploader.worker = alive_worker("the uploader");
	uploader_open_tracker(&uploader);
	alive_open();
	notify_ready("waiting for a run");
	if (uploader_run(&uploader, &err) < 0)
		return alive_fatal(STATUS_UPLOADD, &err);
	tracker_close(uploader.tracker, uploader.drain);
	status_closep(&uploader.page);
	uploader_close(&uploader);
	return EX_OK;
}
