package domain

// RefusalOutcome says why a sign-in, a link, a form or an act of a person was refused.
type RefusalOutcome string

// The outcomes there are.
const (
	RefusedPassword   RefusalOutcome = "wrong_password"
	RefusedPasskey    RefusalOutcome = "wrong_passkey"
	RefusedLink       RefusalOutcome = "unknown_link"
	RefusedEndedLink  RefusalOutcome = "ended_link"        // used, expired or replaced
	RefusedIdentity   RefusalOutcome = "identity_provider" // its answer does not let in
	RefusedTooMany    RefusalOutcome = "too_many"          // attempts: nothing was checked
	RefusedBusy       RefusalOutcome = "busy"              // too many passwords were being checked
	RefusedDisabled   RefusalOutcome = "business_disabled"
	RefusedRole       RefusalOutcome = "role"       // does not include the act
	RefusedView       RefusalOutcome = "view"       // of a customer's portal by staff, which is read-only
	RefusedForgedForm RefusalOutcome = "cross_site" // a page of another site sent the form
	RefusedMails      RefusalOutcome = "too_many_mails"
)

// RefusalOutcomes are all of them.
func RefusalOutcomes() []RefusalOutcome {
	return []RefusalOutcome{
		RefusedPassword, RefusedPasskey, RefusedLink, RefusedEndedLink, RefusedIdentity, RefusedTooMany, RefusedBusy, RefusedDisabled,
		RefusedRole, RefusedView, RefusedForgedForm, RefusedMails,
	}
}

// Refusal is a refused attempt of a person, or of somebody who names that person.
type Refusal struct {
	// Site is where it was refused, or where the link leads; the console for staff who view the
	// portal as a customer.
	Site     Site
	Outcome  RefusalOutcome
	PersonID ID // as the attempt names the person
	// BusinessID is the business of the session or of the link that was refused; empty: none.
	BusinessID ID
	RequestID  string
}
