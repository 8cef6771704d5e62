package autopipeline

// Waiting is how many commands wait to be sent.
func (c *Client) Waiting() int {
	waiting, _ := c.commands.Load()
	return waiting
}
