package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"waybill/adapters/httpapi/views"
	"waybill/adapters/webhooksend/httpsender"
	"waybill/domain"
	"waybill/ports"
)

const (
	// heartbeat is how long nothing may come until it is said why.
	heartbeat = 30 * time.Second
	// glanceTimeout bounds the look for what a heartbeat says.
	glanceTimeout = 5 * time.Second
	// fetchTimeout is longer than a sandbox takes to answer a fetch.
	fetchTimeout = longestWait + 25*time.Second
)

func (p *program) listen() *cobra.Command {
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
			"for the secret alone. The secret is another one each time. With --json each line is an object.\n\n" +
			"Events: " + strings.Join(domain.EventPatterns(), ", "),
		Example: `  waybill listen --forward-to http://localhost:3000/hooks
  waybill listen --forward-to localhost:3000/hooks --events delivery.delivered,delivery.failed
  waybill listen --json
  WAYBILL_TEST_KEY_FILE=key waybill listen --forward-to http://localhost:3000 --url https://sandbox.example.com/v1`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := parseEvents(cmd, events)
			if err != nil {
				return err
			}
			s := &listening{p: p, types: types, printSecret: printSecret, lines: p.stdout}
			if printSecret {
				s.lines = p.stderr
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
			sender := httpsender.New(httpsender.Options{AllowPrivate: true})
			defer sender.Close()
			s.sender = sender
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&forwardTo, "forward-to", "", "where your program takes webhooks, such as http://localhost:3000/hooks")
	cmd.Flags().StringVar(&events, "events", "", "types of events, separated by commas (without it all of them)")
	cmd.Flags().BoolVar(&printSecret, "print-secret", false, "print the signing secret alone on stdout; without --forward-to end then")
	_ = cmd.RegisterFlagCompletionFunc("events", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return domain.EventPatterns(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}) // the flag is there
	a.addFlags(cmd)
	return cmd
}

// parseEvents is nil where all are meant.
func parseEvents(cmd *cobra.Command, list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	var types []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(domain.EventPatterns(), name) {
			return nil, usagef(cmd, "%q is no type of event. There are %s", name, strings.Join(domain.EventPatterns(), ", "))
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types, nil
}

// parseForwardTo reads an address, which may lack its scheme, and how the
// program there is called in messages.
func parseForwardTo(cmd *cobra.Command, text string) (address, host string, err error) {
	address = text
	if !strings.Contains(address, "://") {
		address = "http://" + strings.TrimPrefix(address, "//")
	}
	u, parseErr := url.Parse(address)
	if parseErr != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "", usagef(cmd, "--forward-to is no address such as http://localhost:3000/hooks")
	}
	if u.User != nil || u.Fragment != "" {
		return "", "", usagef(cmd, "--forward-to must have no user, password or fragment: endpoints have none, and the signature tells who sends")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", usagef(cmd, "--forward-to has the port %s; it is 1 to 65535", port)
		}
	}
	return address, u.Host, nil
}

// listening is one run of listen.
type listening struct {
	p               *program
	client          *apiClient
	sender          ports.WebhookSender
	types           []string // nil: all
	forwardTo, host string   // empty: they are only shown
	printSecret     bool
	lines           io.Writer // where attempts are told
	listener        *webhookListener
	skew            time.Duration // of the sandbox's clock

	mu   sync.Mutex // what follows, and lines that must not mix
	last time.Time  // a webhook came, or a heartbeat
}

// run registers a listener and delivers until ctx ends, which is how it is
// meant to end.
func (s *listening) run(ctx context.Context) error {
	owner, err := s.owner(ctx)
	if err != nil {
		return interrupted(ctx, err, "nothing was begun")
	}
	l := newWebhookListener(s.client, s.types)
	l.deliver, l.attempted, l.expired = s.deliver, s.tell, s.tellExpired
	s.listener = l
	call, err := l.registration()
	if err != nil {
		return err
	}
	if _, err := l.register(ctx, call); err != nil {
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

// owner is whose events these are, in words.
func (s *listening) owner(ctx context.Context) (string, error) {
	answer, err := s.client.send(ctx, get("/api-key"))
	if err != nil {
		return "", err
	}
	var key views.APIKey
	if err := answer.decode(&key); err != nil {
		return "", err
	}
	s.skew = skewOf(answer.serverAt)
	return fmt.Sprintf("application %q of %s", plainText(key.Application.Name), plainText(key.Business.Name)), nil
}

// end deletes the listener, so that no more is kept for it.
func (s *listening) end(ctx context.Context) {
	if err := s.listener.end(ctx); err != nil {
		s.message("The listener could not be deleted; it ends by itself within a minute.")
		return
	}
	s.message("The listener is deleted.")
}

// message is for people; a script is told only what it can use.
func (s *listening) message(lines ...string) {
	if !s.p.asJSON {
		fmt.Fprintln(s.p.stderr, strings.Join(lines, "\n"))
	}
}

// readyLine is what a script learns first, and again with another secret.
type readyLine struct {
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
	if s.p.asJSON {
		s.encode(readyLine{"ready", l.ID, l.Secret, s.matched(), s.client.baseURL, s.forwardTo})
		return
	}
	if s.printSecret {
		fmt.Fprintln(s.p.stdout, l.Secret)
		if s.forwardTo == "" {
			s.message("It is of this one listener, which ends with this command. Add --forward-to URL to listen and to print the secret that is signed with.")
			return
		}
		s.message("Sandbox         "+s.client.baseURL+", "+owner, "Signing secret  on stdout")
	} else {
		s.message("Sandbox         "+s.client.baseURL+", "+owner, "Signing secret  "+l.Secret)
	}
	s.message("Ready: "+s.matching()+" "+s.goes()+". Ctrl-C ends it.", "")
}

// tellExpired tells the new secret.
func (s *listening) tellExpired() {
	l := s.listener.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.p.asJSON:
		s.encode(readyLine{"ready", l.ID, l.Secret, s.matched(), s.client.baseURL, s.forwardTo})
		return
	case s.printSecret:
		fmt.Fprintln(s.p.stdout, l.Secret)
	}
	secret := l.Secret
	if s.printSecret {
		secret = "on stdout"
	}
	s.message("The listener had expired: the sandbox had not heard of it for a minute. A new one is there, with another secret.",
		"Signing secret  "+secret,
		"What happened in between is in the feed: "+s.p.ourselves()+" tail events --since 10m"+s.client.flags)
}

// matched are the patterns that the sandbox was given.
func (s *listening) matched() []string {
	if s.types == nil {
		return []string{domain.AllEvents}
	}
	return s.types
}

// matching is the same in words.
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

// attemptLine is an attempt as a script learns of it.
type attemptLine struct {
	Kind              string          `json:"kind"` // attempt
	Time              string          `json:"time"`
	EventID           string          `json:"event_id"`
	EventType         string          `json:"event_type"`
	DeliveryID        string          `json:"delivery_id,omitempty"`
	WebhookDeliveryID string          `json:"webhook_delivery_id"`
	Attempt           int             `json:"attempt"`
	Succeeded         bool            `json:"succeeded"`
	StatusCode        int             `json:"status_code,omitempty"`
	ErrorClass        string          `json:"error_class,omitempty"`
	DurationMS        int64           `json:"duration_ms"`
	ResponseExcerpt   string          `json:"response_excerpt,omitempty"`
	Payload           json.RawMessage `json:"payload,omitempty"`
}

func (s *listening) tell(w *incomingWebhook, r domain.WebhookResult) {
	delivery := w.payload.Data.Delivery.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.p.asJSON {
		line := attemptLine{
			"attempt", domain.FormatTime(s.last), w.EventID, w.EventType, delivery, w.WebhookDeliveryID, w.Attempt,
			r.Succeeded(), r.StatusCode, string(r.Error), r.Duration.Milliseconds(), r.Excerpt, nil,
		}
		if json.Valid([]byte(w.Body)) {
			line.Payload = json.RawMessage(w.Body)
		}
		if s.forwardTo == "" {
			line.StatusCode = 0 // nobody answered
		}
		s.encode(line)
		return
	}
	outcome := "received"
	if s.forwardTo != "" {
		outcome = s.outcome(r) + ", " + milliseconds(r.Duration)
	}
	if w.Attempt > 1 {
		outcome += ", attempt " + strconv.Itoa(w.Attempt)
	}
	fmt.Fprintf(s.lines, "%s  %-20s  %s  %s\n", clockTime(domain.FormatTime(s.last)), plainText(w.EventType), cmp.Or(plainText(delivery), "-"), outcome)
}

func (s *listening) encode(line any) {
	encoder := json.NewEncoder(s.p.stdout)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(line) // a closed pipe ends the program by itself
}

// outcome is the status, or why there is none.
func (s *listening) outcome(r domain.WebhookResult) string {
	switch r.Error {
	case domain.ErrorRefused:
		return "POST refused: nothing listens on " + s.host
	case domain.ErrorDNS:
		return "POST failed: this machine does not know the host of " + s.host
	case domain.ErrorBlockedIP:
		return "POST not sent: " + s.host + " has a reserved address"
	case domain.ErrorReset:
		return "POST failed: the connection broke off before an answer"
	case domain.ErrorTLS:
		return "POST failed: no TLS with " + s.host + " (is it https there, with a certificate that is trusted here?)"
	case domain.ErrorTimeoutConnect:
		return "POST failed: no connection to " + s.host + " in time"
	case domain.ErrorTimeoutResponse:
		return "POST failed: no answer within 15 s"
	case domain.ErrorBodyTooLarge:
		return "POST failed: the headers of the answer are too large"
	}
	told := strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode))
	if r.Error == domain.ErrorRedirect {
		told += " (redirects are not followed)"
	}
	return told
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + " ms" }

// plainText is a text of strangers as it may be shown on a terminal.
func plainText(text string) string {
	const most = 80
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text))
	if len(shown) > most {
		return string(shown[:most]) + "..."
	}
	return string(shown)
}

// beat says why nothing comes, while nothing comes.
func (s *listening) beat(ctx context.Context) {
	if s.p.asJSON {
		return
	}
	for {
		s.mu.Lock()
		since := s.last
		s.mu.Unlock()
		if quiet := time.Since(since); quiet < heartbeat {
			if !sleep(ctx, heartbeat-quiet) {
				return
			}
			continue
		}
		why := s.whyNothing(ctx, since)
		s.mu.Lock()
		if s.last.Equal(since) { // nothing came meanwhile
			s.last = time.Now()
			if why != "" && ctx.Err() == nil {
				s.message(why)
			}
		}
		s.mu.Unlock()
	}
}

// whyNothing looks in the feed for what was not asked for. It is empty while
// the service is away, which is told otherwise.
func (s *listening) whyNothing(ctx context.Context, since time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	answer, err := s.client.attempt(ctx, get("/events?limit=100&created_after="+url.QueryEscape(domain.FormatTime(since.Add(s.skew)))))
	if answer.status == 0 {
		return ""
	}
	var events []webhookPayload
	if err == nil {
		err = answer.decode(&events)
	}
	quiet := "no events for " + strconv.Itoa(int(heartbeat.Seconds())) + " s; listening for " + strings.Join(s.matched(), ", ")
	mask, _ := domain.MaskOfPatterns(s.matched())
	others := map[string]bool{}
	for _, e := range events {
		if domain.MaskOf(domain.EventType(e.Type))&mask == 0 {
			others[plainText(e.Type)] = true
		}
	}
	if err == nil && len(others) > 0 {
		names := slices.Sorted(maps.Keys(others))
		return quiet + ", and what happened was " + strings.Join(names[:min(len(names), len(domain.EventTypes()))], ", ")
	}
	return quiet + s.whatToTry(mask)
}

// whatToTry names a scenario that makes an event of those listened for.
func (s *listening) whatToTry(mask domain.EventMask) string {
	for _, scenario := range append([]domain.Scenario{domain.ScenarioDelivered}, domain.Scenarios()...) {
		makes := domain.MaskOf(domain.DeliveryEventTypes()[0]) // it books
		for _, step := range scenario.Steps() {
			makes |= domain.MaskOf(domain.EventType("delivery." + string(step.To)))
		}
		if makes&mask != 0 {
			return "; try: " + s.p.ourselves() + " trigger " + string(scenario) + s.client.flags
		}
	}
	return "; deliveries make none of these"
}
