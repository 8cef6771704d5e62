package dispatch

// WaitForDrains waits for all drains, those that go on without a worker too.
func (d *Drainer) WaitForDrains() { d.running.Wait() }
