package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/web/views"
	"waybill/domain"
)

func (p *Commands) webhook() *cobra.Command {
	return term.Group("webhook", "Webhooks of an application: list, attempts, resend", p.webhookList(), p.webhookAttempts(), p.webhookResend())
}

// owner is the application and environment that a command is about.
type owner struct{ app, env string }

func (f *owner) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.app, "app", "", "ID of the application")
	term.AddEnvFlag(cmd, &f.env)
}

// read returns the owner as it was typed. The business is not known yet.
func (f *owner) read(cmd *cobra.Command) (t domain.Tenant, err error) {
	if err := term.Required(cmd, "app", "env"); err != nil {
		return t, err
	}
	if t.ApplicationID, err = term.ParseID(cmd, "an application", domain.PrefixApplication, f.app); err != nil {
		return t, err
	}
	t.Environment, err = term.ParseEnvironment(cmd, f.env)
	return t, err
}

// found fills in the business of the application.
func (o *UseCases) found(ctx context.Context, t domain.Tenant) (domain.Tenant, error) {
	app, err := o.Store.Read().Tenancy.Application(ctx, t.ApplicationID)
	t.BusinessID = app.BusinessID
	return t, term.Unknown(err, "application", t.ApplicationID)
}

// withWebhook runs a command about the one webhook that its argument names.
func (f *owner) withWebhook(p *Commands, work func(ctx context.Context, o *UseCases, t domain.Tenant,
	id domain.ID) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		t, err := f.read(cmd)
		if err != nil {
			return err
		}
		id, err := term.ParseID(cmd, "a webhook delivery", domain.PrefixWebhookDelivery, args[0])
		if err != nil {
			return err
		}
		return p.withUseCases(cmd, func(o *UseCases) error {
			t, err := o.found(cmd.Context(), t)
			if err != nil {
				return err
			}
			return work(cmd.Context(), o, t, id)
		})
	}
}

func (p *Commands) webhookList() *cobra.Command {
	var (
		of               owner
		endpoint, status string
	)
	cmd := &cobra.Command{
		Use:   "list --app ID --env live|sandbox [--endpoint ID [--status STATUS]]",
		Short: "List the endpoints of an application, or the last 100 webhooks of one",
		Example: `  waybill webhook list --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live
  waybill webhook list --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live --endpoint whe_0198f3b0a1c27d33a4f5e6b7c8d90a1b --status failed`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := of.read(cmd)
			if err != nil {
				return err
			}
			if endpoint == "" {
				if status != "" {
					return term.Usagef(cmd, "--status needs --endpoint")
				}
				return p.withUseCases(cmd, func(o *UseCases) error { return p.showEndpoints(cmd.Context(), o, t) })
			}
			id, err := term.ParseID(cmd, "a webhook endpoint", domain.PrefixWebhookEndpoint, endpoint)
			if err != nil {
				return err
			}
			if status != "" && !slices.Contains(domain.WebhookStatuses(), domain.WebhookStatus(status)) {
				return term.Usagef(cmd, "--status is %q; there are %s", status, term.Joined(domain.WebhookStatuses()))
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				return p.showSent(cmd.Context(), o, t, id, domain.WebhookDeliveryFilter{Status: domain.WebhookStatus(status)})
			})
		},
	}
	of.flags(cmd)
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "ID of an endpoint, to list what was sent to it")
	cmd.Flags().StringVar(&status, "status", "", term.Joined(domain.WebhookStatuses()))
	return cmd
}

func (p *Commands) showEndpoints(ctx context.Context, o *UseCases, t domain.Tenant) error {
	t, err := o.found(ctx, t)
	if err != nil {
		return err
	}
	endpoints, err := o.Webhooks.List(ctx, t, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
	if err != nil {
		return err
	}
	shown := make([]views.WebhookEndpoint, 0, len(endpoints))
	for _, e := range endpoints {
		shown = append(shown, views.NewWebhookEndpoint(e))
	}
	now := domain.FormatTime(time.Now())
	if err := p.Show(shown, func(w io.Writer) {
		term.Row(w, "ID", "STATUS", "REASON", "FAILING SINCE", "EVENTS", "URL")
		for _, v := range shown {
			term.Row(w, v.ID, endpointStatus(v, now), cmp.Or(v.DisabledReason, "-"), term.Dash(v.FailingSince), strings.Join(v.EventTypes, ","),
				v.URL)
		}
	}); err != nil || p.AsJSON {
		return err
	}
	// Held ones are not counted here: their index also holds failed ones, of which there
	// may be any number.
	if slices.ContainsFunc(shown, func(v views.WebhookEndpoint) bool { return !v.Enabled }) {
		fmt.Fprintln(p.Stderr, "What is held for a disabled endpoint: add --endpoint ID --status held. It is sent after the application\n"+
			`has enabled the endpoint and asked for it: POST /webhook-endpoints/ID/recover {"since": "...", "only": "held"}`)
	}
	return nil
}

// endpointStatus returns the status and, if sending is paused, until when.
func endpointStatus(v views.WebhookEndpoint, now string) string {
	if v.Enabled && v.PausedUntil != nil && *v.PausedUntil > now {
		return v.Status + ", paused until " + *v.PausedUntil
	}
	return v.Status
}

// unknownWebhook says which webhook is missing, whose it would be, and which webhook list, with
// more of its flags, shows the existing ones.
func unknownWebhook(err error, t domain.Tenant, what, flags string) error {
	if !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	return &domain.Error{
		Kind: domain.KindNotFound, Code: domain.CodeNotFound,
		Message: fmt.Sprintf("No %s in this database for %s (%s); `waybill webhook list%s` shows them.", what, t.ApplicationID, t.Environment,
			flags),
	}
}

func (p *Commands) showSent(ctx context.Context, o *UseCases, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter) error {
	t, err := o.found(ctx, t)
	if err != nil {
		return err
	}
	sent, err := o.Webhooks.Deliveries(ctx, t, endpoint, f, domain.PageRequest{Limit: listPage})
	if err != nil {
		return unknownWebhook(err, t, "webhook endpoint "+string(endpoint), "")
	}
	shown := make([]views.WebhookDelivery, 0, len(sent))
	for _, d := range sent[:min(len(sent), listPage)] {
		shown = append(shown, views.NewWebhookDelivery(d))
	}
	return p.Show(shown, func(w io.Writer) {
		sentHeader(w)
		for _, v := range shown {
			sentRow(w, v)
		}
	})
}

func sentHeader(w io.Writer) {
	term.Row(w, "ID", "STATUS", "ATTEMPTS", "NEXT ATTEMPT", "EVENT", "DELIVERY", "CREATED")
}

func sentRow(w io.Writer, v views.WebhookDelivery) {
	term.Row(w, v.ID, v.Status, strconv.Itoa(v.Attempts), term.Dash(v.NextAttemptAt), v.EventType, cmp.Or(v.DeliveryID, "-"), v.CreatedAt)
}

func (p *Commands) webhookAttempts() *cobra.Command {
	var of owner
	cmd := &cobra.Command{
		Use: "attempts ID --app ID --env live|sandbox", Short: "List the attempts to send one webhook",
		Example: "  waybill webhook attempts whd_0198f3a27c4e7b23a1d4c8e9f0b51a60 --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live",
		Args:    term.Takes("ID"),
		RunE: of.withWebhook(p, func(ctx context.Context, o *UseCases, t domain.Tenant, id domain.ID) error {
			attempts, err := o.Webhooks.Attempts(ctx, t, id)
			if err != nil {
				return unknownWebhook(err, t, "webhook "+string(id), " --endpoint ID")
			}
			shown := make([]views.WebhookAttempt, 0, len(attempts))
			for _, a := range attempts {
				shown = append(shown, views.NewWebhookAttempt(a))
			}
			return p.Show(shown, func(w io.Writer) {
				term.Row(w, "ATTEMPT", "STARTED", "TRIGGER", "STATUS", "ERROR", "MS", "NEXT ATTEMPT")
				for _, v := range shown {
					term.Row(w, strconv.Itoa(v.Attempt), v.StartedAt, v.Trigger, statusCode(v.StatusCode), cmp.Or(v.ErrorClass, "-"),
						strconv.FormatInt(v.DurationMS, 10), term.Dash(v.NextAttemptAt))
				}
			})
		}),
	}
	of.flags(cmd)
	return cmd
}

// statusCode formats the status of a response; 0: there was none.
func statusCode(code int) string {
	if code == 0 {
		return "-"
	}
	return strconv.Itoa(code)
}

func (p *Commands) webhookResend() *cobra.Command {
	var of owner
	cmd := &cobra.Command{
		Use: "resend ID --app ID --env live|sandbox", Short: "Send one webhook once more, now",
		Example: "  waybill webhook resend whd_0198f3a27c4e7b23a1d4c8e9f0b51a60 --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live",
		Args:    term.Takes("ID"),
		RunE: of.withWebhook(p, func(ctx context.Context, o *UseCases, t domain.Tenant, id domain.ID) error {
			d, err := o.Webhooks.Resend(ctx, p.OperatorHere(), t, id)
			if err != nil {
				return unknownWebhook(err, t, "webhook "+string(id), " --endpoint ID")
			}
			v := views.NewWebhookDelivery(d)
			return p.Show(v, func(w io.Writer) { sentHeader(w); sentRow(w, v) })
		}),
	}
	of.flags(cmd)
	return cmd
}
