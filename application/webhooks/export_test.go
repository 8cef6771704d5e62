package webhooks

// RecoverAtMost limits how much one call recovers.
func (w *Webhooks) RecoverAtMost(n int) { w.recoverMost = n }
