package dispatch

import "sync/atomic"

// lapse is the last failure of something that is done all the time and told of by
// no other error.
type lapse struct{ last atomic.Pointer[error] }

func (l *lapse) note(err error) { l.last.Store(&err) }

// take returns the last failure since it was last asked, or nil.
func (l *lapse) take() error {
	if err := l.last.Swap(nil); err != nil {
		return *err
	}
	return nil
}
