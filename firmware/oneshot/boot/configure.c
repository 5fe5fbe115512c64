/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports the files that a person put into the folder config of the ESP, on any PC. Each file is checked,
 * stored in its place on /data, flushed, and only then erased from the ESP. A bad file stays, and the file
 * NAME.error.txt beside it says why; standard output, which is the console, says it, too. An empty file
 * removes the box's file of that name.
 *
 * Why a power cut at any moment is harmless: every step can be repeated. Until the copy is on /data the file
 * on the ESP is not touched. Then the file gets a name that makes the next start erase it and do nothing
 * else. Where /data would not survive a reboot (core/box/data_disk.h), every file stays on the ESP.
 */
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/utf8.h"
#include "core/box/data_disk.h"
#include "core/series/trials.h"
#include "drivers/store/credential.h"
#include "drivers/tls/pki.h"
#include "drivers/tls/tls.h"
#include "drivers/wireguard/own.h"
#include "model/build.h"
#include "oneshot/boot/boot.h"
#include "oneshot/boot/ssh_keys.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#define FILE_BYTES_MAX ((uint64_t)1 << 20)
#define REASON_SUFFIX  ".error.txt"
/* prefix of a file that is stored on /data, and is still to be erased from the ESP */
#define STORED_PREFIX   ".taken-"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

struct found {
	char path[PATH_BYTES]; /* of the file on the ESP */
	const char *name;
	char *text;
	uint64_t bytes;
};

/* Checks that /data survives a reboot. If it does not, the file must stay on the ESP. */
static int check_durable(const char *name, struct error *err)
{
	struct error why;
	int r = data_disk_check(&why);

	return r < 0 ? error_set(err, r, "%s; %s stays here", why.text, name) : 0;
}

/* ---- Checks of one file ---- */

static int check_text(const struct found *file, struct error *err)
{
	uint64_t valid = utf8_valid_bytes(file->text, file->bytes);

	if (strncmp(file->text, "\xEF\xBB\xBF", 3) == 0)
		return error_set(err, -EINVAL,
				 "it begins with a byte order mark: save it as UTF-8 without one");
	if (valid < file->bytes || memchr(file->text, '\0', file->bytes))
		return error_set(err, -EINVAL, "byte %llu is no UTF-8 text: saved as another kind of file?",
				 (unsigned long long)(valid < file->bytes ? valid : strlen(file->text)));
	return 0;
}

static int check_config(const struct found *file, struct error *err)
{
	CLEANUP(free_ptr) char *said = NULL;
	int r = trials_check_text(file->path, graph_check, &said, err);

	return r < 0 && said ? error_set_lines(err, r, "%s", said) : r;
}

/* Loads the configuration that the box will have: the one on the ESP, else its own. */
static int load_config(struct config *ret_config)
{
	char path[PATH_BYTES];
	struct error err;

	if (config_load(path_of(PATH_ESP_CONFIG, "kiln.conf", path), ret_config, &err) == 0)
		return 0;
	return config_load(path_of(PATH_CONFIG, NULL, path), ret_config, &err);
}

enum form { FORM_KEYS, FORM_LINE, FORM_URL };

/* Returns what kiln.conf uses the credential for. */
static enum form form_of(const char *name)
{
	CLEANUP(config_done) struct config config = { 0 };

	if (load_config(&config) < 0)
		return FORM_KEYS;
	if (strcmp(name, config.notify.url_credential) == 0 ||
	    strcmp(name, config.notify.heartbeat_credential) == 0)
		return FORM_URL;
	if (strcmp(name, config.notify.credential) == 0 || strcmp(name, config.notify.mail_credential) == 0)
		return FORM_LINE;
	return FORM_KEYS;
}

static int check_keys_of_store(const struct found *file, struct error *err)
{
	struct credential credential;
	int r = credential_parse(file->name, file->text, &credential, err);

	credential_clear(&credential);
	return r < 0 ? error_prefix(err, "`notify` of kiln.conf does not name it, so it must be the keys of "
					 "a store")
		     : 0;
}

static int check_credential(const struct found *file, struct error *err)
{
	char line[CREDENTIAL_LINE_BYTES];
	enum form form;
	int r;

	if (strspn(file->name, NAME_CHARACTERS) != strlen(file->name) || strlen(file->name) > 64)
		return error_set(err, -EINVAL,
				 "a credential's file is named as kiln.conf has it: up to 64 of A-Z, a-z, "
				 "0-9, _ and -, and no ending");
	form = form_of(file->name);
	if (form == FORM_KEYS)
		return check_keys_of_store(file, err);
	r = form == FORM_URL ? credential_parse_url(file->name, file->text, line, err)
			     : credential_parse_line(file->name, file->text, line, err);
	explicit_bzero(line, sizeof(line));
	return r;
}

static int check_certificates(const struct found *file, struct error *err)
{
	return pki_check(file->text, file->bytes, err);
}

static int check_keys(const struct found *file, struct error *err)
{
	return ssh_keys_check(file->text, err);
}

/* Checks only the form of the lines: systemd-networkd would report such a mistake only in the journal, where
 * the user would not see it.
 */
static int check_network(const struct found *file, struct error *err)
{
	CLEANUP(free_ptr) char *copy = strdup(file->text);
	char *rest = copy, *line;
	bool match = false, section = false;

	if (!copy)
		return error_set(err, -ENOMEM, "no memory");
	for (unsigned number = 1; (line = strsep(&rest, "\n")); number++) {
		size_t key = strspn(line, NAME_CHARACTERS), bytes = strcspn(line, "\r");

		line[bytes] = '\0';
		if (bytes == 0 || *line == '#' || *line == ';')
			continue;
		if (*line == '[' && line[bytes - 1] == ']')
			section = true;
		else if (!section || key == 0 || line[key] != '=')
			return error_set(err, -EINVAL,
					 "line %u: expected [Section] first, then Key=value "
					 "(systemd.network(5))",
					 number);
		match = match || strcmp(line, "[Match]") == 0;
	}
	return match ? 0
		     : error_set(err, -EINVAL, "no section [Match]: it says for which interface the file is");
}

static int check_ranks_key(const struct found *file, struct error *err)
{
	char private[WIREGUARD_KEY_BYTES], public[WIREGUARD_KEY_BYTES];
	int r = wireguard_parse_key(file->text, private, public, err);

	explicit_bzero(private, sizeof(private));
	return r;
}

/* Checks the form alone. kiln-oneshot network checks the signature, with the authority that the box has then.
 */
static int check_ranks_boxes(const struct found *file, struct error *err)
{
	struct peers peers;

	return peers_parse(file->name, file->text, file->bytes, &peers, err);
}

/* ---- Kinds of files ---- */

static const struct kind {
	const char *pattern; /* glob for the path of the file, relative to the folder config */
	enum path where;     /* the folder to store it in or, with `whole`, the file itself */
	bool whole, secret;
	int (*check)(const struct found *file, struct error *err);
} kinds[] = {
	{ "kiln.conf", PATH_CONFIG, true, false, check_config },
	{ "store-ca.pem", PATH_STORE_CA, true, false, check_certificates },
	{ "*.network", PATH_NETWORK, false, false, check_network },
	{ "authorized_keys", PATH_SSH, false, true, check_keys },
	{ OWN_KEY, PATH_CREDENTIALS, false, true, check_ranks_key },
	{ OWN_BOXES, PATH_CREDENTIALS, false, true, check_ranks_boxes },
	{ "credentials/*", PATH_CREDENTIALS, false, true, check_credential },
};

/* These three files are checked and stored together, because mutual TLS needs all of them. */
static const char *const control_names[] = { "control-ca", "control-crt", "control-key" };
#define CONTROLS (sizeof(control_names) / sizeof(control_names[0]))

static bool is_control(const char *name)
{
	for (size_t i = 0; i < CONTROLS; i++)
		if (strcmp(name, control_names[i]) == 0)
			return true;
	return false;
}

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (fnmatch(kinds[i].pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0)
			return &kinds[i];
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

/* Returns true for files that are not to be imported: those of the image itself, and hidden files, which PCs
 * make. */
static bool is_passed_over(const char *name)
{
	return *name == '.' || strcmp(name, "README.txt") == 0 || strcmp(name, "factory-reset") == 0 ||
	       strstr(name, REASON_SUFFIX);
}

/* ---- Store, erase, refuse ---- */

static void reason_path(const char *name, char path[static PATH_BYTES])
{
	char beside[PATH_BYTES / 2];

	(void)snprintf(beside, sizeof(beside), "%.1000s" REASON_SUFFIX, name);
	(void)path_of(PATH_ESP_CONFIG, beside, path);
}

static void refuse(const char *name, const struct error *why)
{
	char path[PATH_BYTES], text[ERROR_TEXT_MAX + 64];
	struct error err = { 0 };
	int bytes = snprintf(text, sizeof(text), "%s%s", why->text, ends_with(why->text, "\n") ? "" : "\n");

	reason_path(name, path);
	printf("kiln: %s on the ESP is refused: %s", name, text);
	if (file_write_durable(path, text, (uint64_t)bytes, &err) < 0)
		log_warning("%s", err.text);
}

/* Overwrites the file with zeros before it removes it: FAT leaves the bytes of a removed file on the disk,
 * and this one may be a credential. */
static int erase(const char *path, struct error *err)
{
	static const char zeros[4096];
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct stat status;
	int r = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;

	for (off_t left = r == 0 ? status.st_size : 0; r == 0 && left > 0; left -= (off_t)sizeof(zeros))
		r = file_write_all(fd, zeros, left < (off_t)sizeof(zeros) ? (uint64_t)left : sizeof(zeros));
	if (r == 0 && (fsync(fd) < 0 || unlink(path) < 0))
		r = -errno;
	return r < 0 ? error_set(err, r, "%s: cannot erase it: %s", path, strerror(-r)) : 0;
}

static int store(const struct found *file, enum path where, bool whole, bool secret, struct error *err)
{
	mode_t before = umask(secret ? 0077 : 0022);
	char path[PATH_BYTES], folder[PATH_BYTES];
	char *slash;
	int r;

	(void)path_of(where, whole ? NULL : file->name, path);
	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*slash = '\0';
	if ((r = path_make(folder, err)) == 0)
		r = file_write_durable(path, file->text, file->bytes, err);
	(void)umask(before);
	return r;
}

/* Removes the reason for which an earlier start refused the file. */
static int forget_reason(const char *name, struct error *err)
{
	char reason[PATH_BYTES];

	reason_path(name, reason);
	return unlink(reason) < 0 && errno != ENOENT
		       ? error_set(err, -errno, "%s: %s", reason, strerror(errno))
		       : 0;
}

/* Removes a stored file from the ESP. First gives it a name that is not imported: after a power cut during
 * the erasure the next start would otherwise import a half erased file. */
static int retire(const struct found *file, const char *name, struct error *err)
{
	char passed[PATH_BYTES];
	int r;

	(void)snprintf(passed, sizeof(passed), "%.*s" STORED_PREFIX "%s",
		       (int)(strlen(file->path) - strlen(file->name)), file->path, file->name);
	if ((r = forget_reason(name, err)) < 0 || (r = file_rename_durable(file->path, passed, err)) < 0 ||
	    (r = erase(passed, err)) < 0)
		return r;
	printf("kiln: %s is %s\n", name,
	       file->bytes > 0 ? "stored, and erased from the ESP"
			       : "removed from the box: the file was empty");
	return 0;
}

static int read_found(const char *name, struct found *ret_file, struct error *err)
{
	const char *slash = strrchr(name, '/');

	(void)path_of(PATH_ESP_CONFIG, name, ret_file->path);
	ret_file->name = slash ? slash + 1 : name;
	return file_read(ret_file->path, FILE_BYTES_MAX, &ret_file->text, &ret_file->bytes, err);
}

static void found_done(struct found *file)
{
	if (file->text)
		explicit_bzero(file->text, file->bytes);
	free(file->text);
}

static int accept_file(const struct found *file, const char *name, enum path where, bool whole, bool secret,
		       struct error *err)
{
	char path[PATH_BYTES];
	int r = file->bytes > 0 ? store(file, where, whole, secret, err)
				: file_remove_durable(path_of(where, whole ? NULL : file->name, path), err);

	return r < 0 ? r : retire(file, name, err);
}

static int import_file(const char *name, struct error *err)
{
	CLEANUP(found_done) struct found file = { 0 };
	const struct kind *kind = kind_of(name);
	int r;

	if (!kind)
		return error_set(err, -EINVAL, "no file of this name is known: README.txt lists the names");
	if ((r = check_durable(name, err)) < 0 || (r = read_found(name, &file, err)) < 0 ||
	    (r = check_text(&file, err)) < 0)
		return r;
	/* An empty file means "remove", and is not checked. An empty kiln.conf is checked, and so refused:
	 * without a configuration the box would do nothing. */
	if ((file.bytes > 0 || kind->where == PATH_CONFIG) && (r = kind->check(&file, err)) < 0)
		return r;
	return accept_file(&file, name, kind->where, kind->whole, kind->secret, err);
}

/* ---- mutual TLS ---- */

/* Checks that the new files work together with the files that the box already has. */
static int check_control(const bool there[static CONTROLS], struct error *err)
{
	static const char *const units[] = { "view", NULL };
	char paths[CONTROLS][PATH_BYTES];
	struct tls *tls = NULL;
	struct tls_options options = { .side = TLS_SERVER, .units = units };
	int r;

	for (size_t i = 0; i < CONTROLS; i++)
		(void)path_of(there[i] ? PATH_ESP_CONFIG : PATH_CREDENTIALS, control_names[i], paths[i]);
	options.ca_file = paths[0];
	options.cert_file = paths[1];
	options.key_file = paths[2];
	r = tls_open(&options, &tls, err);
	tls_closep(&tls);
	return r;
}

static int import_control_file(const char *name, struct error *err)
{
	CLEANUP(found_done) struct found file = { 0 };
	int r = read_found(name, &file, err);

	return r < 0 ? r : accept_file(&file, name, PATH_CREDENTIALS, false, true, err);
}

/* Empty files remove mutual TLS, but only where all three are empty. A file that is missing on the ESP, for
 * instance after a power cut during an earlier removal, counts as empty where the box does not have it any
 * more. */
static int check_removal(const bool there[static CONTROLS], const bool empty[static CONTROLS],
			 struct error *err)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < CONTROLS; i++) {
		const int r = there[i] ? !empty[i]
				       : file_exists(path_of(PATH_CREDENTIALS, control_names[i], path), err);

		if (r < 0)
			return r;
		if (r > 0)
			return error_set(err, -EINVAL,
					 "empty files remove mutual TLS, and %s is not empty: control-ca, "
					 "control-crt and control-key have to be empty together",
					 control_names[i]);
	}
	return 0;
}

static void import_control(void)
{
	bool there[CONTROLS], empty[CONTROLS], any = false, any_empty = false;
	struct error all = { 0 };

	for (size_t i = 0; i < CONTROLS; i++) {
		char path[PATH_BYTES];
		struct stat status;

		there[i] = stat(path_of(PATH_ESP_CONFIG, control_names[i], path), &status) == 0;
		empty[i] = there[i] && status.st_size == 0;
		any = any || there[i];
		any_empty = any_empty || empty[i];
	}
	if (any && check_durable("mutual TLS", &all) == 0)
		(void)(any_empty ? check_removal(there, empty, &all) : check_control(there, &all));
	for (size_t i = 0; i < CONTROLS; i++) {
		struct error err = all;

		if (there[i] && (err.code < 0 || import_control_file(control_names[i], &err) < 0))
			refuse(control_names[i], &err);
	}
}

/* ---- All files ---- */

static void in_folder(const char *folder, /* "" or "credentials/" */
		      void (*act)(const char *name, const char *last))
{
	char path[PATH_BYTES], name[PATH_BYTES];
	struct dirent **entries = NULL;
	int count =
		scandir(path_of(PATH_ESP_CONFIG, *folder ? folder : NULL, path), &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", folder, entries[i]->d_name);
		if (entries[i]->d_type == DT_REG)
			act(name, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void import_or_refuse(const char *name, const char *last)
{
	struct error err = { 0 };

	if (!is_passed_over(last) && !is_control(name) && import_file(name, &err) < 0)
		refuse(name, &err);
}

/* Erases a file that is stored on /data already, but was not erased from the ESP because of a power cut or a
 * failure, of which a reason tells. */
static void erase_rest(const char *name, const char *last)
{
	char path[PATH_BYTES], stored[PATH_BYTES];
	struct error err;

	if (strncmp(last, STORED_PREFIX, strlen(STORED_PREFIX)) != 0)
		return;
	(void)snprintf(stored, sizeof(stored), "%.*s%s", (int)(strlen(name) - strlen(last)), name,
		       last + strlen(STORED_PREFIX));
	if (erase(path_of(PATH_ESP_CONFIG, name, path), &err) < 0 || forget_reason(stored, &err) < 0)
		log_warning("%s", err.text);
}

int oneshot_configure(int argc, char **argv)
{
	struct error why;

	(void)argc;
	(void)argv;
	if (data_disk_check(&why) < 0) {
		/* say this at every start, also where the ESP has no files to import */
		printf("kiln: %s\n", why.text);
	} else {
		in_folder("credentials/", erase_rest);
		in_folder("", erase_rest);
	}
	import_control();
	/* The credentials before kiln.conf, so that a box with the new kiln.conf also has the credentials
	 * that it names. */
	in_folder("credentials/", import_or_refuse);
	in_folder("", import_or_refuse);
	return EX_OK;
}
