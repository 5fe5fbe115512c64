/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: calls of the C library fail one by one. The file that KILN_FAIL names holds two 64-bit numbers
 * and a text: `at`, which call fails (0 = none); `count`, calls so far; `failed`, the name of the function
 * that failed, "" until then. A test writes the file, and reads it while the program runs and afterwards.
 * Counted are calls by the program's own code until main() returns, and allocations by libcjson.
 */
#undef _FORTIFY_SOURCE /* its headers define some of these functions inline */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct plan {
	_Atomic uint64_t at, count;
	char failed[48];
};

struct range {
	uintptr_t from, to;
};

/* glibc's own names for the functions that allocate. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
/* What a program calls that is compiled with _FORTIFY_SOURCE or with optimisation. */
int __asprintf_chk(char **ret_text, int flag, const char *format, ...);
int __vasprintf_chk(char **ret_text, int flag, const char *format, va_list arguments);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*end_of_libraries)(void), void *end_of_stack);

static struct range program, json;
static struct plan *shared, *plan; /* plan: the same as `shared` while main() runs, else NULL */
static int (*main_of_program)(int argc, char **argv, char **environment);

static int note_object(struct dl_phdr_info *object, size_t size, void *context)
{
	struct range *range = !object->dlpi_name[0]                       ? &program
			      : strstr(object->dlpi_name, "/libcjson.so") ? &json
									  : NULL;

	(void)size;
	(void)context;
	for (int i = 0; range && i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		range->from = object->dlpi_addr + header->p_vaddr;
		range->to = range->from + header->p_memsz;
	}
	return 0;
}

static bool is_in(const struct range *range, const void *caller)
{
	return (uintptr_t)caller >= range->from && (uintptr_t)caller < range->to;
}

/* Counts a call, and returns whether it has to fail; then errno is `code`. */
static bool fails(const void *caller, const char *name, int code)
{
	if (!plan || !is_in(&program, caller) ||
	    atomic_fetch_add(&plan->count, 1) + 1 != atomic_load(&plan->at))
		return false;
	(void)strncpy(plan->failed, name, sizeof(plan->failed) - 1);
	errno = code;
	return true;
}

static bool no_memory(const void *caller, const char *name)
{
	return fails(is_in(&json, caller) ? (void *)program.from : caller, name, ENOMEM);
}

/* ---- From the start of main() to its end ---- */

static int counted_main(int argc, char **argv, char **environment)
{
	int r;

	plan = shared;
	r = main_of_program(argc, argv, environment);
	plan = NULL;
	return r;
}

/* The C library calls main() from this function, which every program calls first. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*end_of_libraries)(void), void *end_of_stack)
{
	__typeof__(&__libc_start_main) next = dlsym(RTLD_NEXT, "__libc_start_main");
	const char *path = getenv("KILN_FAIL");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *file =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)dl_iterate_phdr(note_object, NULL);
	if (file == MAP_FAILED)
		_exit(127);
	(void)close(fd);
	shared = file;
	main_of_program = main;
	return next(counted_main, argc, argv, init, fini, end_of_libraries, end_of_stack);
}

/* ---- Memory ---- */

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
	return no_memory(CALLER, "malloc") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return no_memory(CALLER, "calloc") ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	return no_memory(CALLER, "realloc") ? NULL : __libc_realloc(memory, bytes);
}

char *strdup(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = no_memory(CALLER, "strdup") ? NULL : __libc_malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

int vasprintf(char **ret_text, const char *format, va_list arguments)
{
	__typeof__(&vasprintf) next = dlsym(RTLD_NEXT, "vasprintf");

	return no_memory(CALLER, "asprintf") ? -1 : next(ret_text, format, arguments);
}

int __vasprintf_chk(char **ret_text, int flag, const char *format, va_list arguments)
{
	(void)flag;
	return no_memory(CALLER, "asprintf") ? -1 : vasprintf(ret_text, format, arguments);
}

int asprintf(char **ret_text, const char *format, ...)
{
	va_list arguments;
	int r;

	if (no_memory(CALLER, "asprintf"))
		return -1;
	va_start(arguments, format);
	r = vasprintf(ret_text, format, arguments);
	va_end(arguments);
	return r;
}

int __asprintf_chk(char **ret_text, int flag, const char *format, ...)
{
	va_list arguments;
	int r;

	(void)flag;
	if (no_memory(CALLER, "asprintf"))
		return -1;
	va_start(arguments, format);
	r = vasprintf(ret_text, format, arguments);
	va_end(arguments);
	return r;
}

char *strndup(const char *text, size_t bytes_max)
{
	const size_t bytes = strnlen(text, bytes_max);
	char *copy = no_memory(CALLER, "strndup") ? NULL : __libc_malloc(bytes + 1);

	if (!copy)
		return NULL;
	copy[bytes] = '\0';
	return memcpy(copy, text, bytes);
}

int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
	__typeof__(&posix_memalign) next = dlsym(RTLD_NEXT, "posix_memalign");

	return no_memory(CALLER, "posix_memalign") ? ENOMEM : next(ret_memory, alignment, bytes);
}

/* ---- Files, sockets, processes ---- */

/* Defines the function `name`, which returns `result` where its call has to fail. */
#define FAILING(type, name, parameters, arguments, result, code)               \
	type name parameters                                                   \
	{                                                                      \
		__typeof__(&(name)) next = dlsym(RTLD_NEXT, #name);            \
                                                                               \
		return fails(CALLER, #name, code) ? (result) : next arguments; \
	}

int open(const char *path, int flags, ...)
{
	__typeof__(&open) next = dlsym(RTLD_NEXT, "open");
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return fails(CALLER, "open", EIO) ? -1 : next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	__typeof__(&openat) next = dlsym(RTLD_NEXT, "openat");
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return fails(CALLER, "openat", EIO) ? -1 : next(folder, path, flags, mode);
}

/* Standard output and standard error never fail: a test reads there what the program says. */
ssize_t write(int fd, const void *data, size_t bytes)
{
	__typeof__(&write) next = dlsym(RTLD_NEXT, "write");

	return fd > STDERR_FILENO && fails(CALLER, "write", ENOSPC) ? -1 : next(fd, data, bytes);
}

/* Closes the stream also where it fails, as the C library does. */
int fclose(FILE *stream)
{
	__typeof__(&fclose) next = dlsym(RTLD_NEXT, "fclose");
	bool failing = fails(CALLER, "fclose", ENOSPC);
	int r = next(stream);

	errno = failing ? ENOSPC : errno;
	return failing ? EOF : r;
}

/* As the C library marks a stream whose read() failed: feof() is false, ferror() is true. */
static bool stream_fails(const void *caller, const char *name, FILE *stream)
{
	const bool failing = fails(caller, name, EIO);

	if (failing)
		stream->_flags |= _IO_ERR_SEEN;
	return failing;
}

ssize_t getline(char **line, size_t *bytes, FILE *file)
{
	__typeof__(&getline) next = dlsym(RTLD_NEXT, "getline");

	return stream_fails(CALLER, "getline", file) ? -1 : next(line, bytes, file);
}

ssize_t __getdelim(char **line, size_t *bytes, int end, FILE *file)
{
	__typeof__(&__getdelim) next = dlsym(RTLD_NEXT, "__getdelim");

	return stream_fails(CALLER, "getline", file) ? -1 : next(line, bytes, end, file);
}

char *fgets(char *line, int bytes, FILE *file)
{
	__typeof__(&fgets) next = dlsym(RTLD_NEXT, "fgets");

	return stream_fails(CALLER, "fgets", file) ? NULL : next(line, bytes, file);
}

size_t fread(void *items, size_t bytes, size_t count, FILE *file)
{
	__typeof__(&fread) next = dlsym(RTLD_NEXT, "fread");

	return stream_fails(CALLER, "fread", file) ? 0 : next(items, bytes, count, file);
}

int fflush(FILE *file)
{
	__typeof__(&fflush) next = dlsym(RTLD_NEXT, "fflush");

	return file && file != stdout && file != stderr && stream_fails(CALLER, "fflush", file) ? EOF
												: next(file);
}

/* Waiting for the next attempt takes no time. */
int usleep(useconds_t us)
{
	__typeof__(&usleep) next = dlsym(RTLD_NEXT, "usleep");

	return next(plan && is_in(&program, CALLER) ? 0 : us);
}

FAILING(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EIO)
FAILING(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
FAILING(FILE *, open_memstream, (char **text, size_t *bytes), (text, bytes), NULL, ENOMEM)
FAILING(DIR *, opendir, (const char *path), (path), NULL, EIO)
FAILING(DIR *, fdopendir, (int fd), (fd), NULL, EIO)
FAILING(int, scandir,
	(const char *path, struct dirent ***entries, int (*filter)(const struct dirent *),
	 int (*compare)(const struct dirent **, const struct dirent **)),
	(path, entries, filter, compare), -1, EIO)
FAILING(ssize_t, read, (int fd, void *data, size_t bytes), (fd, data, bytes), -1, EIO)
FAILING(ssize_t, pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), -1, EIO)
FAILING(ssize_t, pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), -1,
	ENOSPC)
FAILING(int, fsync, (int fd), (fd), -1, EIO)
FAILING(int, ftruncate, (int fd, off_t bytes), (fd, bytes), -1, ENOSPC)
FAILING(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EIO)
FAILING(int, rename, (const char *from, const char *to), (from, to), -1, EIO)
FAILING(int, link, (const char *from, const char *to), (from, to), -1, EIO)
FAILING(int, unlink, (const char *path), (path), -1, EIO)
FAILING(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
FAILING(int, stat, (const char *path, struct stat *status), (path, status), -1, EIO)
FAILING(int, lstat, (const char *path, struct stat *status), (path, status), -1, EIO)
FAILING(int, fstat, (int fd, struct stat *status), (fd, status), -1, EIO)
FAILING(int, fstatat, (int folder, const char *path, struct stat *status, int flags),
	(folder, path, status, flags), -1, EIO)
FAILING(int, access, (const char *path, int mode), (path, mode), -1, EIO)
FAILING(int, statvfs, (const char *path, struct statvfs *disk), (path, disk), -1, EIO)
FAILING(int, mkostemp, (char *path, int flags), (path, flags), -1, ENOSPC)
FAILING(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), -1, ENOSPC)
FAILING(int, renameat, (int old, const char *from, int folder, const char *to), (old, from, folder, to), -1,
	EIO)
FAILING(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), -1, EIO)
FAILING(int, rmdir, (const char *path), (path), -1, EIO)
FAILING(int, chmod, (const char *path, mode_t mode), (path, mode), -1, EIO)
FAILING(int, posix_fallocate, (int fd, off_t from, off_t bytes), (fd, from, bytes), ENOSPC, ENOSPC)
FAILING(ssize_t, readlink, (const char *path, char *target, size_t bytes), (path, target, bytes), -1, EIO)
FAILING(int, flock, (int fd, int operation), (fd, operation), -1, ENOLCK)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
FAILING(int, bind, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), -1,
	EADDRINUSE)
FAILING(int, listen, (int fd, int backlog), (fd, backlog), -1, EADDRINUSE)
FAILING(int, connect, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), -1,
	ECONNREFUSED)
FAILING(int, accept4, (int fd, struct sockaddr *address, socklen_t *bytes, int flags),
	(fd, address, bytes, flags), -1, EMFILE)
FAILING(ssize_t, recv, (int fd, void *data, size_t bytes, int flags), (fd, data, bytes, flags), -1,
	ECONNRESET)
FAILING(ssize_t, send, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags), -1,
	EPIPE)
FAILING(int, epoll_create1, (int flags), (flags), -1, EMFILE)
FAILING(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event),
	(epoll, operation, fd, event), -1, ENOSPC)
FAILING(int, timerfd_create, (int clock, int flags), (clock, flags), -1, EMFILE)
FAILING(int, signalfd, (int fd, const sigset_t *signals, int flags), (fd, signals, flags), -1, EMFILE)
FAILING(int, eventfd, (unsigned int value, int flags), (value, flags), -1, EMFILE)
FAILING(int, inotify_init1, (int flags), (flags), -1, EMFILE)
FAILING(int, inotify_add_watch, (int fd, const char *path, uint32_t events), (fd, path, events), -1, ENOSPC)
FAILING(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t bytes),
	(fd, level, name, value, bytes), -1, EINVAL)
FAILING(int, pthread_create,
	(pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
	(thread, attributes, start, argument), EAGAIN, EAGAIN)
FAILING(int, pipe2, (int ends[2], int flags), (ends, flags), -1, EMFILE)
FAILING(pid_t, fork, (void), (), -1, EAGAIN)
FAILING(void *, mmap, (void *address, size_t bytes, int protection, int flags, int fd, off_t at),
	(address, bytes, protection, flags, fd, at), MAP_FAILED, ENOMEM)
