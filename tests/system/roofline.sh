#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/bench/roofline.py reads the figures of its README, and no figure is below what the device can.
. "$(dirname "$0")/lib.sh"
roofline() { # sed command for the README
	sed "$1" tests/bench/README.md >"$work/README.md"
	said=$(tests/bench/roofline.py "$work/README.md" 2>&1)
	code=$?
}
roofline ''
is "$code" 0 "every figure is found, and none is impossible" "$said"
is "$(grep -cE '^\| .* us \| [1-9][0-9]* % \|' <<<"$said")" 11 "a row for each benchmark" "$said"
is "$(grep -c '^|.*float16.* | not measured | | [0-9]* us' <<<"$said")" 2 "float16 was not measured, but has its least times" "$said"
is "$(grep -c '^| `.*[0-9] % |$' <<<"$said")" 14 "a row for the occupancy of each kernel" "$said"
is "$(grep -vxFf tests/bench/README.md <<<"$said")" "" "README has this table"
roofline 's/140 us: 4.2 TB/100 us: 4.2 TB/'
like "$code $(grep '^| Adam' <<<"$said")" '^1 .*memory \| 100 us' "a figure above the bandwidth fails"
roofline 's/; 4 | 55; 7 of 11; 4 |/; 4 | 55; 7 of 11; 8 |/'
like "$said" '`adam` \| 100 % \|' "the occupancy is that of README's table"
roofline '/^| Adam, 21 M/d'
like "$code $said" '^1 .*README has no figure for Adam, 21 M' "a figure that is missing fails"

mkdir "$work/kit"
cat >"$work/kit/device" <<'END'
{"name":"gpu-check","case":"a device with memory of its own","value":16,"unit":"cores","device":"NVIDIA CUDA: NVIDIA A100-SXM4-80GB, driver 580"}
END
cat >"$work/kit/times" <<'END'
{"name":"step-mlp","case":"512-256-16-2, batch 128","value":120.0,"unit":"us"}
{"name":"step-mlp-large","case":"1024-4096-4096-10, batch 512","value":34950.0,"unit":"us"}
{"name":"gemm-cpu","case":"NN 512x4096x4096","value":9250.0,"unit":"Gflop/s"}
{"name":"gemm-cpu","case":"NN 512x4096x4096, bfloat16","value":90000.0,"unit":"Gflop/s"}
{"name":"step-mlp-large-f16","case":"1024-4096-4096-10, batch 512, mixed_float16","value":976.0,"unit":"us"}
{"name":"gemm-cpu","case":"NN 8192x8192x8192, float16","value":156000.0,"unit":"Gflop/s"}
END
said=$(tests/bench/roofline.py --kit "$work/kit")
is "$? $(grep -c ' us | ' <<<"$said")" "0 5" "results of gpu-kit: a row for each benchmark" "$said"
like "$(grep float16 <<<"$said")" 'mixed_float16 .* 976 us \| 488 us \| 50 %' "also of float16"
like "$(grep 'product 512' <<<"$said")" 'arithmetic \| 1857 us \| 929 us \| 50 % \|$' "beside the least time on this device"
like "$said" '^Look first at: step 1024-4096-4096-10, batch 512, and there at the tiles' "what to look at first"
sed -i 's/"value":120.0/"value":20.0/' "$work/kit/times"
tests/bench/roofline.py --kit "$work/kit" >/dev/null
is $? 1 "a time below the least one fails"
