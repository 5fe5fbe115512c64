# SPDX-License-Identifier: Apache-2.0
# Shared by the benchmarks of pictures: sets of JPEG files in class folders. Source it.
# The sets are the tars flowers5-128 and trash6-384x512 in the folder PICTURES; without it they are made, of the same sizes.

picture_set() { # set, folder, python; puts the set into the folder, and its name into $name
	if [ -e "${PICTURES:-}/$1.tar.gz" ]; then
		name=$1
		tar xzf "$PICTURES/$1.tar.gz" -C "$2"
	else
		name="made pictures like $1"
		"$3" tests/bench/picture_make.py "$2/$1" "$1"
	fi
}
