#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/circles on a small tree made here: it finds a circle of files and one of folders, and passes a tree without circles.
. "$(dirname "$0")/lib.sh"
tool=$PWD/tools/circles
tree=$work/tree
mkdir -p "$tree/firmware/model/low" "$tree/drivers/disk" "$tree/firmware/cli"
cd "$tree" && git init -q .

write() { # file, what it defines, what it calls
	printf 'void %s(void);\n%s\nvoid %s(void)\n{\n\t%s\n}\n' "$2" "${3:+void $3(void);}" "$2" "${3:+$3();}" >"$1"
}
build() {
	git add -A
	rm -rf obj
	git ls-files '*.c' | while read -r source; do
		mkdir -p "obj/$(dirname "$source")" && gcc -c -o "obj/${source%.c}.o" "$source"
	done
}

write firmware/model/top.c top low
write firmware/model/low/low.c low disk
write drivers/disk/disk.c disk ""
write firmware/cli/main.c run top
build
is "$("$tool" obj)" "" "a tree whose calls all go down passes"

write firmware/model/low/low.c low top
build
found=$("$tool" obj)
is $? 1 "two files that call each other: exit status 1"
like "$found" "2 files in a circle:" "the circle of files is named"
like "$found" "firmware/model/top.c -> firmware/model/low/low.c: low" "with the symbol that ties it"

write firmware/model/low/low.c low side
write firmware/model/side.c side ""
build
found=$("$tool" obj)
like "$found" "2 folders in a circle:" "files without a circle whose folders have one"
like "$found" "firmware/model/low -> firmware/model: low.c: side" "with the file and the symbol that tie it"

write firmware/model/low/low.c low disk
echo '#include "model/low/low.h"' >firmware/model/top.h
echo '#include "model/top.h"' >firmware/model/low/low.h
build
found=$("$tool" obj)
like "$found" "firmware/model/low/low.h -> firmware/model/top.h: includes model/top.h" "headers that include each other"
rm firmware/model/low/low.h

# Each program has its own run(): a call of run() means the one of the caller's program.
write firmware/model/low/low.c low disk
mkdir firmware/other
write firmware/other/main.c run side
write firmware/other/second.c second run
build
is "$("$tool" obj)" "" "the same name in two programs is no arrow between them"

rm obj/drivers/disk/disk.o
found=$("$tool" obj)
is $? 1 "a source without an object: exit status 1"
like "$found" "no object below obj for drivers/disk/disk.c" "which says what to run"
