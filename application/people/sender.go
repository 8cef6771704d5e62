package people

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// atOnce limits the mails that are sent at a time, each of another business.
	atOnce = 4
	// droppedAtOnce limits the links to unknown addresses that one statement drops.
	droppedAtOnce = 1000
	// lookAgain is the time that Send waits for the end of a mail before it returns.
	lookAgain = time.Second
	// leaseFor is how long a sender holds a mail: longer than storing the link, sending and storing
	// the outcome may take together.
	leaseFor = 2 * time.Minute
	// composeTimeout limits reading and storing before a mail is sent. settleFor limits how long
	// storing the outcome is retried, with settleTimeout for each try.
	composeTimeout = 10 * time.Second
	settleFor      = 45 * time.Second
	settleTimeout  = 5 * time.Second
	settleAgain    = 500 * time.Millisecond
	mostError      = 500 // bytes of an error that are stored
)

// Outcomes of an attempt to send a mail.
const (
	MailSent    = "sent"
	MailFailed  = "failed" // it will be retried
	MailGivenUp = "given_up"
	MailDropped = "dropped" // it has no recipient any more, or an invitation is sent instead
)

// MailObserver receives the outcome of each attempt.
type MailObserver func(kind domain.MailKind, outcome string)

// MailSender sends the mails in the outbox. A process sends one mail of a business at a time. So a
// mail server that is slow for one business does not delay the others.
type MailSender struct {
	storage  ports.Storage
	outbox   ports.MailOutbox
	mailer   ports.Mailer
	renderer ports.MailRenderer
	clock    ports.Clock
	ids      ports.Identifiers
	sites    MailSites
	observe  MailObserver
	log      *slog.Logger

	sending sync.WaitGroup
	ended   chan struct{} // gets a value when a mail was sent
	mu      sync.Mutex
	busy    map[domain.ID]bool // the businesses of which a mail is being sent
	served  map[domain.ID]bool // the businesses that have had their turn in this round
}

// MailSites holds the base URLs of the sites, without a slash at the end. An empty one means that
// there is no site, and no link to it is sent.
type MailSites struct{ Portal, Console string }

// of returns the site of a business, or that of the staff for an empty ID.
func (s MailSites) of(business domain.ID) string {
	if domain.SiteOf(business) == domain.Console {
		return s.Console
	}
	return s.Portal
}

// NewMailSender returns a sender of mails whose links lead to the sites.
func NewMailSender(s ports.Storage, o ports.MailOutbox, m ports.Mailer, r ports.MailRenderer, c ports.Clock, ids ports.Identifiers,
	sites MailSites, observe MailObserver, log *slog.Logger,
) *MailSender {
	return &MailSender{storage: s, outbox: o, mailer: m, renderer: r, clock: c, ids: ids, sites: sites, observe: observe, log: log,
		ended: make(chan struct{}, 1), busy: map[domain.ID]bool{}, served: map[domain.ID]bool{}}
}

// Send sends the mails whose time has come. It returns when none is left, or when the current ones
// take long: they continue, and the next call uses the other places. A mail that has begun is
// finished even if ctx ends, since an interrupted one may have been sent. One call at a time.
func (s *MailSender) Send(ctx context.Context) error {
	for {
		atWork, err := s.start(ctx)
		if err != nil || atWork == 0 {
			return err
		}
		select {
		case <-s.ended:
		case <-time.After(lookAgain):
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Wait waits until the mails that are being sent are finished.
func (s *MailSender) Wait() { s.sending.Wait() }

// start begins to send mails in the free places, and returns how many are being sent.
func (s *MailSender) start(ctx context.Context) (atWork int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if free := atOnce - len(s.busy); free > 0 {
		now := s.clock.Now()
		if err := s.dropToNobody(ctx, now); err != nil {
			return len(s.busy), err
		}
		leased, err := s.outbox.Lease(ctx, ports.MailLease{Now: now, Until: now.Add(leaseFor), Limit: free, OfOne: 1,
			Busy: slices.Collect(maps.Keys(s.busy)), Served: slices.Collect(maps.Keys(s.served))})
		if err != nil {
			return len(s.busy), err
		}
		if len(leased) < free {
			clear(s.served) // nobody else waits for a turn
		}
		for _, m := range leased {
			if s.served[m.BusinessID] && m.Kind != domain.MailSignInLink {
				clear(s.served) // all had their turn
			}
			s.served[m.BusinessID], s.busy[m.BusinessID] = true, true
			s.sending.Go(func() {
				defer s.end(m.BusinessID)
				s.one(context.WithoutCancel(ctx), m)
			})
		}
	}
	return len(s.busy), nil
}

// dropToNobody drops links that were requested for unknown addresses, many at a time. Anyone can
// request thousands, which must not take the places of mails with a recipient.
func (s *MailSender) dropToNobody(ctx context.Context, now time.Time) error {
	for n := droppedAtOnce; n == droppedAtOnce; {
		var err error
		if n, err = s.outbox.DropToNobody(ctx, now, droppedAtOnce); err != nil {
			return err
		}
		for range n {
			s.observe(domain.MailSignInLink, MailDropped)
		}
	}
	return nil
}

// end frees the place of a business.
func (s *MailSender) end(business domain.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, business)
	select {
	case s.ended <- struct{}{}:
	default: // Send has not read the previous one yet
	}
}

// one makes one attempt and stores its outcome.
func (s *MailSender) one(ctx context.Context, m domain.Mail) {
	var to domain.Email
	err := domain.Safely(func() (err error) {
		to, err = s.attempt(ctx, m)
		return err
	})
	now := s.clock.Now()
	outcome, level := MailSent, slog.LevelInfo
	next, inTime := m.NextAttempt(now)
	switch {
	case err == nil:
		m.State = domain.MailSent
	case errors.Is(err, errNoRecipient), errors.Is(err, errInvited):
		outcome, m.State, level = MailDropped, domain.MailDropped, slog.LevelDebug
	case errors.Is(err, ports.ErrMailRefused), !inTime:
		outcome, m.State, level = MailGivenUp, domain.MailGivenUp, slog.LevelError
	default:
		outcome, m.DueAt, level = MailFailed, next, slog.LevelWarn
	}
	if m.State != domain.MailWaiting {
		m.DueAt, m.SettledAt = now, &now
	}
	fields := []any{"mail", m.ID, "kind", m.Kind, "person", m.PersonID, "attempt", m.Attempts}
	if m.LastError = ""; err != nil {
		m.LastError = mailsShortened(err.Error(), to)
		fields = append(fields, "error", m.LastError)
	}
	if outcome == MailFailed {
		fields = append(fields, "next", domain.FormatTime(next))
	}
	s.log.Log(ctx, level, "mail "+outcome, fields...)
	s.observe(m.Kind, outcome)
	s.settle(ctx, m)
}

// attempt sends the mail, or returns errNoRecipient. to is the recipient as far as known.
func (s *MailSender) attempt(ctx context.Context, m domain.Mail) (to domain.Email, err error) {
	if !s.clock.Now().Before(m.ExpiresAt) {
		return "", errors.New("its time was over before it could be sent")
	}
	within, cancel := context.WithTimeout(ctx, composeTimeout)
	defer cancel()
	letter, err := s.compose(within, m)
	if err != nil {
		return m.Email, err
	}
	message, err := s.renderer.Render(letter)
	if err != nil {
		return letter.To, err
	}
	within, cancel = context.WithTimeout(ctx, ports.MailTimeout)
	defer cancel()
	return letter.To, s.mailer.Send(within, message)
}

// settle retries, since a mail whose outcome is not stored is sent twice.
func (s *MailSender) settle(ctx context.Context, m domain.Mail) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for {
		within, done := context.WithTimeout(ctx, settleTimeout)
		err := s.outbox.Settle(within, m)
		done()
		if err == nil {
			return
		}
		if !ports.StorageUnavailable(err) || ctx.Err() != nil {
			s.log.WarnContext(ctx, "what became of a mail is not recorded; it may be sent again", "mail", m.ID, "state", m.State, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(settleAgain):
		}
	}
}

// mailsShortened shortens an error for the log and the outbox. It removes the recipient, which mail
// servers often repeat.
func mailsShortened(text string, to domain.Email) string {
	if to != "" {
		text = strings.ReplaceAll(strings.ReplaceAll(text, string(to), "the recipient"), strings.ToUpper(string(to)), "the recipient")
	}
	return strings.ToValidUTF8(text[:min(len(text), mostError)], "")
}
