/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of everything that Kiln reads and writes, and how it writes files that survive a power cut. All
 * paths begin with the environment variable KILN_ROOT (empty by default). So a demo or a test can run on a
 * machine with an installed Kiln, and without root. Some paths belong to a slot or a rank (core/base/slot.h):
 * from slot 1 and from rank 1 on they have its number in them.
 *
 * Durable files: write to a temporary name, fsync, rename, fsync of the folder. The rename replaces the old
 * file by the whole new file in one step. The first fsync writes the bytes to the disk before the rename; the
 * second fsync writes the new name to the disk. After a power cut the old file is there or the new one, never
 * a mix.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define PATH_BYTES 4096u

enum path {
	PATH_CONFIG,      /* /etc/kiln/kiln.conf */
	PATH_REVOKED,     /* /etc/kiln/revoked: SHA-256 of each revoked client certificate */
	PATH_CREDENTIALS, /* /data/kiln/credentials */
	PATH_RUNS,        /* /data/kiln/run: lock, archive, parked, series, reports */
	PATH_SLOT, /* /data/kiln/run: current, asked, unbegun, unfit.json, next.conf; of slot 1 run/slot-1 */
	PATH_RUN,  /* PATH_SLOT/current: run.json, state, want, config, plan; core/run/run.h */
	PATH_ARCHIVE,     /* /data/kiln/run/archive */
	PATH_REPORTS,     /* /data/kiln/run/reports: core/box/reports.h */
	PATH_SPOOL,       /* /data/kiln/spool: a folder for each writer */
	PATH_CACHE,       /* /data/kiln/cache */
	PATH_KERNELS,     /* /data/kiln/cache/kernels: OpenCL binaries */
	PATH_RUNTIME,     /* /run/kiln */
	PATH_STATUS,      /* /run/kiln/status: a folder for each daemon */
	PATH_DEVICES,     /* /run/kiln/status/traind/devices.json: the OpenCL devices; traind/devices.h */
	PATH_SLOT_STATUS, /* /run/kiln/status: folders of fetchd and traind; of slot 1 status/slot-1 */
	PATH_USABLE,      /* /run/kiln/usable: core/box/usable.h */
	PATH_HUGE,        /* /run/kiln/huge: hugetlbfs; of slot 1 huge-1 */
	PATH_RING,        /* /run/kiln/huge/ring; of slot 1 huge-1/ring, of rank 1 huge/ring-1 */
	PATH_CONTROL,     /* /run/kiln/control.sock */
	PATH_STEER,       /* /run/kiln-steer/socket */
	PATH_RANKS,       /* /run/kiln/ranks: jobs that other boxes lead; core/ranks/job.h */
	PATH_NETWORK,     /* /data/etc/network: a box's own files of systemd-networkd */
	PATH_STORE_CA,    /* /etc/kiln/store-ca.pem: the CA of the box's store, for ca_file */
	PATH_BUNDLE,      /* /data/kiln/update/bundle.raucb: the bundle that an update installs */
	PATH_UPDATE_NOTE, /* /run/kiln/update/note.json: core/box/update.h */
	PATH_DOWNGRADE,   /* /run/kiln-update/downgrade: core/box/floor.h */
	PATH_ROUTE,      /* /run/kiln/route/nic: the interface of the route to the store; drivers/nic/nic.h */
	PATH_STEERED,    /* /run/kiln/interrupts/note.json: what kiln-oneshot interrupts found and did */
	PATH_ESP,        /* /efi: where the ESP of an image is mounted */
	PATH_ESP_SLOTS,  /* /efi/kiln: a folder for each slot with the files that the boot loader reads */
	PATH_ESP_CONFIG, /* /efi/config: files for the box that a person copied there on any PC */
	PATH_RTC,       /* /sys/class/rtc: hardware clocks whose alarm wakes the box; drivers/clock/alarm.h */
	PATH_UTMP,      /* /run/utmp: who is logged in, utmp(5) */
	PATH_ESP_PAGES, /* /efi/kiln/pages.env: number of hugepages that the boot loader reserves */
	PATH_MOUNT_PAGES, /* /run/systemd/system/run-kiln-huge.mount.d/60-pages.conf */
	PATH_SSH,         /* /data/etc/ssh: authorized_keys and the box's own key */
	PATH_TIMESYNCD,   /* /run/systemd/timesyncd.conf.d */
	PATH_NETWORKD,    /* /run/systemd/network: files of systemd-networkd that last until a reboot */
	PATH_HWMON,       /* /sys/class/hwmon: temperatures */
	PATH_DRM,         /* /sys/class/drm: GPUs and their counters of errors; drivers/sensors/memory.h */
	PATH_MACHINE_ID,  /* /etc/machine-id */
	PATH_OS_RELEASE,  /* /etc/os-release */
	PATH_CMDLINE,     /* /proc/cmdline: the kernel's command line */
	PATH_VMSTAT,      /* /proc/vmstat: what the kernel counts of its memory */
	PATH_KINDS,
};

/* Writes "KILN_ROOT/path[/tail]" to `out`, of the slot that this thread uses; `tail` may be NULL. Returns
 * out. Ends the program where the path is too long, which only happens with a KILN_ROOT of about 4000
 * characters. */
char *path_of(enum path which, const char *tail, char out[static PATH_BYTES]);

/* Writes the path of `name` in the folder of the running program, such as "kiln-traind". Returns out. */
char *path_beside(const char *name, char out[static PATH_BYTES]);
/* Writes the path of another program of Kiln: in the folder of the running program, or, where that one is
 * installed as PREFIX/bin/kiln, in PREFIX/libexec/kiln. Returns out. */
char *path_of_program(const char *name, char out[static PATH_BYTES]);

/* Makes a folder and its missing parent folders with mode 0775; the umask decides whether the group kiln may
 * write. */
MUST_CHECK int path_make(const char *directory, struct error *err);

/* Removes the files in a folder; ignores files that cannot be removed. A missing folder is no error. */
void path_empty(const char *folder);

/* Writes a file so that after a power cut the file is either the old or the new one, and complete. The mode
 * is 0664, reduced by the umask. Removes an old temporary file first, which a killed writer may have left or
 * an attacker may have made as a link, and never writes to that file. The callers make sure that a path has
 * only one writer at a time. Blocks: until the disk has the file. */
MUST_CHECK int file_write_durable(const char *path, const void *data, uint64_t bytes, struct error *err);

/* Writes all bytes, also where write(2) is interrupted or writes only a part. Returns 0 or -errno. */
MUST_CHECK int file_write_all(int fd, const void *data, uint64_t bytes);

/* Returns 1 where a file or a folder is at `path`; 0 where nothing is there or can be there (ENOENT, ENOTDIR,
 * ENAMETOOLONG); or another negative errno of access(2), such as -EIO: then nobody knows. */
MUST_CHECK int file_exists(const char *path, struct error *err);

/* Renames a file or a folder: rename(2), then fsync of the folder that contains `to`. */
MUST_CHECK int file_rename_durable(const char *from, const char *to, struct error *err);

/* Locks a lock file, and creates the file where it is missing. Blocks: until no other process holds the lock.
 * Whoever can open a file can lock it, and so hold up all others for ever: only the owner and the group of
 * the folder can open a lock file (mode 0660). Closing the descriptor unlocks.
 * Whoever can write to the folder can put a link there: a link is never followed (-ELOOP), because what it
 * leads to would become the group's. A file with a second name keeps its mode and its group. Other errors:
 * -EINVAL not a regular file. */
MUST_CHECK int file_lock(const char *path, int *ret_fd, struct error *err);
/* The same, but waits `wait_ms` at most. Errors: -EBUSY another process holds the lock. */
MUST_CHECK int file_lock_within(const char *path, unsigned wait_ms, int *ret_fd, struct error *err);

/* Locks a folder that exists. Blocks: never. Closing the descriptor unlocks, and so does the end of the
 * process. `busy` ends the text where another process holds the lock. Errors: -EBUSY; -errno of open(2). */
MUST_CHECK int folder_lock(const char *path, const char *busy, int *ret_fd, struct error *err);

/* Removes a file: unlink(2), then fsync of its folder. A missing file is no error. */
MUST_CHECK int file_remove_durable(const char *path, struct error *err);

/* Reads a whole file of at most `max` bytes and appends a NUL; the caller frees the data. `ret_bytes` may be
 * NULL. Errors: -E2BIG the file is longer; -EINVAL the path is not a regular file; -errno of open(2) or
 * read(2). Does not wait for the writer of a FIFO. */
MUST_CHECK int file_read(const char *path, uint64_t max, char **ret_data, uint64_t *ret_bytes,
			 struct error *err);
