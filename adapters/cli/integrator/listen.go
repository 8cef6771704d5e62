package integrator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
	"waybill/ports"
)

const (
	// heartbeat is how long nothing may arrive before a line explains why.
	heartbeat = 30 * time.Second
	// glanceTimeout limits the request for that explanation.
	glanceTimeout = 5 * time.Second
	// fetchTimeout is longer than a sandbox takes to respond to a fetch.
	fetchTimeout = longestWait + 25*time.Second
)

func (p *Commands) listen() *cobra.Command {
	var (
		a                 access
		forwardTo, events string
		printSecret       bool
	)
	cmd := &cobra.Command{
		Use: "listen", Short: "Have the webhooks of a sandbox delivered to a program on this machine",
		Long: "Have the webhooks of a sandbox delivered to a program on this machine, until Ctrl-C. It takes no\n" +
			"tunnel and no public address: the webhooks are fetched, and posted from here as an endpoint\n" +
			"would get them, signed and with the same bytes. What fails is tried again by the schedule of\n" +
			"the sandbox. Without --forward-to they are shown only, and count as delivered.\n\n" +
			"A line for each attempt goes to stdout, or with --print-secret to stderr, since stdout is then\n" +
			"for the secret alone. The secret stays the same for the application. With --json each line is an object.\n\n" +
			"The key needs the scopes webhooks:write and deliveries:read.\n\n" +
			"Events: " + strings.Join(domain.EventPatterns(), ", "),
		Example: `  waybill listen --forward-to http://localhost:3000/webhooks/waybill
  waybill listen --forward-to localhost:3000/webhooks/waybill --events delivery.delivered,delivery.failed
  waybill listen --json
  WAYBILL_TEST_KEY_FILE=key waybill listen --forward-to http://localhost:3000 --url https://sandbox.example.com/v1`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := parseEvents(cmd, events)
			if err != nil {
				return err
			}
			s := &listening{p: p, types: types, printSecret: printSecret, lines: p.Stdout}
			if printSecret {
				s.lines = p.Stderr
			}
			if forwardTo != "" {
				if s.forwardTo, s.host, err = parseForwardTo(cmd, forwardTo); err != nil {
					return err
				}
			}
			if s.client, err = p.sandbox(cmd, a); err != nil {
				return err
			}
			s.client.http.Timeout = fetchTimeout
			sender, closeSender := p.Sender()
			defer closeSender()
			s.sender = sender
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&forwardTo, "forward-to", "", "where your program takes webhooks, such as http://localhost:3000/webhooks/waybill")
	cmd.Flags().StringVar(&events, "events", "", "types of events, separated by commas (without it all of them)")
	cmd.Flags().BoolVar(&printSecret, "print-secret", false, "print the signing secret alone on stdout; without --forward-to end then")
	_ = cmd.RegisterFlagCompletionFunc("events", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return domain.EventPatterns(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}) // the flag exists
	a.addFlags(cmd)
	return cmd
}

// parseEvents returns the event types, or nil for all.
func parseEvents(cmd *cobra.Command, list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	var types []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(domain.EventPatterns(), name) {
			return nil, term.Usagef(cmd, "%q is no type of event. There are %s", name, strings.Join(domain.EventPatterns(), ", "))
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types, nil
}

// parseForwardTo reads an address, which may lack its scheme. It also returns the name of the
// program there for messages.
func parseForwardTo(cmd *cobra.Command, text string) (address, host string, err error) {
	address = text
	if !strings.Contains(address, "://") {
		address = "http://" + strings.TrimPrefix(address, "//")
	}
	u, parseErr := url.Parse(address)
	if parseErr != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "", term.Usagef(cmd, "--forward-to is no address such as http://localhost:3000/webhooks/waybill")
	}
	if u.User != nil || u.Fragment != "" {
		return "", "", term.Usagef(cmd, "--forward-to must have no user, password or fragment: endpoints have none, and the signature tells "+
			"who sends")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", term.Usagef(cmd, "--forward-to has the port %s; it is 1 to 65535", port)
		}
	}
	return address, u.Host, nil
}

// listening is one run of listen.
type listening struct {
	p               *Commands
	client          *apiClient
	sender          ports.WebhookSender
	types           []string // nil: all
	forwardTo, host string   // empty: webhooks are only shown
	printSecret     bool
	lines           io.Writer // where attempts are printed
	listener        *webhookListener
	skew            time.Duration // of the sandbox's clock

	mu   sync.Mutex // guards what follows, and keeps lines apart
	last time.Time  // when a webhook arrived, or a heartbeat was printed
}

// run registers a listener and forwards webhooks until ctx ends, which is its normal end.
func (s *listening) run(ctx context.Context) error {
	owner, err := s.owner(ctx)
	if err != nil {
		return interrupted(ctx, err, "nothing was begun")
	}
	l := newWebhookListener(s.client, s.types)
	l.deliver, l.attempted, l.expired = s.deliver, s.printAttempt, s.reportExpired
	s.listener = l
	if _, err := l.register(ctx, l.registration()); err != nil {
		return interrupted(ctx, err, "the listener may be there; it ends by itself within a minute")
	}
	defer s.end(ctx)
	s.tellReady(owner)
	if s.printSecret && s.forwardTo == "" {
		return nil
	}
	beating, stop := context.WithCancel(ctx)
	var beat sync.WaitGroup
	beat.Go(func() { s.beat(beating) })
	defer beat.Wait()
	defer stop()
	return l.run(ctx)
}

// owner describes whose events these are.
func (s *listening) owner(ctx context.Context) (string, error) {
	key, answer, err := ask[waybillapi.APIKeyInfo](ctx, s.client, get("/api-key"))
	if err != nil {
		return "", err
	}
	s.skew = skewOf(answer.serverAt)
	return fmt.Sprintf("application %q of %s", term.PlainText(key.Application.Name), term.PlainText(key.Business.Name)), nil
}

// end deletes the listener, so that no more is stored for it.
func (s *listening) end(ctx context.Context) {
	if err := s.listener.end(ctx); err != nil {
		s.message("Stopped listening. The sandbox could not be told; it keeps webhooks for this listener for up to a minute.")
		return
	}
	s.message("Stopped listening.")
}

// message prints lines for people. A script gets only what it can use.
func (s *listening) message(lines ...string) {
	if !s.p.AsJSON {
		fmt.Fprintln(s.p.Stderr, strings.Join(lines, "\n"))
	}
}

// ReadyLine is the first line for a script. It is repeated after an expiry.
type ReadyLine struct {
	Kind       string   `json:"kind"` // ready
	ListenerID string   `json:"listener_id"`
	Secret     string   `json:"secret"`
	EventTypes []string `json:"event_types"`
	URL        string   `json:"url"`
	ForwardTo  string   `json:"forward_to,omitempty"`
}

func (s *listening) tellReady(owner string) {
	l := s.listener.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.p.AsJSON {
		s.p.sayRecord(ReadyLine{"ready", l.ID, l.Secret, s.matched(), s.client.baseURL, s.forwardTo})
		return
	}
	if s.printSecret {
		fmt.Fprintln(s.p.Stdout, l.Secret)
		if s.forwardTo == "" {
			return
		}
		s.message("Sandbox         "+s.client.baseURL+", "+owner, "Signing secret  on stdout")
	} else {
		s.message("Sandbox         "+s.client.baseURL+", "+owner, "Signing secret  "+l.Secret)
	}
	s.message("Ready: "+s.matching()+" "+s.goes()+". Ctrl-C ends it.", "")
}

// reportExpired reports a new listener after an expiry.
func (s *listening) reportExpired() {
	l := s.listener.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p.AsJSON {
		s.p.sayRecord(ReadyLine{"ready", l.ID, l.Secret, s.matched(), s.client.baseURL, s.forwardTo})
		return
	}
	s.message("The listener had expired: the sandbox had not heard of it for a minute. A new one is there, with the same secret.",
		"What happened in between is in the feed: "+s.p.Ourselves()+" tail events --since 10m"+s.client.flags)
}

// matched returns the patterns that the sandbox was given.
func (s *listening) matched() []string {
	if s.types == nil {
		return []string{domain.AllEvents}
	}
	return s.types
}

// matching returns the same in words.
func (s *listening) matching() string {
	if slices.Contains(s.matched(), domain.AllEvents) {
		return "every event"
	}
	return "every " + strings.Join(s.types, ", ")
}

func (s *listening) goes() string {
	if s.forwardTo == "" {
		return "is shown here"
	}
	return "goes to " + s.forwardTo
}

func (s *listening) deliver(ctx context.Context, w *incomingWebhook) domain.WebhookResult {
	if s.forwardTo == "" {
		return domain.WebhookResult{StatusCode: http.StatusOK, StartedAt: time.Now()}
	}
	return s.sender.Send(ctx, ports.WebhookMessage{URL: s.forwardTo, Header: w.header(), Body: []byte(w.Body)})
}
