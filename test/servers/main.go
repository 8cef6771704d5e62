// Command servers runs a command with the servers that the tests need:
//
//	go run ./test/servers -- go test ./...
//
// For each server it takes the one named in the environment, else one that
// already runs on this machine, else starts its own, else installs it first. It
// puts the server's address into the command's environment and exits with the
// command's code. Servers it started end with it, and their data is removed.
//
// A server that cannot be had is left out with a notice, and the tests that need
// it are skipped; with CI=true it is an error. A server named in the environment
// that does not answer is always an error: it was named on purpose.
//
// With -citus before the command its Postgres is the coordinator of a cluster of Citus with
// two workers, started for it. Nothing installs Citus: without it this is an error.
//
// With -memory the servers that it starts, and the temporary files of the command, are in
// memory where there is room (/dev/shm), and its Postgres does not wait for the disk: tests of
// what the program does are faster so, and a busy disk does not slow them. Tests of crashes
// start durable servers of their own, and benchmarks go without the flag.
//
// The command runs in a process group of its own with an empty standard input.
// An interrupt or SIGTERM is passed to the whole group; a second one kills it.
//
// Each server is one file of this package: a function that returns a server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is one server for the command.
type server struct {
	env  string       // the variable that carries the URL, e.g. WAYBILL_TEST_POSTGRES_URL
	url  string       // its value; of what tests start themselves, the program's path
	from string       // where the server comes from, for the reader of the output
	stop func() error // never nil; ends the server where this program started it
	also []string     // more variables, as NAME=VALUE
}

// leftOut says that a server cannot be had on this machine, and why. Any other
// error means that something which should work does not.
type leftOut struct {
	name string // e.g. "Postgres"
	env  string // the variable that would name one
	err  error
}

func (e *leftOut) Error() string { return fmt.Sprintf("%s was left out: %v", e.name, e.err) }
func (e *leftOut) Unwrap() error { return e.err }

// sources lists the servers; a new one is a file with such a function. With -citus the
// first is startCitus.
var sources = []func(ctx context.Context) (*server, error){
	findPostgres,
	findRedis,
	findPgBouncer,
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) (code int) {
	flags := flag.NewFlagSet("servers", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./test/servers [-citus] [-memory] -- COMMAND [ARGUMENT...]")
	}
	citus, inMemory := flags.Bool("citus", false, ""), flags.Bool("memory", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		if err == nil {
			flags.Usage()
		}
		return 2
	}
	args = flags.Args()
	from := sources
	if *citus {
		from = append([]func(context.Context) (*server, error){startCitus}, sources[1:]...)
	}
	if *inMemory {
		remove, err := useMemory()
		if err != nil {
			fmt.Fprintf(os.Stderr, "test/servers: on the disk, not in memory: %v\n", err)
		}
		defer remove()
	}

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A closed pipe (`make test | head`) must not end this program before the
	// servers; caught and dropped, as an ignored signal would stay ignored in
	// the command.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stopWatch := watchGoRun(signals)
	defer stopWatch()

	env := os.Environ()
	for _, source := range from {
		s, err := obtain(source, signals)
		var missing *leftOut
		switch {
		case errors.As(err, &missing):
			notice(missing)
			if inCI() {
				fmt.Fprintf(os.Stderr, "test/servers: CI=true, so nothing may be left out; the command was not run\n")
				return 1
			}
			env = append(env, missing.env+"=")
			continue
		case err != nil:
			fmt.Fprintf(os.Stderr, "test/servers: %v\n", err)
			return 1
		}
		fmt.Fprintf(os.Stderr, "test/servers: %s\n", s.from)
		env = append(append(env, s.env+"="+s.url), s.also...)
		defer func() {
			if err := s.stop(); err != nil {
				fmt.Fprintf(os.Stderr, "test/servers: %v\n", err)
				code = max(code, 1)
			}
		}()
	}
	return runCommand(args, env, signals)
}

// useMemory puts temporary files of this process and of the command into memory; what Go
// builds stays where it was, as it is large. remove is never nil.
func useMemory() (remove func(), err error) {
	dir, err := memoryDir()
	if err != nil {
		return func() {}, err
	}
	if os.Getenv("GOTMPDIR") == "" {
		err = os.Setenv("GOTMPDIR", os.TempDir())
	}
	postgresSettings = []string{"fsync=off"}
	return func() { _ = os.RemoveAll(dir) }, errors.Join(err, os.Setenv("TMPDIR", dir))
}

// obtain calls source and gives up at the first signal.
func obtain(source func(context.Context) (*server, error), signals <-chan os.Signal) (*server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	type result struct {
		server *server
		err    error
	}
	done := make(chan result, 1)
	go func() {
		s, err := source(ctx)
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		return r.server, r.err
	case sig := <-signals:
		cancel(fmt.Errorf("stopped by %v", sig))
	}
	// The source cleans up before it returns; a server it still made is ended.
	// Its own error is left away: it would read as if the server were missing.
	if r := <-done; r.err == nil {
		return nil, errors.Join(context.Cause(ctx), r.server.stop())
	}
	return nil, context.Cause(ctx)
}

// runCommand runs the command, passes signals to its process group, and returns
// its exit code: 128 + n where signal n ended it, as a shell reports.
func runCommand(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "test/servers: run the command: %v\n", err)
		return 127
	}
	group := -cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	for received := 0; ; {
		select {
		case sig := <-signals:
			received++
			forward := sig.(syscall.Signal) // what signal.Notify sends on Unix
			if received > 1 {
				forward = syscall.SIGKILL
			}
			_ = syscall.Kill(group, forward) // fails only where the group is gone
		case err := <-done:
			if received > 0 {
				_ = syscall.Kill(group, syscall.SIGKILL) // what the command left behind
			}
			return exitCode(err)
		}
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		fmt.Fprintf(os.Stderr, "test/servers: wait for the command: %v\n", err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// watchGoRun stops this program when the `go run` that started it dies: go run
// passes no signals on, and a SIGTERM to it would otherwise leave this program,
// the servers and the tests behind.
func watchGoRun(signals chan<- os.Signal) (stop func()) {
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return func() {} // started by hand, where outliving the shell may be wanted
	}
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					signals <- syscall.SIGTERM
					return
				}
			}
		}
	}()
	return func() { close(done) }
}

func notice(missing *leftOut) {
	const line = "************************************************************************"
	fmt.Fprintf(os.Stderr, "\n%s\n%s\n*\n*   %s WAS LEFT OUT. What it would check is NOT checked in this run.\n*\n*   Why: %s\n*\n*   "+
		"Install it, or name one in %s\n*\n%s\n%s\n\n",
		line, line, strings.ToUpper(missing.name), strings.ReplaceAll(missing.err.Error(), "\n", "\n*        "), missing.env, line, line)
}

func inCI() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything unreadable is not CI
	return ci
}
