/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/build.h"
#include "core/base/paths.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OWNER       "GNU"
#define PROGRAM_MAX (256u << 20) /* longest file of a program */

/* Returns the bytes that a part of a note takes in its segment. */
static size_t padded(size_t bytes, size_t align)
{
	return (bytes + align - 1) / align * align;
}

static void write_hex(const uint8_t *id, size_t bytes, char out[static BUILD_ID_BYTES])
{
	for (size_t i = 0; i < bytes && 2 * i + 2 < BUILD_ID_BYTES; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", id[i]);
}

/* Looks through the notes of a segment. */
static void read_notes(const uint8_t *at, size_t bytes, size_t align, char out[static BUILD_ID_BYTES])
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		size_t name, whole;

		memcpy(&note, at, sizeof(note));
		name = padded(sizeof(note) + note.n_namesz, align);
		whole = padded(name + note.n_descsz, align);
		if (whole > bytes)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(OWNER) &&
		    memcmp(at + sizeof(note), OWNER, sizeof(OWNER)) == 0)
			write_hex(at + name, note.n_descsz, out);
		at += whole;
		bytes -= whole;
	}
}

/* The first object is the program. */
static int see_object(struct dl_phdr_info *object, size_t size, void *out)
{
	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			read_notes((const uint8_t *)(object->dlpi_addr + segment->p_vaddr), segment->p_memsz,
				   segment->p_align == 8 ? 8 : 4, out);
	}
	return 1;
}

/* Looks through the segments of a file in memory. Bytes that do not fit are passed over. */
static void read_file(const uint8_t *data, size_t bytes, char out[static BUILD_ID_BYTES])
{
	ElfW(Ehdr) head;

	if (bytes < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(ElfW(Phdr)))
		return;
	for (size_t i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) segment;
		uint64_t end;

		if (__builtin_add_overflow(head.e_phoff, (i + 1) * sizeof(segment), &end) || end > bytes)
			return;
		memcpy(&segment, data + end - sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_NOTE &&
		    !__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) && end <= bytes)
			read_notes(data + segment.p_offset, segment.p_filesz, segment.p_align == 8 ? 8 : 4,
				   out);
	}
}

int build_id_of(const char *path, char out[static BUILD_ID_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r = file_read(path, PROGRAM_MAX, &data, &bytes, err);

	if (r < 0)
		return r;
	*out = '\0';
	read_file((const uint8_t *)data, bytes, out);
	return *out ? 0 : error_set(err, -EBADMSG, "%s: expected a program with a build id", path);
}

char *build_id(char out[static BUILD_ID_BYTES])
{
	*out = '\0';
	(void)dl_iterate_phdr(see_object, out);
	return out;
}
