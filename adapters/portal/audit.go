package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

const auditPage = 50

// actionTexts are what was done, in words.
var actionTexts = map[domain.Action]string{
	domain.ActionBusinessCreate: "Business created", domain.ActionBusinessUpdate: "Business changed",
	domain.ActionApplicationCreate: "Application created", domain.ActionApplicationDisable: "Application disabled", domain.ActionApplicationEnable: "Application enabled",
	domain.ActionKeyCreate: "Key created", domain.ActionKeyRotate: "Key rotated", domain.ActionKeyRevoke: "Key revoked",
	domain.ActionPickupCreate: "Pickup location created", domain.ActionPickupUpdate: "Pickup location changed", domain.ActionPickupImport: "Pickup locations imported",
	domain.ActionDeliveryAdvance: "Delivery moved by the delivery company",
	domain.ActionDeliveryCancel:  "Delivery cancelled", domain.ActionDeliveryMove: "Sandbox delivery moved", domain.ActionDeliverySimulate: "Simulation started",
	domain.ActionWebhookResend: "Webhooks sent again",
	domain.ActionPersonInvite:  "Person invited", domain.ActionPersonLink: "Sign-in link made", domain.ActionPersonAccept: "Invitation accepted",
	domain.ActionPersonRole: "Role changed", domain.ActionPersonRemove: "Person removed", domain.ActionPersonSignIn: "Signed in",
	domain.ActionPersonPassword: "Password set", domain.ActionPersonEndSessions: "Sessions ended",
	domain.ActionPasskeyAdd: "Passkey added", domain.ActionPasskeyRename: "Passkey renamed", domain.ActionPasskeyRemove: "Passkey removed",
}

// auditDetails are the details that are shown, in this order.
var auditDetails = []string{"name", "role", "before", "environment", "scopes", "successor", "method", "changed", "status", "reason_code", "ended"}

type auditView struct {
	Action  pages.Field
	Entries []entryView
	Older   string // the next page; empty: there is none
}

type entryView struct {
	ID, By, What, Target string
	Details              []string
	At                   time.Time
}

func (p *Portal) listAudit(c *call) error {
	f := domain.AuditFilter{Action: domain.Action(c.Query("action"))}
	page := domain.PageRequest{Limit: auditPage}
	if before, err := domain.ParseID(domain.PrefixAuditEntry, c.Query("before")); err == nil {
		page.After = &domain.Position{ID: before}
	}
	if f.Action != "" && !slices.Contains(domain.Actions(), f.Action) {
		return domain.ErrNotFound
	}
	entries, err := p.Audit.EntriesOfBusiness(c.ctx(), c.business(), f, page)
	if err != nil {
		return err
	}
	v := auditView{Action: pages.Field{ID: "action", Name: "action", Label: "What was done", Options: []pages.Option{{Value: "", Text: "Everything"}}}}
	for _, a := range domain.Actions() {
		if text := actionTexts[a]; text != "" {
			v.Action.Options = append(v.Action.Options, pages.Option{Value: string(a), Text: text, Chosen: a == f.Action})
		}
	}
	if len(entries) > auditPage {
		entries = entries[:auditPage]
		older := url.Values{"before": {string(entries[auditPage-1].ID)}}
		if f.Action != "" {
			older.Set("action", string(f.Action))
		}
		v.Older = "/audit?" + older.Encode()
	}
	for _, e := range entries {
		shown := entryView{ID: string(e.ID), By: actorName(e.Actor), What: actionTexts[e.Action], Target: string(e.Target), At: e.At}
		if shown.What == "" {
			shown.What = string(e.Action)
		}
		for _, name := range auditDetails {
			if value := strings.ReplaceAll(e.Details[name], ",", ", "); value != "" {
				shown.Details = append(shown.Details, strings.ReplaceAll(name, "_", " ")+" "+value)
			}
		}
		v.Entries = append(v.Entries, shown)
	}
	return p.show(c, http.StatusOK, "audit", "Audit log", v)
}
