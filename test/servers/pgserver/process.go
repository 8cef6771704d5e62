package pgserver

import (
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is a started command whose end is awaited in the background.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
	err  error         // how it ended; read it after done
}

// startProcess runs cmd as the given user (nil: this one) in a process group of
// its own, so that Ctrl-C in a terminal reaches the tests and not the server
// under them.
func startProcess(cmd *exec.Cmd, own *owner) (*process, error) {
	cmd.SysProcAttr = sysProcAttr(own)
	p := &process{cmd: cmd, done: make(chan struct{})}
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

// end signals the process and waits until it is gone; past the limit it kills
// it and reports true.
func (p *process) end(signal os.Signal, limit time.Duration) (killed bool) {
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
