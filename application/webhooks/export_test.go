package webhooks

// RecoverAtMost makes one call recover less than it would.
func (w *Webhooks) RecoverAtMost(n int) { w.recoverMost = n }

// WaitForDrains waits for all drains, those that go on without a worker too.
func (d *Drainer) WaitForDrains() { d.running.Wait() }
