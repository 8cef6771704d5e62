package domain

import "time"

// CodeSendingUnchanged refuses a switch that another person has used before.
const CodeSendingUnchanged = "SENDING_UNCHANGED"

// PauseReasonRule applies to the reason for pausing webhooks. All staff read it.
var PauseReasonRule = TextRule{Least: 3, Most: 200}

// SendingPause stops the sending of webhooks of an environment, to all endpoints of all customers.
// Everything that becomes due waits: first attempts, retries, tests and resent webhooks. Waiting
// uses up nothing. A webhook has as many attempts after the pause as before, and no endpoint is
// disabled for failing during the pause. Listeners continue, since nothing is sent to them.
type SendingPause struct {
	Environment Environment
	Since       time.Time
	By          string // name of the person
	Reason      string
}
