package monitoring_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/monitoring"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// silent is a database that returns no pause before it is closed.
type silent struct {
	ports.Database
	ports.SendingReader
	closed chan struct{}
}

func (s silent) Read() ports.Readers { return ports.Readers{Sending: s} }

func (s silent) Pauses(context.Context) ([]domain.SendingPause, error) {
	<-s.closed
	return nil, nil
}

func TestPausesThatTheDatabaseDoesNotTellAreGivenUpAfter300Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		database := silent{closed: make(chan struct{})}
		m := monitoring.NewMachinery(database, nil, &stage.Clock{}, &stage.IDs{})
		for range 2 {
			begun := time.Now()
			if _, err := m.Pauses(t.Context()); !errors.Is(err, ports.ErrTookTooLong) || time.Since(begun) != 300*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
		close(database.closed)
	})
}
