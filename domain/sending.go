package domain

import "time"

// CodeSendingUnchanged is of a switch that another person has turned before.
const CodeSendingUnchanged = "SENDING_UNCHANGED"

// PauseReasonRule is for why the sending of webhooks was paused: all staff read it.
var PauseReasonRule = TextRule{Least: 3, Most: 200, Fault: TextFault}

// SendingPause stops the sending of webhooks of an environment, to all endpoints of all
// customers. What becomes due waits, whatever it is: first attempts, retries, tests and
// what people resend. Waiting uses up nothing: a webhook has as many attempts after the
// pause as before, and no endpoint is disabled for a time of failing in which nothing was
// sent to it. Listeners go on, since nothing is sent to them.
type SendingPause struct {
	Environment Environment
	Since       time.Time
	By          string // the person, by name
	Reason      string
}
