package autopipeline

// Waiting is how many commands wait to be sent.
func (c *Client) Waiting() int {
	waiting, _ := c.commands.Load()
	return waiting
}

// Asked is how many commands wait to be sent or to be answered.
func (c *Client) Asked() int {
	waiting, underWay := c.commands.Load()
	return waiting + underWay
}
