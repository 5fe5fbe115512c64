/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln support`: writes one archive with all information that a remote helper needs. A box sends none of its
 * secrets. In addition the verb replaces everything that could be a secret (redact.h). Only the owner of the
 * archive can read it.
 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/verbs/redact.h"
#include "cli/verbs/verbs.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- The archive ---- */

static void close_archive(struct archive **archive)
{
	(void)archive_write_free(*archive);
}

static int add_file(struct archive *archive, const char *name, const char *text, struct error *err)
{
	CLEANUP(free_ptr) char *clean = redact(text);
	struct archive_entry *entry = archive_entry_new();
	size_t bytes = clean ? strlen(clean) : 0;
	int r = -ENOMEM;

	if (clean && entry) {
		archive_entry_set_pathname(entry, name);
		archive_entry_set_size(entry, (int64_t)bytes);
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_perm(entry, 0600);
		archive_entry_set_mtime(entry, time(NULL), 0);
		r = archive_write_header(archive, entry) == ARCHIVE_OK &&
				    archive_write_data(archive, clean, bytes) == (la_ssize_t)bytes
			    ? 0
			    : -EIO;
	}
	archive_entry_free(entry);
	return r < 0 ? error_set(err, r, "%s: cannot write it: %s", name, strerror(-r)) : 0;
}

/* Adds the result of a method as one file. Where the box refuses the call, the file has the error. */
static int add_answer(struct archive *archive, struct client *client, const char *method, cJSON *params,
		      const char *name, struct error *err)
{
	CLEANUP(json_free) cJSON *result = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	struct error why = { 0 };
	int r = client_call(client, method, params, &result, &why);

	if (r < 0 && r != -EREMOTEIO)
		return error_set(err, r, "%s", why.text);
	if (r == -EREMOTEIO)
		return add_file(archive, name, why.text, err);
	r = json_print(result, &text, err);
	return r < 0 ? r : add_file(archive, name, text, err);
}

static int write_all(struct archive *archive, struct client *client, struct error *err)
{
	static const struct {
		const char *method, *file, *param;
		double value;
	} parts[] = {
		{ "status", "status.json", NULL, 0 },      { "node.info", "node.json", NULL, 0 },
		{ "config.show", "config.json", NULL, 0 }, { "run.show", "run.json", NULL, 0 },
		{ "run.list", "runs.json", NULL, 0 },      { "checkpoint.list", "checkpoints.json", NULL, 0 },
		{ "log.tail", "log.json", "lines", 1000 }, { "metrics", "metrics.json", NULL, 0 },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		cJSON *params = cJSON_CreateObject();

		if (parts[i].param)
			(void)cJSON_AddNumberToObject(params, parts[i].param, parts[i].value);
		r = add_answer(archive, client, parts[i].method, params, parts[i].file, err);
	}
	return r;
}

static void default_name(char *out, size_t size)
{
	char host[65] = "", stamp[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (client_used())
		(void)snprintf(host, sizeof(host), "%s", client_used()->name);
	else
		(void)gethostname(host, sizeof(host) - 1);
	host[strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")] = '\0';
	if (gmtime_r(&now, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	(void)snprintf(out, size, "kiln-support-%s-%s.tar.gz", host, stamp);
}

/* Opens the file for its owner alone, also where it exists with another mode: even without secrets the
 * archive tells much about the box. Where the user gave no name (`chosen`), others could guess it and put a
 * file or a link there. */
static int open_private(const char *file, bool chosen, struct error *err)
{
	const int how = chosen ? O_TRUNC : O_EXCL | O_NOFOLLOW;
	CLEANUP(close_fd) int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && fchmod(fd, 0600) < 0))
		return error_set(err, -errno, "%s: cannot write it: %s", file, strerror(errno));
	return take_fd(&fd);
}

static int write_archive(const char *file, bool chosen, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(close_archive) struct archive *archive = archive_write_new();
	int r = client_open(&client, err);

	if (r < 0 || (r = fd = open_private(file, chosen, err)) < 0)
		return r;
	if (!archive || archive_write_add_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
	    archive_write_open_fd(archive, fd) != ARCHIVE_OK)
		return error_set(err, -EIO, "%s: cannot write it: %s", file,
				 archive ? archive_error_string(archive) : "no memory");
	r = write_all(archive, client, err);
	if (r == 0 && archive_write_close(archive) != ARCHIVE_OK)
		r = error_set(err, -EIO, "%s: cannot write it: %s", file, archive_error_string(archive));
	if (r < 0)
		(void)unlink(file);
	return r;
}

static int support(const struct arguments *arguments)
{
	const char *given = arguments_operand(arguments, 0);
	struct error err = { 0 };
	char name[160] = "";

	if (given && client_one_of_many())
		return cli_usage(arguments->name,
				 "one FILE cannot hold the archives of several boxes: leave FILE out");
	default_name(name, sizeof(name));
	if (write_archive(given ? given : name, given != NULL, &err) < 0)
		return client_error(&err);
	puts(given ? given : name);
	return CLI_OK;
}

static const struct verb_operand operands[] = {
	{ .name = "FILE", .value = VERB_FILE, .optional = true },
	{ 0 },
};

const struct verb verb_support = {
	.name = "support",
	.summary = "write an archive for support, without secrets",
	.about = "Writes status, configuration, journal, run records, metrics and a description of the "
		 "machine to one archive: FILE, or kiln-support-BOX-TIME.tar.gz in the current folder. Each "
		 "secret is replaced with ***, and only you can read the file.",
	.operands = operands,
	.methods = { "status", "config.show" },
	.parameters_not_options = true,
	.run = support,
};
