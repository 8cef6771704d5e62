package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// MailStore puts mails into the outbox, in the transaction of what they tell.
type MailStore interface {
	// Tell makes a mail for each recipient of the notice: for its address or person, or
	// else for the active members of its business who have accepted and have one of
	// the roles of its kind. A mail that is there already stays as it is.
	//
	// A notice with a budget is counted with those that all processes have told, as
	// domain.Notice says: TOO_MANY_MAILS where it is an invitation over its budget, and
	// where it is another notice the summary of the hour tells it. Others that count for the
	// same business wait until the transaction ends, so Tell comes last in it.
	Tell(ctx context.Context, n domain.Notice) error
}

// MailOutbox is the pending mails of all businesses, as the senders see them.
type MailOutbox interface {
	// Lease takes mails that wait and are due, counts an attempt for each and makes them due
	// again at Until, for when the sender dies. Of senders at once each gets others. Sign-in
	// links come first, and businesses take turns: each gets its oldest mail before another
	// one gets its second.
	Lease(ctx context.Context, l MailLease) ([]domain.Mail, error)
	// Settle stores what became of a leased mail: State, DueAt, SettledAt and
	// LastError. Of a mail that waits no more, the e-mail address is not kept. It is
	// domain.ErrNotFound where another sender has leased or settled it since.
	Settle(ctx context.Context, m domain.Mail) error
	// Waiting counts the mails that wait and tells since when the oldest does.
	Waiting(ctx context.Context) (n int, since time.Time, err error)
}

// MailLease says which mails a sender takes. The delivery company counts as a business with an
// empty ID.
type MailLease struct {
	Now, Until time.Time
	Limit      int         // takes at most so many mails
	OfOne      int         // takes at most so many of one business; 0: any number
	Busy       []domain.ID // takes none of these businesses
	Served     []domain.ID // takes mails of these businesses after those of others, apart from sign-in links
}

// DeviceReader recognizes the browsers in which persons signed in.
type DeviceReader interface {
	// Known reports whether the person has signed in by a device. A malformed or unknown
	// person has not.
	Known(ctx context.Context, person domain.ID, digest [32]byte) (bool, error)
}

// DeviceStore remembers the browsers in which persons signed in.
type DeviceStore interface {
	DeviceReader
	// Seen keeps that the person signed in by a device. known tells whether that is
	// not the first time, and others whether the person has signed in by another one.
	Seen(ctx context.Context, person domain.ID, digest [32]byte, at time.Time) (known, others bool, err error)
}

// ErrMailRefused means that a mail server took the recipient or the mail for good for
// one that it does not deliver. Every other error may be over in a while.
var ErrMailRefused = errors.New("the mail server refuses the mail")

// Mailer hands mails to a mail server.
type Mailer interface {
	// Send returns nil once the server has taken the mail over. It ends within
	// MailTimeout, whatever the server does. After an error the server may have taken
	// it all the same; a mail that is sent again has the same ID.
	Send(ctx context.Context, m MailMessage) error
	// Check tells whether the server would let this program send, without a mail.
	Check(ctx context.Context) error
}

// MailTimeout is how long sending one mail may take.
const MailTimeout = 25 * time.Second

// MailMessage is a mail as it is sent.
type MailMessage struct {
	ID      domain.ID
	Kind    domain.MailKind
	To      domain.Email
	Name    string // of the recipient
	Subject string // one line
	Text    string
	HTML    string
}

// MailRenderer makes the text of mails.
type MailRenderer interface {
	Render(l Letter) (MailMessage, error)
}

// Letter is all that the text of a mail tells.
type Letter struct {
	ID       domain.ID
	Kind     domain.MailKind
	To       domain.Email
	Name     string        // of the recipient
	Business string        // by name; empty: the staff of the delivery company
	Role     domain.Role   // of an invitation
	By       string        // the person who did it; empty: the delivery company
	At       time.Time     // when it happened
	Link     string        // lets the recipient in, once; a secret
	LinkFor  time.Duration // for how long
	Accepts  bool          // the link accepts an invitation to Business
	Device   string
	Passkey  string // by name
	Page     string // an address in the portal where one looks or acts; empty: there is no portal
	App      string // of the application, by name
	Env      domain.Environment
	Key      string // how the key ends
	KeyID    domain.ID
	NextKey  string     // how the key ends that took its place
	Expires  *time.Time // when the key does
	Host     string     // of the webhook endpoint
	Endpoint domain.ID
	Reason   domain.DisabledReason
	Enabled  bool        // the endpoint was enabled again
	Since    *time.Time  // the endpoint fails, or the hour of a summary begins
	Until    *time.Time  // it is disabled from then on, unless it answers
	Changes  []KeyChange // of a summary
	More     bool        // there were more changes than those
}

// KeyChange is one change of a key, in a summary.
type KeyChange struct {
	Kind domain.MailKind
	At   time.Time
	By   string // the person who did it; empty: the delivery company
	App  string // by name
	Env  domain.Environment
	Key  string // how the key ends
}
