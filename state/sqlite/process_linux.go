package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// thisProcess reads from /proc who we are; without /proc nobody can be judged.
func thisProcess() process {
	p := process{pid: os.Getpid()}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return p
	}
	started, _, err := stat(p.pid)
	if err != nil {
		return p
	}
	p.started, p.world = started, strings.TrimSpace(string(boot))+" "+namespace
	return p
}

// ended says whether no process of this pid and start time runs any more.
func ended(p process) bool {
	if p.world == "" {
		return false
	}
	started, state, err := stat(p.pid)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	// A zombie has ended; its parent has not asked yet.
	return started != p.started || state == "Z" || state == "X"
}

// stat reads a process's start time (in clock ticks since boot) and its state.
func stat(pid int) (started, state string, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", "", err
	}
	// The command, in parentheses, may hold anything; the fields after it do not.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return "", "", errors.New("/proc/<pid>/stat has too few fields")
	}
	return fields[19], fields[0], nil
}
