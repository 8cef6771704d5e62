package main

import "time"

// quiet is how long the queue still asks often after it got something; nothing
// tells when that is over.
const quiet = 2 * time.Second
