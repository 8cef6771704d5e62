package autopipeline

// Waiting is how many commands wait to be sent.
func (c *Client) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}
