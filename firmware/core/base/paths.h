/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of everything that Kiln reads and writes, and how it writes files that survive a power cut. All
 * paths lie below KILN_ROOT of the environment (empty by default), so that a demo or a test runs beside an
 * installed Kiln and without root.
 *
 * Durable files: written to a temporary name, fsync, rename, fsync of the folder. The rename makes the file
 * appear whole or not at all; the first fsync brings the bytes to the disk before the name, the second one
 * the name itself. After a power cut the old file is there or the new one, never a mix.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define PATH_BYTES 4096u

enum path {
	PATH_CONFIG,      /* /etc/kiln/kiln.conf */
	PATH_REVOKED,     /* /etc/kiln/revoked: SHA-256 of client certificates */
	PATH_CREDENTIALS, /* /data/kiln/credentials */
	PATH_RUNS,        /* /data/kiln/run: lock, current, archive */
	PATH_RUN,         /* /data/kiln/run/current: run.json, state, want, config, plan; core/run/run.h */
	PATH_ARCHIVE,     /* /data/kiln/run/archive */
	PATH_REPORTS,     /* /data/kiln/run/reports: core/box/reports.h */
	PATH_SPOOL,       /* /data/kiln/spool: a folder for each writer */
	PATH_CACHE,       /* /data/kiln/cache */
	PATH_KERNELS,     /* /data/kiln/cache/kernels: OpenCL binaries */
	PATH_RUNTIME,     /* /run/kiln */
	PATH_STATUS,      /* /run/kiln/status: a folder for each daemon */
	PATH_HUGE,        /* /run/kiln/huge: hugetlbfs */
	PATH_RING,        /* /run/kiln/huge/ring */
	PATH_CONTROL,     /* /run/kiln/control.sock */
	PATH_STEER,       /* /run/kiln-steer/socket */
	PATH_NETWORK,     /* /data/etc/network: a box's own files of systemd-networkd */
	PATH_STORE_CA,    /* /etc/kiln/store-ca.pem: the CA of the box's store, for ca_file */
	PATH_BUNDLE,      /* /data/kiln/update/bundle.raucb: the bundle that an update installs */
	PATH_UPDATE_NOTE, /* /run/kiln/update/note.json: core/box/update.h */
	PATH_ESP_SLOTS,   /* /efi/kiln: a folder for each slot, with what the boot loader reads */
	PATH_ESP_CONFIG,  /* /efi/config: files for the box, put there on any PC */
	PATH_RTC,         /* /sys/class/rtc: hardware clocks, which wake the box; drivers/clock/alarm.h */
	PATH_UTMP,        /* /run/utmp: who is logged in, utmp(5) */
	PATH_ESP_PAGES,   /* /efi/kiln/pages.env: hugepages that the boot loader reserves */
	PATH_MOUNT_PAGES, /* /run/systemd/system/run-kiln-huge.mount.d/60-pages.conf */
	PATH_SSH,         /* /data/etc/ssh: authorized_keys and the box's own key */
	PATH_TIMESYNCD,   /* /run/systemd/timesyncd.conf.d */
	PATH_HWMON,       /* /sys/class/hwmon: temperatures */
	PATH_MACHINE_ID,  /* /etc/machine-id */
	PATH_OS_RELEASE,  /* /etc/os-release */
	PATH_CMDLINE,     /* /proc/cmdline: the kernel's command line */
	PATH_KINDS,
};

/* Writes "KILN_ROOT/path[/tail]" to `out`; `tail` may be NULL. Returns out. A path that is too long ends the
 * program: KILN_ROOT would have to be of some 4000 characters. */
char *path_of(enum path which, const char *tail, char out[static PATH_BYTES]);

/* Makes a folder and those above it, mode 0775: the umask decides whether the group kiln may write. */
MUST_CHECK int path_make(const char *directory, struct error *err);

/* Removes the files in a folder, as far as possible. A missing folder is empty. */
void path_empty(const char *folder);

/* Writes a file so that it is whole or absent after a power cut. Mode 0664, less the umask. Removes an old
 * temporary file, left by a killed writer or planted as a link, and never writes through it. Callers make
 * sure that one writer at a time writes a path. Blocks: for the disk. */
MUST_CHECK int file_write_durable(const char *path, const void *data, uint64_t bytes, struct error *err);

/* Writes all bytes, however often write(2) is interrupted or writes less. Returns 0 or -errno. */
MUST_CHECK int file_write_all(int fd, const void *data, uint64_t bytes);

/* Renames a file or a folder: rename(2), then fsync of the folder of `to`. */
MUST_CHECK int file_rename_durable(const char *from, const char *to, struct error *err);

/* Locks a file that serves as a lock alone, and makes it where it is missing. Blocks: until another holder
 * lets go. Whoever may read the file may lock it, also when another user made it. Closing the descriptor
 * unlocks. */
MUST_CHECK int file_lock(const char *path, int *ret_fd, struct error *err);

/* Removes a file: unlink(2), then fsync of the folder. A missing file is no error. */
MUST_CHECK int file_remove_durable(const char *path, struct error *err);

/* Reads a whole file of at most `max` bytes and adds a NUL; the caller frees it. `ret_bytes` may be NULL.
 * Errors: -E2BIG the file is longer; -EINVAL the path names no regular file; -errno of open(2) or read(2). */
MUST_CHECK int file_read(const char *path, uint64_t max, char **ret_data, uint64_t *ret_bytes,
			 struct error *err);
