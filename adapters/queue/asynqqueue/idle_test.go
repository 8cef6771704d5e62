package asynqqueue

import (
	"testing"
	"time"
)

func TestAServerThatPausesEndsAtOnce(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	close(stop)
	began := time.Now()
	(&waiting{stop: stop}).pause(time.Hour)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
