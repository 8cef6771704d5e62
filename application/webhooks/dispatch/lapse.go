package dispatch

import "sync/atomic"

// lapse holds the last failure of a repeated action that no other error reports.
type lapse struct{ last atomic.Pointer[error] }

func (l *lapse) note(err error) { l.last.Store(&err) }

// take returns the last failure since the previous call, or nil.
func (l *lapse) take() error {
	if err := l.last.Swap(nil); err != nil {
		return *err
	}
	return nil
}
