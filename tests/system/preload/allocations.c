/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: a counting allocator. The file that KILN_ALLOCATIONS names holds three 64-bit counters of
 * allocations: by the program's own code, by libcurl, by other libraries. A test reads them while the
 * program runs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum who { PROGRAM, LIBCURL, OTHERS, WHO_MAX };

struct range {
	uintptr_t from, to;
};

/* glibc's own names for the functions that are replaced here. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static struct range range[OTHERS];
static _Atomic uint64_t *counter;

static int note_object(struct dl_phdr_info *object, size_t size, void *context)
{
	struct range *at = strstr(object->dlpi_name, "libcurl") ? &range[LIBCURL] : &range[PROGRAM];

	(void)size;
	(void)context;
	/* The program is the first object, and has no name. */
	if (object->dlpi_name[0] && at == &range[PROGRAM])
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		at->from = object->dlpi_addr + header->p_vaddr;
		at->to = at->from + header->p_memsz;
	}
	return 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("KILN_ALLOCATIONS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *file = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)dl_iterate_phdr(note_object, NULL);
	if (file == MAP_FAILED)
		_exit(1);
	counter = file;
	(void)close(fd);
}

static void count(const void *caller)
{
	uintptr_t address = (uintptr_t)caller;
	int who = PROGRAM;

	while (who < OTHERS && (address < range[who].from || address >= range[who].to))
		who++;
	if (counter)
		(void)atomic_fetch_add(&counter[who], 1);
}

void *malloc(size_t bytes)
{
	count(__builtin_return_address(0));
	return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
	count(__builtin_return_address(0));
	return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	count(__builtin_return_address(0));
	return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	count(__builtin_return_address(0));
	return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	count(__builtin_return_address(0));
	return __libc_memalign(alignment, bytes);
}

char *strdup(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = __libc_malloc(bytes);

	count(__builtin_return_address(0));
	return copy ? memcpy(copy, text, bytes) : NULL;
}

int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
	count(__builtin_return_address(0));
	*ret_memory = __libc_memalign(alignment, bytes);
	return *ret_memory ? 0 : ENOMEM;
}
