package webhooks

// RecoverAtMost makes one call recover less than it would.
func (w *Webhooks) RecoverAtMost(n int) { w.recoverMost = n }
