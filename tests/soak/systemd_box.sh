#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files of a box on /data, its hugepages, and its actions after a run, under a real systemd in a container.
. "$(dirname "$0")/../system/systemd_lib.sh"

every='checkpoint: { every_steps = 20; keep = 2; };'
conf=$root/data/etc/kiln/kiln.conf

# ---- A flashed box: its configuration and its stamps are on /data ----
installed 200
mkdir -p "${conf%/*}"
run_at=03:33 config 2 "catch_up = true;" "$every" >"$conf"
booted "it boots"
is "$(inside systemctl is-system-running) $(inside systemctl --failed --no-legend --plain)" "running " "to running"
same_folder() { # folder inside, folder on /data
	[ "$(inside stat -c %d:%i "$1")" = "$(inside stat -c %d:%i "$2")" ]
}
same_folder /etc/kiln /data/etc/kiln
ok $? "/etc/kiln is /data/etc/kiln" "$(journal -u kiln-provision)"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" '03:33:00' "the timer has that file's time"
sed 's/03:33/04:44/' "$conf" >"$root/data/next.conf"
inside kiln config apply /data/next.conf >"$work/said" 2>&1
is "$? $(cmp "$conf" "$root/data/next.conf")" "0 " "kiln config apply replaces the file on /data"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" '04:44:00' "and the timer's time"
inside kiln config apply /etc/kiln/kiln.conf.previous >"$work/said" 2>&1
is "$? $(grep -o '03:33' "$conf")" "0 03:33" "the file before it lies beside it" "$(cat "$work/said")"
touch -d '2 days ago' "$conf" # a start before kiln.conf was written does not count as missed
timer_soon
becomes 120 finished "the timer starts a run, and it finishes"
rests "its units are stopped"
last=$(inside systemctl show -P LastTriggerUSec kiln-nightly.timer)
[ -n "$last" ] && test -e "$root/data/kiln/stamps/timers/stamp-kiln-nightly.timer"
ok $? "the timer's stamp lies on /data" "$last; $(ls -R "$root/data/kiln/stamps")"
inside sh -c 'echo kept >/var/lib/systemd/timesync/clock'
power_off
rm -rf "$root"/var/lib/systemd/{timers,timesync}
booted "it boots with another image"
is "$(inside systemctl show -P LastTriggerUSec kiln-nightly.timer)" "$last" "the timer knows when it elapsed last"
is "$(inside cat /var/lib/systemd/timesync/clock)" kept "and timesync its clock"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" '03:33:00' "and the next time is the configuration's"
power_off
rm -rf "$root"/var/lib/systemd/timesync
touch "$root/var/lib/systemd/timesync"
booted "it boots where a folder cannot be bound"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" '03:33:00' "the configuration counts all the same"
like "$(journal -u kiln-provision)" 'timesync' "and the log names the folder"
power_off
rm "$root/var/lib/systemd/timesync"
booted "and once more without it"

# ---- Hugepages: at first none are available ----
pool=/sys/kernel/mm/hugepages/hugepages-2048kB
config 1000000 "" "$every" >"$conf"
inside kiln start >"$work/said" 2>&1
becomes 60 running "a run without hugepages"
says 30 "what is short is named" 'node [0-9]+: 1 hugepages of 2 MiB needed, 0 free' -u kiln-hugepages
says 30 "the ring lies on normal pages" 'ring: .* on normal pages' -u kiln-fetchd
goes_on "it trains"
rm "$root"/etc/systemd/system/kiln-hugepages.service.d/*
is "$(steer config.reload)" ok "now there are some"
inside kiln start >"$work/said" 2>&1
kill_it traind KILL
says 30 "a ring that is in use stays where it is" 'the ring stays on the pages it has' -u kiln-hugepages
goes_on "a trainer that crashes finds it"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "the run stops"
rests "its units are stopped"
before=$(cat $pool/nr_hugepages)
inside kiln start >"$work/said" 2>&1
becomes 60 running "the run goes on"
says 30 "its pages are set and read back" 'node [0-9]+: [0-9]+ pages of 2 MiB, for a ring of 2097152 bytes' -u kiln-hugepages
says 30 "the ring lies on them" 'ring: .* on hugepages' -u kiln-fetchd
after=$(cat $pool/nr_hugepages)
is "$(inside findmnt -n -o FSTYPE /run/kiln/huge) $(inside stat -c '%U %G %a' /run/kiln/huge)" "hugetlbfs root kiln 770" \
	"the folder's kind, owners and mode"
like "$(inside findmnt -n -o OPTIONS /run/kiln/huge)" 'pagesize=2M.*size=[0-9]+' "its page size and its bound"
goes_on "it trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "the run stops"
rests "its units are stopped"
is "$(inside findmnt -n /run/kiln/huge)" "" "nothing is mounted any more"
is "$(inside systemctl --failed --no-legend --plain)" "" "and nothing has failed"
# The pages that this run reserved are free again.
if [ "$after" -gt "$before" ]; then
	flock $pool/nr_hugepages sh -c "echo \$((\$(cat $pool/nr_hugepages) - $after + $before)) >$pool/nr_hugepages"
fi

# ---- After a run: power off, once the store has everything ----
power() { # name, minutes; the run that the timer started waits at its first step until it is resumed; a container has no clock to wake it
	config 2 "" "$every power: { when_finished = \"off\"; wake_by = \"other\"; upload_wait_min = $2; };" | sed "s/name = \"t\"/name = \"$1\"/" >"$conf"
	rm -rf "$root"/data/kiln/run/current "$root"/data/kiln/spool/*/*
	inside systemctl start kiln-nightly.service
	becomes 60 paused "the timer's run with power.when_finished = off"
}
echo '{"seq": 1, "state": "paused", "checkpoint_seq": 0}' >"$root/data/paused"
drop_in kiln-begin.service Service 'ExecStartPost=/bin/cp /data/paused /data/kiln/run/current/want'
is "$(steer config.reload)" ok "from now on runs begin paused"
said_before() { # name, extended regular expression: looks into the journal from outside, when the container is off
	like "$(journalctl -D "$root/data/kiln/journal" --no-pager -o cat -u kiln-finished | tail -n 20)" "$2" "$1"
}
models() { # run.name
	find "$root/data/kiln/store/runs/" -path "*/$1-*/model/model.safetensors"
}
power on-time 30
inside kiln resume >"$work/said" 2>&1
wait_for 120 gone
ok $? "the box powers off by itself" "$(tail -n 5 "$root.console")"
is "$(state)" finished "after the run"
said_before "all of it is in the store first" 'on-time-[0-9-]+: all of its files are in the store'
is "$(models on-time | wc -l)" 1 "and it is there"

booted "it boots again"
power too-late 0
inside mount -t tmpfs -o size=4k full /data/kiln/store/runs
inside kiln resume >"$work/said" 2>&1
wait_for 120 gone
ok $? "the box powers off, though the store takes nothing any more" "$(tail -n 5 "$root.console")"
is "$(models too-late | wc -l)" 0 "the model is not there"
said_before "the journal tells what stays behind" 'too-late-[0-9-]+: [0-9]+ files of [0-9]+ bytes stay in the spool .*ckpt-[0-9]+\.safetensors'
like "$(cat "$root"/data/kiln/run/archive/too-late-*/run.json)" '"left_behind":[[:space:]]*[{]' "and so does the run's record"
# Six hours ahead, because the timer would make up for a start that was missed before this boot.
sed -i "s/ at = \"[^\"]*\"/ at = \"$(date -u -d '+6 hours' +%H:%M)\"/" "$conf"
booted "it boots again"
is_there() {
	[ "$(models too-late | wc -l)" = 1 ]
}
wait_for 120 is_there
ok $? "what stayed behind is uploaded now" "$(journal -b -u kiln-uploadd)"
is "$(inside systemctl is-active kiln-run.target)" inactive "and no run begins by itself"
