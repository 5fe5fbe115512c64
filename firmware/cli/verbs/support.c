/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln support`: one archive with what somebody far away needs to help. Secrets are never in what the box
 * answers; what could hold one all the same (a URL's user, a signed request, a word after "secret") is
 * blacked out besides.
 */
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/verbs/verbs.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <time.h>

#define BLACK "***"

static const char usage[] =
	"Usage: kiln support [FILE]\n\n"
	"Writes status, configuration, journal, run records, node and metrics to one redacted archive,\n"
	"kiln-support-BOX-TIME.tar.gz without FILE.\n";

/* ---- Black out ---- */

static bool is_value(char c)
{
	return c && !strchr(" \t\r\n\"'\\&,;<>", c);
}

/* Of "secret=abc", "token: abc" and the like, `abc`, from behind the word on; 0 = no value follows. */
static size_t value_behind(const char *text, size_t *ret_skip)
{
	size_t skip = strspn(text, "\"\\"), length = 0;

	if (text[skip] != '=' && text[skip] != ':')
		return 0;
	skip += strspn(text + skip, "=: \"\\");
	while (is_value(text[skip + length]))
		length++;
	*ret_skip = skip;
	return length;
}

/* The length of a secret that begins somewhere behind this place, and where it begins. */
static size_t secret_at(const char *text, size_t *ret_skip)
{
	static const char *const words[] = { "secret",
					     "password",
					     "passwd",
					     "token",
					     "authorization",
					     "secret_access_key",
					     "session_token",
					     "x-amz-signature",
					     "x-amz-credential",
					     "signature",
					     "x-amz-security-token" };
	size_t length = 0;

	if (strncmp(text, "://", 3) == 0) {
		length = strcspn(text + 3, "/@ \"\n");
		*ret_skip = 3;
		return text[3 + length] == '@' ? length : 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncasecmp(text, words[i], strlen(words[i])) != 0)
			continue;
		length = value_behind(text + strlen(words[i]), ret_skip);
		if (!length)
			continue;
		*ret_skip += strlen(words[i]);
		/* "Authorization: AWS4-HMAC-SHA256 Credential=..., Signature=...": all of it. */
		if (strcmp(words[i], "authorization") == 0)
			length = strcspn(text + *ret_skip, "\"\\\n");
		return length;
	}
	return 0;
}

static char *redacted(const char *text)
{
	CLEANUP(free_ptr) char *out = NULL;
	size_t bytes;
	FILE *file = open_memstream(&out, &bytes);

	if (!file)
		return NULL;
	while (*text) {
		size_t skip = 0, length = secret_at(text, &skip);

		if (length) {
			(void)fwrite(text, 1, skip, file);
			fputs(BLACK, file);
			text += skip + length;
		} else {
			(void)fputc(*text++, file);
		}
	}
	return fclose(file) == 0 ? TAKE(out) : NULL;
}

/* ---- The archive ---- */

static void close_archive(struct archive **archive)
{
	(void)archive_write_free(*archive);
}

static int add_file(struct archive *archive, const char *name, const char *text, struct error *err)
{
	CLEANUP(free_ptr) char *clean = redacted(text);
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

/* A method's answer as one file; a refusal is the file, too. */
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

static int write_archive(const char *file, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(close_archive) struct archive *archive = archive_write_new();
	int r = client_open(&client, err);

	if (r < 0)
		return r;
	if (!archive || archive_write_add_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
	    archive_write_open_filename(archive, file) != ARCHIVE_OK)
		return error_set(err, -EIO, "%s: cannot write it: %s", file,
				 archive ? archive_error_string(archive) : "no memory");
	r = write_all(archive, client, err);
	if (r == 0 && archive_write_close(archive) != ARCHIVE_OK)
		r = error_set(err, -EIO, "%s: cannot write it: %s", file, archive_error_string(archive));
	if (r < 0)
		(void)unlink(file);
	return r;
}

int cli_support(int argc, char **argv)
{
	char name[160] = "";
	const char *file = argc > 1 ? argv[1] : name;
	struct error err = { 0 };

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return CLI_OK;
	}
	if (argc > 2 || (argc > 1 && *file == '-'))
		return cli_usage("support", "\"%s\" is not expected here", argv[argc - 1]);
	if (argc > 1 && client_one_of_many())
		return cli_usage("support", "many boxes do not go into one file: no FILE then");
	default_name(name, sizeof(name));
	if (write_archive(file, &err) < 0)
		return client_error(&err);
	puts(file);
	return CLI_OK;
}
