package backend

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a started command whose end is awaited in the background.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
	err  error         // how it ended; read it after done
}

// User is the user that a process runs as in place of root.
type User struct {
	Name     string
	UID, GID int
}

// StartProcess runs cmd as the given user (nil: this one) in a process group of its
// own, so that Ctrl-C in a terminal reaches the tests and not the server under
// them. On Linux the process gets the signal orphaned when this one ends.
func StartProcess(cmd *exec.Cmd, as *User, orphaned syscall.Signal) (*Process, error) {
	cmd.SysProcAttr = sysProcAttr(as, orphaned)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux sends the parent-death signal when the thread that forked ends,
		// not the process; the lock keeps that thread for as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended; ask after Done.
func (p *Process) Err() error { return p.err }

// Signal sends a signal. The error says that the process is gone.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Suspend stops the process until it gets a SIGCONT. When it returns, none of its
// threads runs any more; after the signal alone, some still may on a busy machine.
func (p *Process) Suspend() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.PID(), &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait for process %d to stop: %w", p.PID(), err)
		case !status.Stopped():
			return fmt.Errorf("process %d ended when it should have stopped", p.PID())
		default:
			return nil
		}
	}
}

// End signals the process and waits until it is gone; past the limit it kills
// it and reports true.
func (p *Process) End(signal os.Signal, limit time.Duration) (killed bool) {
	_ = p.cmd.Process.Signal(signal) // fails only where it has ended already
	select {
	case <-p.done:
		return false
	case <-time.After(limit):
		_ = p.cmd.Process.Kill()
		<-p.done
		return true
	}
}

// LogTail is the end of a log, or why it cannot be read.
func LogTail(path string) string {
	const tail = 2000
	log, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(log) > tail {
		log = log[len(log)-tail:]
	}
	return string(bytes.TrimSpace(log))
}
