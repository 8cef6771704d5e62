package telemetry

import (
	"io"
	"sync/atomic"
	"time"
)

// mostLines limits the lines that wait to be written. More are dropped.
const mostLines = 4096

// dropped counts the lines that this process dropped.
var dropped atomic.Uint64

// DroppedLogLines returns how many lines this process has dropped because the reader of its log was
// too slow or gone.
func DroppedLogLines() uint64 { return dropped.Load() }

// LogWriter passes lines on to another writer and never waits for it. A blocking log driver, a full
// pipe or one without a reader delays no request: lines are dropped and counted.
type LogWriter struct {
	lines   chan []byte
	written chan chan struct{}
}

// NewLogWriter returns a writer to w. It writes until the process ends.
func NewLogWriter(w io.Writer) *LogWriter {
	l := &LogWriter{lines: make(chan []byte, mostLines), written: make(chan chan struct{})}
	go l.pass(w)
	return l
}

// Write queues a line, or drops it. It never fails.
func (l *LogWriter) Write(line []byte) (int, error) {
	select {
	case l.lines <- append([]byte(nil), line...):
	default:
		dropped.Add(1)
	}
	return len(line), nil
}

// Flush waits until the queued lines are written, but no longer than patience.
func (l *LogWriter) Flush(patience time.Duration) {
	end := time.After(patience)
	written := make(chan struct{})
	select {
	case l.written <- written:
	case <-end:
		return
	}
	select {
	case <-written:
	case <-end:
	}
}

func (l *LogWriter) pass(w io.Writer) {
	write := func(line []byte) {
		if _, err := w.Write(line); err != nil {
			dropped.Add(1)
		}
	}
	for {
		select {
		case line := <-l.lines:
			write(line)
		case written := <-l.written:
			for n := len(l.lines); n > 0; n-- {
				write(<-l.lines)
			}
			close(written)
		}
	}
}
