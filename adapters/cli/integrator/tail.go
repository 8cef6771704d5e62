package integrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// tailEvery is the polling interval for new events. A request that finds none does not count
// against the rate limit.
const tailEvery = 500 * time.Millisecond

// keptDays is how many days the feed goes back.
const keptDays = int(domain.RecoverableFor / (24 * time.Hour))

func (p *Commands) tail() *cobra.Command {
	return term.Group("tail", "Tail what happens in a sandbox: events, or attempts to send them", p.tailEvents(), p.tailAttempts())
}

func (p *Commands) tailEvents() *cobra.Command {
	var (
		a                     access
		since, kind, delivery string
	)
	cmd := &cobra.Command{
		Use: "events", Short: "Tail the feed of events",
		Long: "Tail the feed of events, from now on or from some time ago, until Ctrl-C. With --json each line\n" +
			"is the payload of an event, as webhooks carry it.\n\nTypes: " + term.Joined(domain.DeliveryEventTypes()),
		Example: `  waybill tail events
  waybill tail events --since 1h --type delivery.failed
  waybill tail events --delivery dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847 --since 30d --json`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {"100"}}
			var back time.Duration
			if since != "" {
				var err error
				if back, err = domain.ParseLifetime(since); err != nil {
					return term.Usagef(cmd, "--since is %q; it is a number and a unit, such as 90s, 2h or 30d", since)
				}
				if back > domain.RecoverableFor {
					return term.Usagef(cmd, "--since is %q; events are kept for %d days: --since %dd is the longest", since, keptDays, keptDays)
				}
			}
			if kind != "" {
				if !slices.Contains(domain.DeliveryEventTypes(), domain.EventType(kind)) {
					return term.Usagef(cmd, "%q is no type in the feed. There are %s", kind, term.Joined(domain.DeliveryEventTypes()))
				}
				query.Set("type", kind)
			}
			if delivery != "" {
				if _, err := term.ParseID(cmd, "a delivery", domain.PrefixDelivery, delivery); err != nil {
					return err
				}
				query.Set("delivery_id", delivery)
			}
			c, err := p.sandbox(cmd, a)
			if err != nil {
				return err
			}
			return quietly(cmd.Context(), p.tailFeed(cmd.Context(), c, query, back))
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "how long ago to begin, such as 90s, 2h or 30d (without it: now)")
	cmd.Flags().StringVar(&kind, "type", "", "only events of this type")
	cmd.Flags().StringVar(&delivery, "delivery", "", "only events of the delivery with this ID")
	a.addFlags(cmd)
	return cmd
}

// quietly ends a command that only a Ctrl-C ends, without an error.
func quietly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// serverNow returns the time by the clock of the server, as exactly as possible.
func (c *apiClient) serverNow(ctx context.Context) (time.Time, error) {
	answer, err := c.send(ctx, get("/api-key"))
	return time.Now().Add(skewOf(answer.serverAt)), err
}

// tailFeed prints events until ctx ends. It keeps its position in the feed through outages, so
// that no event is missed or printed twice.
func (p *Commands) tailFeed(ctx context.Context, c *apiClient, query url.Values, back time.Duration) error {
	now, err := c.serverNow(ctx)
	if err != nil {
		return err
	}
	began := domain.FormatTime(now.Add(-back))
	query.Set("created_after", began)
	fmt.Fprintln(p.Stderr, "Tailing events from "+began+" on; Ctrl-C ends it.")
	look := get("").tirelessly()
	for {
		look.Path = "/events?" + query.Encode()
		events, answer, err := ask[[]json.RawMessage](ctx, c, look)
		if waybillapi.HasCode(err, waybillapi.CodeCursorExpired) {
			fmt.Fprintln(p.Stderr, "The events from where this was are gone; beginning again at "+began+", so that some may come twice.")
			query.Del("cursor")
			look.known = ""
			continue
		}
		if err != nil {
			return err
		}
		look.known = answer.etag
		for _, e := range events {
			p.printEvent(e)
		}
		moved := answer.page.ResumeCursor != "" && answer.page.ResumeCursor != query.Get("cursor")
		if moved {
			query.Set("cursor", answer.page.ResumeCursor)
			look.known = "" // of another page
		}
		if answer.page.HasMore && moved && len(events) > 0 { // after an empty page of a filter it continues at its pace
			continue
		}
		if !sleep(ctx, tailEvery) {
			return nil
		}
	}
}

// printEvent prints a line for people, or the payload to the byte.
func (p *Commands) printEvent(raw json.RawMessage) {
	if p.AsJSON {
		if bytes.ContainsAny(raw, "\r\n") { // one line each, whatever a server sends
			var compact bytes.Buffer
			_ = json.Compact(&compact, raw) // it was parsed already
			raw = compact.Bytes()
		}
		fmt.Fprintf(p.Stdout, "%s\n", raw)
		return
	}
	var e waybillapi.WebhookEvent
	_ = json.Unmarshal(raw, &e) // an invalid one shows as empty
	line := fmt.Sprintf("%s  %-20s  %s  %2d", clockTime(e.Timestamp), term.PlainText(string(e.Type)), term.PlainText(deliveryOf(&e)),
		e.Sequence)
	if e.Data.ReasonCode != "" {
		line += "  " + term.PlainText(string(e.Data.ReasonCode))
	}
	fmt.Fprintln(p.Stdout, line)
}
