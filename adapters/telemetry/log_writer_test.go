package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// stuck is a pipe that nobody reads, until it is read.
type stuck struct {
	read chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.read
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

func (s *stuck) lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.got.String(), "\n")
}

// Not parallel: all writers of a process have one counter.
func TestALogThatNobodyReadsIsNotWaitedForAndItsLinesAreCounted(t *testing.T) {
	pipe := &stuck{read: make(chan struct{})}
	w := NewLogWriter(pipe)
	log := NewLogger(w, slog.LevelInfo, true)
	before := DroppedLogLines()
	const over = 100
	for n := range mostLines + 1 + over { // one of them is being written, perhaps
		log.Info(fmt.Sprint(n))
	}
	w.Flush(time.Millisecond) // it gives up
	lost := DroppedLogLines() - before
	if lost < over || lost > over+1 {
		t.Errorf("%d lines are dropped, want %d or one more", lost, over)
	}
	close(pipe.read)
	w.Flush(30 * time.Second)
	if got := pipe.lines(); got != mostLines+1+over-int(lost) {
		t.Errorf("%d lines are written, and %d dropped, of %d", got, lost, mostLines+1+over)
	}
}

type ended struct{}

func (ended) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestLinesForAReaderThatHasEndedAreCounted(t *testing.T) {
	w := NewLogWriter(ended{})
	before := DroppedLogLines()
	for range 3 {
		if _, err := w.Write([]byte("a line\n")); err != nil {
			t.Errorf("a log without a reader fails: %v", err)
		}
	}
	w.Flush(30 * time.Second)
	if lost := DroppedLogLines() - before; lost != 3 {
		t.Errorf("%d lines are dropped, want 3", lost)
	}
}
