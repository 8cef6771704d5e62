package memory

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

func TestInvalidationsConformance(t *testing.T) {
	t.Parallel()
	conformance.ExamineInvalidations(t, func(*testing.T) (one, other ports.Invalidations) {
		i := NewInvalidations()
		return i, i
	})
}

func TestAListenerThatIsBusyForLongIsToldToForgetAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := NewInvalidations()
		ctx, cancel := context.WithCancel(t.Context())
		var heard []domain.ID
		release, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			i.Listen(ctx, func(id domain.ID) {
				heard = append(heard, id)
				<-release
			})
		}()
		synctest.Wait()
		i.Announce(t.Context(), "first")
		synctest.Wait() // it is busy with that one
		for n := range 5000 {
			i.Announce(t.Context(), domain.ID(strconv.Itoa(n)))
		}
		close(release)
		synctest.Wait()
		// The last thousand are left, after the message that covers the rest.
		if len(heard) < 2 || len(heard) > 1002 || heard[0] != "first" || heard[1] != "" || !slices.Contains(heard, "4999") {
			t.Errorf("%d were heard, beginning with %q", len(heard), heard[:min(3, len(heard))])
		}
		cancel()
		<-done
		if len(i.listeners) != 0 {
			t.Error("word is still left for a listener that is gone")
		}
	})
}
