#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/gpu-kit packs an archive that runs where nothing is but a shell, its tools, python3 and PoCL, which is presented as a GPU: in a
# folder with the files of these packages alone.
. "$(dirname "$0")/lib.sh"
wanted="pocl-opencl-icd ocl-icd-libopencl1 bash coreutils findutils grep sed mawk tar xz-utils libc-bin python3"
[ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null || { skip "gpu-kit" "only root has a folder of its own as /"; exit; }
# shellcheck disable=SC2086 # names of packages
dpkg-query -W $wanted >/dev/null 2>&1 || { skip "gpu-kit" "one of these packages is missing: $wanted"; exit; }
bare=$work/bare

make_bare() {
	local name
	mkdir -p "$bare"/{kernels,usr/bin,usr/sbin,usr/lib,usr/lib64,proc,sys,dev,tmp,root,etc/alternatives}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "$bare/$name"; done
	# shellcheck disable=SC2086,SC2046
	dpkg-query -L $(apt-cache depends --recurse --installed --no-{recommends,suggests,conflicts,breaks,replaces,enhances} $wanted |
		grep -E '^[a-z]' | sort -u | xargs dpkg-query -Wf '${db:Status-Abbrev} ${Package}:${Architecture}\n' 2>/dev/null | sed -n 's/^ii *//p') |
		sed -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,' | grep -vE '^/usr/share/(doc|man|locale)|^/usr/include|^/diverted' |
		while read -r name; do [ -d "$name" ] && [ ! -L "$name" ] || [ ! -e "$name" ] || echo "$name"; done >"$work/files"
	tar -cPT "$work/files" | tar -xC "$bare" --strip-components=0
	ln -sf /usr/bin/mawk "$bare/usr/bin/awk"
	ldconfig -r "$bare"
}

within() { # command...
	unshare --mount bash -c 'root=$1
		for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
		mount --bind "$POCL_CACHE_DIR" "$root/kernels"
		exec chroot "$root" env -i PATH=/usr/bin:/usr/sbin HOME=/root "${@:2}"' - "$bare" "$@"
}

kit() { # environment and parts
	said=$(within POCL_CACHE_DIR=/kernels KILN_DEVICE_TYPE=gpu KIT_PRELOAD=/gpu-kit/preload/device_type.so KIT_FEED_STEPS=16 KIT_LIMIT_S=150 "$@" 2>&1)
	code=$?
}

KIT_XZ_OPT='-T0 -0' tools/gpu-kit pack "$work/kit.tar.xz" >"$work/log" 2>&1
is $? 0 "an archive is packed" "$(cat "$work/log")"
[ "$(stat -c %s "$work/kit.tar.xz")" -lt 60000000 ]
ok $? "of less than 60 MB" "$(cat "$work/log")"
make_bare
tar -xJf "$work/kit.tar.xz" -C "$bare"

mv "$bare/etc/OpenCL" "$work/OpenCL"
kit gpu-kit/tools/gpu-kit run device
like "$code $said" '^3 .*found no OpenCL driver' "without a driver of OpenCL"
mv "$work/OpenCL" "$bare/etc/OpenCL"

kit gpu-kit/tools/gpu-kit run device twice
is "$code" 0 "the device's figures, and a network with the same weights twice" "$said"
like "$said" "used: this machine's" "with this machine's glibc"
like "$said" '"case":"a batch of 262144 bytes from a ring' "copies of batches are timed" "$said"
like "$(cat "$bare/gpu-kit/results/twice")" '"case":"step-mlp: first and second run","value":"[0-9a-f]{16}"' "the checksum is kept"
kit KIT_GLIBC=own gpu-kit/tools/gpu-kit run night
is "$code" 0 "a night without reviews, with the kit's glibc" "$said"
like "$said" "used: the kit's" "glibc of the kit"
like "$said" 'epoch 3/3' "the night's three epochs are shown" "$said"
like "$said" 'Portable Computing Language.*no data sheet of this device' "the table names the device" "$said"
