package dispatch

import (
	"sync"
	"time"
)

// How drains with a backlog leave room for those without one: turns at the
// storage, pauses behind them, and slots that their sends share.

// waits reports whether a turn at the storage is wanted.
func (w *drain) waits() bool {
	return w.behind && (w.mayRead() || !w.writing && len(w.outcomes) > 0)
}

// endsTurn lets the next one have a turn: at once, or where somebody without a
// backlog sends too, after a pause.
func (w *drain) endsTurn() func() {
	began := time.Now()
	return func() {
		took := time.Since(began)
		if time.Since(time.Unix(0, w.promptly.Load())) > company || w.isClosed() {
			<-w.turns
			return
		}
		// Never long: a turn may have outlasted an outage, which makes backlogs.
		time.AfterFunc(min(rest*took, company), func() { <-w.turns })
	}
}

// fallsBehind notes whether there is a backlog.
func (w *drain) fallsBehind(behind bool) {
	switch {
	case behind && !w.behind:
		w.backlogs.Add(1)
	case !behind && w.behind:
		w.backlogs.Add(-1)
	}
	w.behind, w.caught = behind, w.caught || behind
}

// takesSlot reports whether one more may be sent now. With a backlog that takes
// one of the slots, unless it is the only one.
func (w *drain) takesSlot() bool {
	if !w.behind || w.granted || w.backlogs.Load() == 1 {
		return true
	}
	select {
	case w.slots <- struct{}{}:
		w.granted = true
	default:
		w.starved = true
	}
	return w.granted
}

// returnSlot gives back what no send took.
func (w *drain) returnSlot() {
	if w.granted {
		w.granted = false
		<-w.slots
	}
}

// busySlot is a slot that a send has until it ends, or waits for its receiver.
func (w *drain) busySlot() (ended func()) {
	if !w.granted {
		return func() {}
	}
	w.granted = false
	free := sync.OnceFunc(func() { <-w.slots })
	waits := time.AfterFunc(brief, free)
	return func() { waits.Stop(); free() }
}
