package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// MailStore puts mails into the outbox, in the transaction of the change that they report.
type MailStore interface {
	// Tell stores a mail for each recipient of the notice: its address or person, or else the
	// active members of its business who have accepted and have one of the roles of its kind. An
	// existing mail stays unchanged.
	//
	// A notice with a budget is counted together with those of all processes, as domain.Notice
	// says. Over its budget, an invitation gets TOO_MANY_MAILS and any other notice goes into the
	// hourly summary. Other notices of the same business wait until the transaction ends, so call
	// Tell last.
	Tell(ctx context.Context, n domain.Notice) error
}

// MailOutbox gives senders the pending mails of all businesses.
type MailOutbox interface {
	// Lease takes mails that are pending and due, counts an attempt for each and makes them due
	// again at Until, in case the sender dies. Concurrent senders get different mails. Sign-in
	// links come first. Businesses take turns: each gets its oldest mail before another one gets
	// its second.
	Lease(ctx context.Context, l MailLease) ([]domain.Mail, error)
	// DropToNobody drops sign-in links that are pending and due and whose address no person has, up
	// to limit, and returns their number.
	DropToNobody(ctx context.Context, now time.Time, limit int) (int, error)
	// Settle stores the result of a leased mail: State, DueAt, SettledAt and LastError. It deletes
	// the email address of a mail that is no longer pending. It returns domain.ErrNotFound where
	// another sender has leased or settled the mail since.
	Settle(ctx context.Context, m domain.Mail) error
	// Waiting counts the pending mails and returns since when the oldest one waits.
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
	// Known reports whether the person has signed in on a device. It is false for a malformed or
	// unknown person.
	Known(ctx context.Context, person domain.ID, digest [32]byte) (bool, error)
}

// DeviceStore remembers the browsers in which persons signed in.
type DeviceStore interface {
	DeviceReader
	// Seen stores that the person signed in on a device. known reports whether the person has used
	// it before, and others whether the person has used another one.
	Seen(ctx context.Context, person domain.ID, digest [32]byte, at time.Time) (known, others bool, err error)
	// RemoveAll forgets all devices of a person.
	RemoveAll(ctx context.Context, person domain.ID) error
}

// ErrMailRefused means that a mail server permanently refuses the recipient or the mail. Every
// other error may be temporary.
var ErrMailRefused = errors.New("the mail server refuses the mail")

// Mailer hands mails to a mail server.
type Mailer interface {
	// Send returns nil once the server has accepted the mail. It ends within MailTimeout, whatever
	// the server does. After an error the server may still have accepted it. A mail that is sent
	// again has the same ID.
	Send(ctx context.Context, m MailMessage) error
	// Check reports whether the server would accept mails of this program, without sending one.
	Check(ctx context.Context) error
}

// MailTimeout limits how long sending one mail may take.
const MailTimeout = 25 * time.Second

// MailMessage is a rendered mail.
type MailMessage struct {
	ID      domain.ID
	Kind    domain.MailKind
	To      domain.Email
	Name    string // of the recipient
	Subject string // one line
	Text    string
	HTML    string
}

// MailRenderer renders mails.
type MailRenderer interface {
	Render(l Letter) (MailMessage, error)
}

// Letter holds all that the text of a mail needs.
type Letter struct {
	ID       domain.ID
	Kind     domain.MailKind
	To       domain.Email
	Name     string        // of the recipient
	Business string        // by name; empty: the staff of the delivery company
	Role     domain.Role   // of an invitation
	By       string        // name of the person who did it; empty: the delivery company
	At       time.Time     // time of the event
	Link     string        // sign-in link that works once; a secret
	LinkFor  time.Duration // how long Link works
	Accepts  bool          // Link accepts an invitation to Business
	Ends     bool          // Link ends password, passkeys and sessions from before: domain.Link.EndsCredentials
	Device   string
	Passkey  string // name of the passkey
	Page     string // the page in the portal to look or act; empty: there is no portal
	App      string // name of the application
	Env      domain.Environment
	Key      string // last characters of the key
	KeyID    domain.ID
	NextKey  string     // last characters of the key that replaced it
	Expires  *time.Time // when the key expires
	Host     string     // of the webhook endpoint
	Endpoint domain.ID
	Reason   domain.DisabledReason
	Enabled  bool        // the endpoint was enabled again
	Since    *time.Time  // start of the failing, or of the hour of a summary
	Until    *time.Time  // the endpoint is disabled then, unless it recovers
	Changes  []KeyChange // of a summary
	More     bool        // there were more changes than listed
}

// KeyChange is one change of a key, in a summary.
type KeyChange struct {
	Kind domain.MailKind
	At   time.Time
	By   string // name of the person who did it; empty: the delivery company
	App  string // name of the application
	Env  domain.Environment
	Key  string // last characters of the key
}
