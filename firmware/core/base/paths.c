/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/base/slot.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_LOOK_MS 20u /* between two looks whether a lock is free */

static const char *const paths[] = {
	[PATH_CONFIG] = "/etc/kiln/kiln.conf",
	[PATH_REVOKED] = "/etc/kiln/revoked",
	[PATH_CREDENTIALS] = "/data/kiln/credentials",
	[PATH_RUNS] = "/data/kiln/run",
	[PATH_SLOT] = "/data/kiln/run",
	[PATH_RUN] = "/data/kiln/run/current",
	[PATH_ARCHIVE] = "/data/kiln/run/archive",
	[PATH_REPORTS] = "/data/kiln/run/reports",
	[PATH_SPOOL] = "/data/kiln/spool",
	[PATH_CACHE] = "/data/kiln/cache",
	[PATH_KERNELS] = "/data/kiln/cache/kernels",
	[PATH_RUNTIME] = "/run/kiln",
	[PATH_STATUS] = "/run/kiln/status",
	[PATH_DEVICES] = "/run/kiln/status/traind/devices.json",
	[PATH_SLOT_STATUS] = "/run/kiln/status",
	[PATH_USABLE] = "/run/kiln/usable",
	[PATH_HUGE] = "/run/kiln/huge",
	[PATH_RING] = "/run/kiln/huge/ring",
	[PATH_CONTROL] = "/run/kiln/control.sock",
	[PATH_STEER] = "/run/kiln-steer/socket",
	[PATH_RANKS] = "/run/kiln/ranks",
	[PATH_NETWORK] = "/data/etc/network",
	[PATH_STORE_CA] = "/etc/kiln/store-ca.pem",
	[PATH_BUNDLE] = "/data/kiln/update/bundle.raucb",
	[PATH_UPDATE_NOTE] = "/run/kiln/update/note.json",
	[PATH_DOWNGRADE] = "/run/kiln-update/downgrade",
	[PATH_ROUTE] = "/run/kiln/route/nic",
	[PATH_STEERED] = "/run/kiln/interrupts/note.json",
	[PATH_ESP] = "/efi",
	[PATH_ESP_SLOTS] = "/efi/kiln",
	[PATH_ESP_CONFIG] = "/efi/config",
	[PATH_RTC] = "/sys/class/rtc",
	[PATH_UTMP] = "/run/utmp",
	[PATH_ESP_PAGES] = "/efi/kiln/pages.env",
	[PATH_MOUNT_PAGES] = "/run/systemd/system/run-kiln-huge.mount.d/60-pages.conf",
	[PATH_SSH] = "/data/etc/ssh",
	[PATH_TIMESYNCD] = "/run/systemd/timesyncd.conf.d",
	[PATH_NETWORKD] = "/run/systemd/network",
	[PATH_HWMON] = "/sys/class/hwmon",
	[PATH_DRM] = "/sys/class/drm",
	[PATH_MACHINE_ID] = "/etc/machine-id",
	[PATH_OS_RELEASE] = "/etc/os-release",
	[PATH_CMDLINE] = "/proc/cmdline",
	[PATH_VMSTAT] = "/proc/vmstat",
};
static_assert(sizeof(paths) / sizeof(paths[0]) == PATH_KINDS, "every path has its row");

/* The paths that have the number of a slot between the two texts, from slot 1 on. */
static const struct {
	const char *before, *after;
} of_slot[PATH_KINDS] = {
	[PATH_SLOT] = { "/data/kiln/run/slot-", "" },
	[PATH_RUN] = { "/data/kiln/run/slot-", "/current" },
	[PATH_SLOT_STATUS] = { "/run/kiln/status/slot-", "" },
	[PATH_HUGE] = { "/run/kiln/huge-", "" },
	[PATH_RING] = { "/run/kiln/huge-", "/ring" },
};

/* The text before the number of a rank, from rank 1 on, at the end of a path. */
static const char *const of_rank[PATH_KINDS] = { [PATH_RING] = "-" };

char *path_of(enum path which, const char *tail, char out[static PATH_BYTES])
{
	const char *root = getenv("KILN_ROOT"), *slash = tail ? "/" : "";
	const unsigned slot = slot_now();
	char rank[32] = "";
	int used;

	if (slot_rank() && of_rank[which])
		(void)snprintf(rank, sizeof(rank), "%s%u", of_rank[which], slot_rank());
	if (slot && of_slot[which].before)
		used = snprintf(out, PATH_BYTES, "%s%s%u%s%s%s%s", root ? root : "", of_slot[which].before,
				slot, of_slot[which].after, rank, slash, tail ? tail : "");
	else
		used = snprintf(out, PATH_BYTES, "%s%s%s%s%s", root ? root : "", paths[which], rank, slash,
				tail ? tail : "");
	if (used < 0 || (size_t)used >= PATH_BYTES) {
		fputs("KILN_ROOT is too long for a path\n", stderr);
		abort();
	}
	return out;
}

char *path_beside(const char *name, char out[static PATH_BYTES])
{
	const ssize_t bytes = readlink("/proc/self/exe", out, PATH_BYTES - 1);
	char *slash;

	out[bytes > 0 ? bytes : 0] = '\0';
	slash = strrchr(out, '/');
	slash = slash ? slash + 1 : out;
	(void)snprintf(slash, PATH_BYTES - (size_t)(slash - out), "%s", name);
	return out;
}

char *path_of_program(const char *name, char out[static PATH_BYTES])
{
	char installed[128];

	(void)snprintf(installed, sizeof(installed), "../libexec/kiln/%s", name);
	return access(path_beside(name, out), X_OK) < 0 ? path_beside(installed, out) : out;
}

int path_make(const char *directory, struct error *err)
{
	char path[PATH_BYTES];
	size_t length = strlen(directory);

	if (length == 0 || length >= sizeof(path))
		return error_set(err, -ENAMETOOLONG, "%s: %zu bytes, allowed 1..%u", directory, length,
				 PATH_BYTES - 1);
	memcpy(path, directory, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		path[i] = '\0';
		if (mkdir(path, 0775) < 0 && errno != EEXIST)
			return error_set(err, -errno, "%s: cannot make the folder: %s", path,
					 strerror(errno));
		path[i] = directory[i];
	}
	return 0;
}

void path_empty(const char *folder)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		(void)closedir(entries);
}

int file_write_all(int fd, const void *data, uint64_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* Opens the folder that contains the file `path`. */
static int open_folder_of(const char *path)
{
	char folder[PATH_BYTES];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (length >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(folder, path, length);
	folder[length] = '\0';
	return open(slash ? (length ? folder : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int file_exists(const char *path, struct error *err)
{
	if (access(path, F_OK) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG
		       ? 0
		       : error_set(err, -errno, "%s: %s", path, strerror(errno));
}

int file_rename_durable(const char *from, const char *to, struct error *err)
{
	CLEANUP(close_fd) int folder = open_folder_of(to);

	if (folder < 0 || rename(from, to) < 0 || fsync(folder) < 0)
		return error_set(err, -errno, "%s: cannot rename it to %s: %s", from, to, strerror(errno));
	return 0;
}

int file_remove_durable(const char *path, struct error *err)
{
	CLEANUP(close_fd) int folder = -1;

	if (unlink(path) < 0)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	folder = open_folder_of(path);
	if (folder < 0 || fsync(folder) < 0)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	return 0;
}

int file_write_durable(const char *path, const void *data, uint64_t bytes, struct error *err)
{
	char temporary[PATH_BYTES + 16];
	CLEANUP(close_fd) int fd = -1;
	int r;

	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	/* Remove the temporary file first, and never write to an existing one: it may belong to another user
	 * since a power cut, or an attacker may have put a link there. */
	(void)unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", temporary, strerror(errno));
	r = file_write_all(fd, data, bytes);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		return file_rename_durable(temporary, path, err);
	(void)unlink(temporary);
	return error_set(err, r, "%s: cannot write %" PRIu64 " bytes: %s", temporary, bytes, strerror(-r));
}

static int read_all(int fd, char *data, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		ssize_t n = read(fd, data + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (uint64_t)n;
	}
	*ret_bytes = done;
	return 0;
}

int file_read(const char *path, uint64_t max, char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	/* O_NONBLOCK: the open of a FIFO would wait for a writer. */
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	if ((uint64_t)st.st_size > max)
		return error_set(err, -E2BIG, "%s: %jd bytes, at most %" PRIu64 " expected", path,
				 (intmax_t)st.st_size, max);
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		return error_set(err, -ENOMEM, "%s: no memory for %jd bytes", path, (intmax_t)st.st_size);
	r = read_all(fd, data, (uint64_t)st.st_size, &bytes);
	if (r < 0)
		return error_set(err, r, "%s: cannot read it: %s", path, strerror(-r));
	data[bytes] = '\0';
	*ret_data = TAKE(data);
	if (ret_bytes)
		*ret_bytes = bytes;
	return 0;
}

/* Gives a lock file to the group of its folder. That fails where the file is another user's, who has done it.
 * A file with a second name may be a file that is not for the group: it stays as it is. */
static void give_to_group(int fd, const struct stat *file, const char *path)
{
	CLEANUP(close_fd) int folder = open_folder_of(path);
	struct stat above;

	if (folder < 0 || file->st_nlink != 1 || fstat(folder, &above) < 0)
		return;
	if (file->st_gid != above.st_gid)
		(void)!fchown(fd, (uid_t)-1, above.st_gid);
	if ((file->st_mode & 0777) != 0660)
		(void)fchmod(fd, 0660);
}

static int open_lock(const char *path, int *ret_fd, struct error *err)
{
	CLEANUP(close_fd)
	int fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0660);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	give_to_group(fd, &st, path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int file_lock(const char *path, int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	int r = open_lock(path, &fd, err);

	if (r < 0)
		return r;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return error_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

int file_lock_within(const char *path, unsigned wait_ms, int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	int r = open_lock(path, &fd, err);

	if (r < 0)
		return r;
	for (unsigned waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited_ms += LOCK_LOOK_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
		if (waited_ms >= wait_ms)
			return error_set(err, -EBUSY, "%s: another process holds the lock", path);
		(void)usleep(LOCK_LOOK_MS * 1000);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

int folder_lock(const char *path, const char *busy, int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? error_set(err, -EBUSY, "%s: %s", path, busy)
			       : error_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}
