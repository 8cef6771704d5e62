package integrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

const (
	// attemptsEvery is the polling interval for new attempts. With many endpoints it is longer,
	// callEvery for each request of a round, so that half of the usual rate limit is left to
	// others.
	attemptsEvery = 2 * time.Second
	callEvery     = 200 * time.Millisecond
	// mostPages limits the pages of one list that are read in a round.
	mostPages = 10
	// lookBack is how long webhooks are polled after their creation. Those that still wait for
	// an attempt are polled until it is made.
	lookBack = 5 * time.Minute
)

func (p *Commands) tailAttempts() *cobra.Command {
	var (
		a        access
		endpoint string
	)
	cmd := &cobra.Command{
		Use: "attempts", Short: "Tail the attempts to send webhooks to endpoints",
		Long: "Tail the attempts to send webhooks to endpoints, all of them or one, from now on and until Ctrl-C.\n" +
			"Those of waybill listen are shown by itself.",
		Example: `  waybill tail attempts
  waybill tail attempts --endpoint whe_0198f3a27c4e7b1d9a6e5c2f10d3b847 --json`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if endpoint != "" {
				if _, err := term.ParseID(cmd, "a webhook endpoint", domain.PrefixWebhookEndpoint, endpoint); err != nil {
					return err
				}
			}
			c, err := p.sandbox(cmd, a)
			if err != nil {
				return err
			}
			f := &attemptTail{p: p, client: c, endpoint: endpoint, logs: map[string]*attemptLog{}}
			return quietly(cmd.Context(), f.run(cmd.Context()))
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only attempts to reach the endpoint with this ID")
	a.addFlags(cmd)
	return cmd
}

// attemptTail polls endpoints in rounds. The API has no feed of attempts: it requests the
// attempts of each webhook whose count has grown.
type attemptTail struct {
	p        *Commands
	client   *apiClient
	endpoint string                 // empty: all
	logs     map[string]*attemptLog // by endpoint
	lonely   bool                   // it was reported that there is none
}

// attemptLog holds what was seen of one endpoint.
type attemptLog struct {
	since time.Time // the creation of the oldest webhooks that are polled
	seen  map[string]*seenWebhook
}

// seenWebhook is a webhook with the attempts that were printed, or made before.
type seenWebhook struct {
	waybillapi.WebhookDelivery
	printed int
}

// AttemptRecord is an attempt with its event and endpoint.
type AttemptRecord struct {
	EndpointID        string          `json:"endpoint_id"`
	WebhookDeliveryID string          `json:"webhook_delivery_id"`
	EventType         string          `json:"event_type"`
	DeliveryID        string          `json:"delivery_id,omitempty"`
	Attempt           json.RawMessage `json:"attempt"`

	view waybillapi.WebhookAttempt
}

func (f *attemptTail) run(ctx context.Context) error {
	now, err := f.client.serverNow(ctx)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		endpoints, err := f.endpoints(ctx)
		if err != nil {
			return err
		}
		f.forget(endpoints)
		if len(endpoints) == 0 && !f.lonely && !f.p.AsJSON {
			f.lonely = true
			fmt.Fprintln(f.p.Stderr, "There is no webhook endpoint yet; what is sent to one shows here as soon as there is. Register it: POST "+
				f.client.baseURL+"/webhook-endpoints")
		}
		for _, id := range endpoints {
			log := f.logs[id]
			if log == nil {
				log = &attemptLog{since: now, seen: map[string]*seenWebhook{}}
				f.logs[id] = log
			}
			fresh, err := f.look(ctx, id, log, first)
			if isGone(err) && f.endpoint == "" {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			f.print(fresh)
		}
		if first && !f.lonely {
			fmt.Fprintln(f.p.Stderr, "Tailing attempts; Ctrl-C ends it.")
		}
		if !sleep(ctx, max(attemptsEvery, time.Duration(1+2*len(endpoints))*callEvery)) {
			return nil
		}
	}
}

func (f *attemptTail) endpoints(ctx context.Context) ([]string, error) {
	if f.endpoint != "" {
		return []string{f.endpoint}, nil
	}
	call := get("/webhook-endpoints?limit=" + strconv.Itoa(domain.MaxWebhookEndpoints)).tirelessly()
	found, _, err := ask[[]waybillapi.WebhookEndpoint](ctx, f.client, call)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range found[:min(len(found), domain.MaxWebhookEndpoints)] {
		if _, err := domain.ParseID(domain.PrefixWebhookEndpoint, e.ID); err == nil {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// forget drops the state of endpoints that are gone.
func (f *attemptTail) forget(present []string) {
	for id := range f.logs {
		if !slices.Contains(present, id) {
			delete(f.logs, id)
		}
	}
}

// look returns the attempts that are new since the last round. The first round only records
// earlier attempts.
func (f *attemptTail) look(ctx context.Context, endpoint string, log *attemptLog, first bool) ([]AttemptRecord, error) {
	path := "/webhook-endpoints/" + endpoint + "/deliveries?limit=100&"
	waiting, err := f.list(ctx, path+"status=pending")
	if err != nil {
		return nil, err
	}
	recent, err := f.list(ctx, path+"created_after="+url.QueryEscape(domain.FormatTime(log.since)))
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for i, d := range append(waiting, recent...) {
		present[d.ID] = true
		if s := log.seen[d.ID]; s != nil {
			s.WebhookDelivery = d
			continue
		}
		s := &seenWebhook{WebhookDelivery: d}
		if i < len(waiting) && d.CreatedAt.Before(log.since) || first {
			s.printed = d.Attempts // an old one; requested attempts are still to come
		}
		log.seen[d.ID] = s
	}
	var fresh []AttemptRecord
	for id, s := range log.seen {
		ended := s.Status == waybillapi.WebhookDeliveryStatusPending && !present[id]
		if s.Attempts <= s.printed && !ended {
			continue
		}
		made, err := f.attempts(ctx, endpoint, s)
		switch {
		case isGone(err):
			delete(log.seen, id)
			continue
		case err != nil:
			return nil, err
		}
		fresh = append(fresh, made...)
		if ended {
			delete(log.seen, id)
		}
	}
	log.prune(recent, present)
	sort.Slice(fresh, func(i, j int) bool {
		a, b := &fresh[i].view, &fresh[j].view
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.ID, b.ID)) < 0
	})
	return fresh, nil
}

// list reads the pages of a list of webhooks, newest first.
func (f *attemptTail) list(ctx context.Context, path string) ([]waybillapi.WebhookDelivery, error) {
	var all []waybillapi.WebhookDelivery
	cursor := ""
	for range mostPages {
		found, answer, err := ask[[]waybillapi.WebhookDelivery](ctx, f.client, get(path+cursor).tirelessly())
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if _, err := domain.ParseID(domain.PrefixWebhookDelivery, d.ID); err == nil {
				all = append(all, d)
			}
		}
		if !answer.page.HasMore || answer.page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(answer.page.NextCursor)
	}
	return all, nil
}

// attempts returns the attempts of a webhook that were not printed.
func (f *attemptTail) attempts(ctx context.Context, endpoint string, s *seenWebhook) ([]AttemptRecord, error) {
	made, _, err := ask[[]json.RawMessage](ctx, f.client, get("/webhook-deliveries/"+s.ID+"/attempts").tirelessly())
	if err != nil {
		return nil, err
	}
	var fresh []AttemptRecord
	last := s.printed
	for _, raw := range made {
		r := AttemptRecord{EndpointID: endpoint, WebhookDeliveryID: s.ID, EventType: string(s.EventType), DeliveryID: s.DeliveryID, Attempt: raw}
		if err := json.Unmarshal(raw, &r.view); err != nil {
			return nil, errors.New("an attempt cannot be read")
		}
		if r.view.Attempt > s.printed {
			fresh, last = append(fresh, r), max(last, r.view.Attempt)
		}
	}
	s.printed = max(last, s.Attempts)
	return fresh, nil
}

// prune forgets webhooks that ended some time ago, and moves the start on.
func (l *attemptLog) prune(recent []waybillapi.WebhookDelivery, present map[string]bool) {
	newest := time.Time{}
	for _, d := range recent {
		if d.CreatedAt.After(newest) {
			newest = d.CreatedAt
		}
	}
	if since := newest.Add(-lookBack); since.After(l.since) {
		l.since = since
	}
	for id, s := range l.seen {
		if s.Status != waybillapi.WebhookDeliveryStatusPending && (s.CreatedAt.Before(l.since) || !present[id]) {
			delete(l.seen, id)
		}
	}
}

func (f *attemptTail) print(fresh []AttemptRecord) {
	for _, r := range fresh {
		if f.p.AsJSON {
			f.p.sayRecord(r)
			continue
		}
		fmt.Fprintln(f.p.Stdout, r.line())
	}
}

// line formats the attempt for people.
func (r AttemptRecord) line() string {
	outcome := string(r.view.ErrorClass)
	if r.view.StatusCode != 0 {
		outcome = statusLine(r.view.StatusCode)
	}
	line := fmt.Sprintf("%s  %s  %s  %s, %d ms, attempt %d", clockTime(r.view.StartedAt), aboutEvent(r.EventType, r.DeliveryID), r.EndpointID,
		term.PlainText(outcome), r.view.DurationMs, r.view.Attempt)
	if r.view.Trigger != waybillapi.WebhookAttemptTriggerSchedule {
		line += " (" + term.PlainText(string(r.view.Trigger)) + ")"
	}
	if r.view.NextAttemptAt != nil {
		line += ", next at " + clockTime(*r.view.NextAttemptAt)
	}
	return line
}
