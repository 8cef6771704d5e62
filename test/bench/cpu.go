package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is the unit of /proc/PID/stat, the same on every Linux.
const tick = 10 * time.Millisecond

// stat is what /proc tells about a process.
type stat struct {
	parent   int
	own      time.Duration // of the process
	children time.Duration // of those that ended and were waited for
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name may hold anything; what follows its last parenthesis does not.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat is cut off", pid)
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i]) // the kernel writes numbers there
		return n
	}
	return stat{
		parent:   number(1),
		own:      time.Duration(number(11)+number(12)) * tick,
		children: time.Duration(number(13)+number(14)) * tick,
	}, nil
}

// cpuOf is the processor time of one process; zero where /proc is missing.
func cpuOf(pid int) time.Duration {
	s, err := readStat(pid)
	if err != nil {
		return 0
	}
	return s.own
}

// cpuOfTree adds the children of a process, also those that ended: a Postgres
// with all its backends.
func cpuOfTree(pid int) time.Duration {
	root, err := readStat(pid)
	if err != nil {
		return 0
	}
	sum := root.own + root.children
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, p := range processes {
		child, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		if s, err := readStat(child); err == nil && s.parent == pid {
			sum += s.own
		}
	}
	return sum
}

// cpuOfSelf is the processor time of this program.
func cpuOfSelf() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// postmaster is the process that all backends of the server are children of,
// or 0 where the server is on another machine.
func postmaster(ctx context.Context, db *pgx.Conn) int {
	var backend int
	if err := db.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", backend))
	if err != nil || !strings.HasPrefix(string(name), "postgres") {
		return 0
	}
	s, err := readStat(backend)
	if err != nil {
		return 0
	}
	return s.parent
}

// resident is how much of a process is in memory, in MiB.
func resident(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
			return kib / 1024
		}
	}
	return 0
}
