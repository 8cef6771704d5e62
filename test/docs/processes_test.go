package docs

import (
	"os/exec"
	"syscall"
)

// own gives a program a group of its own: `go run` starts another one.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a program with all that it started.
func kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended by itself
}
