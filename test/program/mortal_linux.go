package program

import "syscall"

// mortal lets a process die with the thread that started it, so that a test
// that is cut off leaves none behind.
func mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
