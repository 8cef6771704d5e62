package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// switchesOf is how often the threads of a process gave up a processor or lost it.
// Of threads that have ended nothing is known.
func switchesOf(pid int) (n int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is valid
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") {
				count, _ := strconv.Atoi(strings.TrimSpace(value)) // the kernel writes numbers there
				n += count
			}
		}
	}
	return n
}

// family is a process and its children: a Postgres with all its backends.
func family(pid int) []int {
	all := []int{pid}
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, p := range processes {
		child, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		if s, err := readStat(child); err == nil && s.parent == pid {
			all = append(all, child)
		}
	}
	return all
}

// switches are context switches of each process of a kind.
type switches struct{ serve, worker, postgres, redis map[int]int }

func switchesOfAll(pids ...int) map[int]int {
	all := map[int]int{}
	for _, pid := range pids {
		all[pid] = switchesOf(pid)
	}
	return all
}

func (b *bench) switchesOfPostgres() map[int]int {
	if b.master == 0 {
		return nil
	}
	return switchesOfAll(family(b.master)...)
}

func (p *post) switches() (s switches) {
	s.serve, s.worker = switchesOfAll(p.serving.cmd.Process.Pid), switchesOfAll(p.worker.cmd.Process.Pid)
	s.postgres = p.switchesOfPostgres()
	if p.store != nil {
		s.redis = switchesOfAll(p.store.pid)
	}
	return s
}

// switched is how many there were since an earlier moment. Those of a process that has
// ended since then are lost, and do not count below nothing.
func switched(now, earlier map[int]int) (n int) {
	for pid, count := range now {
		n += max(0, count-earlier[pid])
	}
	return n
}

// switchCounts are those of a measurement, all processes of a kind together.
type switchCounts struct{ serve, worker, postgres, redis int }

func (s switches) since(e switches) switchCounts {
	return switchCounts{switched(s.serve, e.serve), switched(s.worker, e.worker), switched(s.postgres, e.postgres), switched(s.redis, e.redis)}
}

// systemCalls counts those of processes for so long, by perf. It is an error where there is none, or it may not count.
func systemCalls(ctx context.Context, pids []int, duration time.Duration) (int, error) {
	names := make([]string, len(pids))
	for i, pid := range pids {
		names[i] = strconv.Itoa(pid)
	}
	cmd := exec.CommandContext(ctx, "perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", strings.Join(names, ","),
		"--", "sleep", strconv.FormatFloat(duration.Seconds(), 'f', 1, 64))
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("perf: %w\n%s", err, out.Bytes())
	}
	return perfCount(out.String())
}

// perfCount reads the count of perf stat -x ,.
func perfCount(told string) (int, error) {
	for line := range strings.Lines(told) {
		if value, _, found := strings.Cut(line, ","); found && strings.Contains(line, "sys_enter") {
			if n, err := strconv.Atoi(value); err == nil {
				return n, nil
			}
			return 0, fmt.Errorf("perf did not count: %s", strings.TrimSpace(line))
		}
	}
	return 0, fmt.Errorf("perf printed no count: %q", told)
}
