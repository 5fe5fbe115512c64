# SPDX-License-Identifier: Apache-2.0
# Cases of boot loader variables and the slot to choose, for two programs: tests/image/slots.sh boots a machine,
# tests/system/slots.sh runs GRUB as a program. Both define esp_put (file, path on the ESP) and takes (name, expression).

env_of() { # variables...: writes a grubenv with them
	rm -f "$work/grubenv"
	grub-editenv "$work/grubenv" create
	[ $# = 0 ] || grub-editenv "$work/grubenv" set "$@"
	esp_put "$work/grubenv" kiln/grubenv
}

takes_by_marks() { # slots without attempts: the choice by OK and trial
	env_of ORDER="A B" A_OK=0 A_TRY=0 B_OK=1 B_TRY=0
	takes "a slot that is marked bad" "slot B, attempt 1"
	env_of ORDER="B A" A_OK=0 A_TRY=0 B_OK=0 B_TRY=0
	takes "both are: rather one of them than none" "slot B, attempt 1"
	env_of ORDER="x" A_OK=y A_TRY=-1 B_OK= B_TRY=9
	takes "words that mean nothing" "slot [AB], attempt [123]"
}
