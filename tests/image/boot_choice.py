#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the boot loader's choice on an ESP: the real GRUB as a program of this machine (grub-emu) runs the grub.cfg of the
ESP, reads the FAT file system itself, and writes its variables back, as it does on the box.

    boot_choice.py ESP [TIMES]      prints a line for each boot: what GRUB says, and the kernel's command line

TIMES boots in a row, none of which is marked good. ESP is the image of the partition, and is written.
"""
import os
import re
import subprocess
import sys
import tempfile

# grub-emu has no command that loads a kernel: these functions print what would be loaded, and end GRUB.
CONFIG = """function linux { echo "linux: $@"; }
function initrd { echo "initrd: $@"; halt; }
set root=hd0
set prefix=(hd0)/kiln
source (hd0)/kiln/grub.cfg
halt
"""
SAYS = re.compile(r"Kiln: (?:slot ([AB]), attempt (\d)|no slot)[^\r\n]*")


class Choice:
    """slot ("" if none boots), attempt, and the kernel's arguments; text: everything that GRUB prints."""

    def __init__(self, text):
        said = SAYS.search(text)
        linux = re.search(r"linux: ([^\r\n]*)", text)
        loads = re.search(r"initrd: /kiln/([AB])/initrd", text)
        whole = said and linux and loads and loads[1] == said[1]
        self.text = text
        self.slot, self.attempt = (said[1], int(said[2])) if whole else ("", 0)
        self.says = said[0] if said else ""
        self.line = linux[1].strip() if whole else ""
        self.arguments = dict(word.partition("=")[::2] for word in self.line.split())


def choose(esp):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "grub.cfg"), "w", encoding="ascii") as file:
            file.write(CONFIG)
        with open(os.path.join(folder, "map"), "w", encoding="ascii") as file:
            file.write(f"(hd0) {os.path.realpath(esp)}\n")
        # GRUB needs a terminal; a wide one does not break its lines.
        emulator = f"stty cols 1000; exec grub-emu -m {folder}/map -r host -d {folder}"
        # "No slot can be booted" is followed by a pause and a restart: the time limit ends GRUB.
        command = ["timeout", "-k", "1", "5", "script", "-qec", emulator, "/dev/null"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "TERM": "dumb"})
    return Choice(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout.decode(errors="replace")))


def main():
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        choice = choose(sys.argv[1])
        print(choice.says or f"nothing of grub.cfg: {choice.text.strip()[-300:]}", "|", choice.line)


if __name__ == "__main__":
    main()
