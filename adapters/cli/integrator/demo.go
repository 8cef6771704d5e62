package integrator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/circuitbreaker"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// maxDemoDeliveries limits what one command books.
const maxDemoDeliveries = 10_000

func (p *Commands) demo() *cobra.Command {
	var (
		a              access
		count, seconds int
		scenario       string
	)
	cmd := &cobra.Command{
		Use: "demo", Short: "Play an integrator against a running sandbox: price, book, simulate, follow, take webhooks",
		Long: "Play an integrator against a running sandbox, of waybill dev or any other: ask for a price, book\n" +
			"a delivery, let a scenario move it, follow its timeline to the end, and take its webhooks, here and\n" +
			"without a public address. Every call is shown as a line for a shell, with its answer. With --deliveries it books that many, a " +
			"hundred to a request.\n\n" +
			"Scenarios:" + scenarioList(),
		Example: `  waybill demo
  waybill demo --scenario failed_then_retried --step-seconds 1
  waybill demo --deliveries 500
  WAYBILL_TEST_KEY_FILE=key waybill demo --url https://sandbox.example.com/v1`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := parsePlan(cmd, scenario, seconds)
			if err != nil {
				return err
			}
			if count < 1 || count > maxDemoDeliveries {
				return term.Usagef(cmd, "--deliveries is %d; it is 1 to %d", count, maxDemoDeliveries)
			}
			c, err := p.sandbox(cmd, a)
			if err != nil {
				return err
			}
			// Elsewhere a proxy may be in between. Here a check reports a missing server before
			// the introduction.
			if settings.OnThisMachine(c.baseURL) {
				if err := circuitbreaker.Listens(cmd.Context(), c.baseURL); err != nil {
					return c.unreachable(err)
				}
			}
			switch {
			case count == 1:
				return p.playOne(cmd.Context(), c, plan)
			case cmd.Flag("scenario").Changed:
				return p.bookMany(cmd.Context(), c, count, newSandboxRequest(plan))
			default:
				return p.bookMany(cmd.Context(), c, count, nil)
			}
		},
	}
	cmd.Flags().IntVar(&count, "deliveries", 1, "how many to book; more than one are booked and not followed")
	cmd.Flags().StringVar(&scenario, "scenario", string(domain.ScenarioDelivered),
		"what happens to the delivery; of many, each moves only where this is named")
	_ = cmd.RegisterFlagCompletionFunc("scenario", completeScenarios) // the flag exists
	addPaceFlag(cmd, &seconds)
	a.addFlags(cmd)
	return cmd
}

// nextWidth is the width of the longest command that is shown at the end.
const nextWidth = 58

// demoView is the whole demo for a script.
type demoView struct {
	Quote    json.RawMessage   `json:"quote"`
	Delivery json.RawMessage   `json:"delivery"` // at the end
	Events   []json.RawMessage `json:"events"`
	Webhooks []arrivalView     `json:"webhooks"`
}

// playOne shows the life of one delivery.
func (p *Commands) playOne(ctx context.Context, c *apiClient, plan domain.Plan) error {
	p.Say("A delivery in the sandbox at " + c.baseURL + ", from its price to its end.")
	if c.preparation != "" {
		p.Say("The calls can be pasted into a shell, after:  " + c.preparation)
	}
	run, order := settings.RandomHex()[:12], demoOrder(0)
	var v demoView

	trip := waybillapi.QuoteRequest{
		Pickup:      &waybillapi.Point{Latitude: order.Pickup.Latitude, Longitude: order.Pickup.Longitude},
		Dropoff:     waybillapi.Point{Latitude: order.Recipient.Address.Latitude, Longitude: order.Recipient.Address.Longitude},
		VehicleType: order.VehicleType,
	}
	quote, answer, err := play[waybillapi.Quote](ctx, p, c, "1. What does it cost? This reserves nothing.", "/quotes", "", trip)
	if err != nil {
		return err
	}
	v.Quote = answer.Data
	p.Say(answered(answer, priced(quote)))

	receiver, stopReceiving, err := p.receive(ctx, c)
	if err != nil {
		return err
	}
	defer stopReceiving()

	d, answer, err := play[waybillapi.Delivery](ctx, p, c, "3. Book it. The same call again gets the same answer, and books nothing twice.",
		"/deliveries", "demo-"+run+"-book", order)
	if err != nil {
		return err
	}
	p.Say(answered(answer, d.ID+" is "+string(d.Status)+", reference "+d.Reference))
	p.Say("  Its recipient follows it in a browser: " + d.TrackingURL)
	receiver.follow(d.ID)

	d, answer, err = play[waybillapi.Delivery](ctx, p, c, "4. Let a scenario move it: "+string(plan.Scenario)+".",
		"/test-helpers/deliveries/"+d.ID+"/simulation", "demo-"+run+"-move", newSandboxRequest(plan))
	if err != nil {
		return err
	}
	p.Say(answered(answer, simulated(d)))

	begun := time.Now()
	f, err := p.followAloud(ctx, c, "5. Follow it. Asking with If-None-Match costs nothing of the rate limit while nothing has changed.", d.ID,
		func(e waybillapi.DeliveryEvent) {
			p.sayEvent(e)
			receiver.eventShown(e.ID)
		})
	if err != nil {
		return err
	}
	v.Delivery, v.Events = f.raw, f.events
	v.Webhooks = receiver.await(ctx, len(f.events))
	p.Say("", fmt.Sprintf("%s after %.1f s; the simulation is %s.", f.delivery.Status, time.Since(begun).Seconds(),
		f.delivery.Simulation.Status), "",
		"Next")
	for _, next := range [][2]string{
		{"listen --forward-to http://localhost:3000/webhooks/waybill", "the webhooks, to a program of yours"},
		{"trigger failed_then_retried --wait", "another scenario; trigger --help lists them"},
		{"demo --deliveries 500", "many at once"},
	} {
		p.Say(fmt.Sprintf("  %s %-*s   %s", p.Ourselves(), nextWidth+len(c.flags), next[0]+c.flags, next[1]))
	}
	if link := c.portalLink; link != "" {
		p.Say("", "  Your keys, people and audit log, in a browser: "+link)
	}
	p.Say("", "  To verify the signatures in your own program: "+strings.TrimSuffix(c.baseURL, "/v1")+p.Docs+"/webhooks#verify-a-signature")
	if p.AsJSON {
		return p.Show(v, func(io.Writer) {})
	}
	return nil
}

// play shows a request that creates or moves something, and sends it.
func play[T any](ctx context.Context, p *Commands, c *apiClient, title, path, key string, body any) (T, apiAnswer, error) {
	call := post(path, key, body)
	p.Say("", title, "", indented(c.curl(call)), "")
	data, answer, err := ask[T](ctx, c, call)
	return data, answer, interrupted(ctx, err, "the call may have been answered or not; paste it to see")
}

// followAloud shows the requests that read a delivery, and each of its events.
func (p *Commands) followAloud(ctx context.Context, c *apiClient, title, id string, report func(waybillapi.DeliveryEvent)) (followed, error) {
	p.Say("", title, "", indented(c.curl(get("/deliveries/"+id))), indented(c.curl(get("/deliveries/"+id+"/events"))), "")
	f, err := c.follow(ctx, id, report)
	return f, interrupted(ctx, err, "the delivery goes on without us")
}

func indented(lines string) string { return "  " + strings.ReplaceAll(lines, "\n", "\n  ") }

func answered(a apiAnswer, what string) string {
	return "  -> " + strconv.Itoa(a.status) + ": " + what
}

// priced describes a quote in words.
func priced(q waybillapi.Quote) string {
	price := "a price is made by hand"
	if q.Fee != nil {
		price = fmt.Sprintf("%.2f %s", *q.Fee, q.Currency)
	}
	return fmt.Sprintf("%s, %v km (%s)", price, q.DistanceKm, q.DistanceSource)
}

// simulated describes a simulation in words.
func simulated(d waybillapi.Delivery) string {
	at, running := nextStep(&d)
	if !running {
		return string(d.Simulation.Status) + ", no steps: move it with POST /test-helpers/deliveries/" + d.ID + "/transition"
	}
	return fmt.Sprintf("%s, %d steps, the first at %s", d.Simulation.Status, d.Simulation.StepsTotal, clockTime(at))
}
