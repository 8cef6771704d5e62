package domain

// RefusalOutcome says why a sign-in, a link, a form or an act of a person was refused.
type RefusalOutcome string

// The outcomes.
const (
	RefusedPassword   RefusalOutcome = "wrong_password"
	RefusedPasskey    RefusalOutcome = "wrong_passkey"
	RefusedLink       RefusalOutcome = "unknown_link"
	RefusedEndedLink  RefusalOutcome = "ended_link"        // used, expired or replaced
	RefusedIdentity   RefusalOutcome = "identity_provider" // its response does not allow a sign-in
	RefusedTooMany    RefusalOutcome = "too_many"          // attempts: nothing was checked
	RefusedBusy       RefusalOutcome = "busy"              // too many passwords were being checked
	RefusedDisabled   RefusalOutcome = "business_disabled"
	RefusedRole       RefusalOutcome = "role"       // does not include the act
	RefusedView       RefusalOutcome = "view"       // view of a customer's portal by staff, which is read-only
	RefusedForgedForm RefusalOutcome = "cross_site" // a page of another site sent the form
	RefusedMails      RefusalOutcome = "too_many_mails"
)

// RefusalOutcomes lists all outcomes.
func RefusalOutcomes() []RefusalOutcome {
	return []RefusalOutcome{
		RefusedPassword, RefusedPasskey, RefusedLink, RefusedEndedLink, RefusedIdentity, RefusedTooMany, RefusedBusy, RefusedDisabled,
		RefusedRole, RefusedView, RefusedForgedForm, RefusedMails,
	}
}

// Refusal is a refused attempt of a person, or of somebody who claims to be that person.
type Refusal struct {
	// Site is where the attempt was refused, or where the link leads. It is the console for staff
	// who view the portal as a customer.
	Site     Site
	Outcome  RefusalOutcome
	PersonID ID // as claimed by the attempt
	// BusinessID is the business of the refused session or link; empty: none.
	BusinessID ID
	RequestID  string
}
