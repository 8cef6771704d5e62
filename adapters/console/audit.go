package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// The page size, the most entries of a file, and how many are read at a time for a file.
const (
	auditPage = 50
	auditFile = 10_000
	auditRead = 500
	maxTarget = 64 // characters of the searched record ID
)

// actionTexts maps actions to texts for staff, where these differ from the portal's.
var actionTexts = map[domain.Action]string{
	domain.ActionBusinessDisable: "Customer disabled", domain.ActionBusinessEnable: "Customer enabled",
	domain.ActionDeliveryAdvance: "Delivery moved", domain.ActionDeliveryCancel: "Delivery cancelled by its customer",
	domain.ActionOperatorCreate: "Operator token created", domain.ActionOperatorRevoke: "Operator token revoked",
	domain.ActionPersonDisable: "Account disabled", domain.ActionPersonEnable: "Account enabled",
	domain.ActionViewBegin: "View as customer started", domain.ActionViewEnd: "View as customer ended",
	domain.ActionSendingPause: "All webhooks paused", domain.ActionSendingResume: "All webhooks resumed",
	domain.ActionMailRetry: "Email retried", domain.ActionMailDrop: "Email deleted",
	domain.ActionTaskRetry: "Queued task retried", domain.ActionTaskDrop: "Queued task deleted",
	domain.ActionIdentityConnect: "Company account connected",
}

func actionText(a domain.Action) string {
	if text := actionTexts[a]; text != "" {
		return text
	}
	return pages.ActionText(domain.AuditEntry{AuditRecord: domain.AuditRecord{Action: a}})
}

// auditQuery holds the filter and page in the address.
type auditQuery struct {
	domain.AuditFilter
	business domain.ID
	page     domain.PageRequest
	values   url.Values
}

// auditFields lists the fields of the filter, in display order.
var auditFields = []string{"action", "actor", "business", "target", "since", "until"}

// readAudit reads the query from the address, and notes invalid values at their fields.
func readAudit(c *call) (q auditQuery) {
	q.values, q.page.Limit, c.Faults = url.Values{}, auditPage, map[string]string{}
	for _, name := range auditFields {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			q.values.Set(name, value)
		}
	}
	q.Action, q.Target = domain.Action(q.values.Get("action")), domain.ID(q.values.Get("target"))
	if q.Action != "" && !slices.Contains(domain.Actions(), q.Action) {
		c.Faults["action"] = "Choose an action from the list."
	}
	if len(q.Target) > maxTarget {
		c.Faults["target"] = "Enter an ID. This text is too long for one."
	}
	if text := q.values.Get("actor"); text != "" {
		q.ActorID = domain.ID(text)
		_, person := domain.ParseID(domain.PrefixPerson, text)
		if _, operator := domain.ParseID(domain.PrefixOperatorToken, text); person != nil && operator != nil {
			c.Faults["actor"] = "Enter the ID of a person (prs_...) or of an operator token (opr_...)."
		}
	}
	if text := q.values.Get("business"); text != "" {
		var err error
		if q.business, err = domain.ParseID(domain.PrefixBusiness, text); err != nil {
			c.Faults["business"] = "Enter a customer ID (biz_...)."
		}
	}
	for name, into := range map[string]**time.Time{"since": &q.Since, "until": &q.Until} {
		if text := q.values.Get(name); text != "" {
			if *into = pages.MomentOf(text); *into == nil {
				c.Faults[name] = "Enter a time in UTC, like 2026-03-14T12:00."
			}
		}
	}
	if before, err := domain.ParseID(domain.PrefixAuditEntry, c.Query("before")); err == nil {
		q.page.After = &domain.Position{ID: before}
	}
	return q
}

// href returns another page of the same query. An empty ID means the newest page.
func (q auditQuery) href(path string, before domain.ID) string {
	values := url.Values{}
	for name, v := range q.values {
		values[name] = v
	}
	if before != "" {
		values.Set("before", string(before))
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func (p *Console) auditEntries(c *call, q auditQuery) ([]domain.AuditEntry, error) {
	if q.business != "" {
		return p.Audit.EntriesOfBusiness(c.Ctx(), q.business, q.AuditFilter, q.page)
	}
	return p.Audit.Entries(c.Ctx(), q.AuditFilter, q.page)
}

type auditView struct {
	Filters *pages.Filters
	Entries []entryView
	Newest  string
	Older   string
	CSV     string
	Most    int64 // most entries of a file
	Wrong   bool
}

type entryView struct {
	ID, By, ByHref, What, Target, TargetHref, Business, BusinessHref, Request string
	BusinessName                                                              string // empty: unknown
	Details                                                                   []string
	At                                                                        time.Time
}

func (p *Console) listAudit(c *call) error {
	q := readAudit(c)
	v := auditView{Most: auditFile, Wrong: len(c.Faults) > 0, CSV: q.href(c.At("/audit.csv"), domain.ID(c.Query("before")))}
	action := pages.Field{ID: "action", Name: "action", Label: "Action", Error: c.Fault("action", "action", "Action"),
		Options: []pages.Option{{Text: "All actions"}}}
	for _, a := range domain.Actions() {
		action.Options = append(action.Options, pages.Option{Value: string(a), Text: actionText(a), Chosen: a == q.Action})
	}
	fields := []pages.Field{action}
	for _, f := range []pages.Field{
		{Name: "actor", Label: "Person or operator token ID"}, {Name: "business"},
		{Name: "target", Label: "Record ID"}, {Name: "since", Label: "From (UTC)", Type: "datetime-local"},
		{Name: "until", Label: "Until (UTC)", Type: "datetime-local"},
	} {
		f.Value = q.values.Get(f.Name)
		if f.Type != "" { // browsers accept only this layout in a time field
			f.Value = ""
			if at := pages.MomentOf(q.values.Get(f.Name)); at != nil {
				f.Value = at.Format(pages.OfMinute)
			}
		}
		if f = c.Field(f); f.Name == "business" {
			f = p.customerField(c, f)
		}
		fields = append(fields, f)
	}
	v.Filters = pages.NewFilters(c.At("/audit"), q.values, nil, fields)
	c.Widen()
	if v.Wrong {
		return p.Show(c, http.StatusUnprocessableEntity, "audit", "Audit log", v)
	}
	entries, err := p.auditEntries(c, q)
	if err != nil {
		return err
	}
	if q.page.After != nil {
		v.Newest = q.href(c.At("/audit"), "")
	}
	if len(entries) > auditPage {
		entries = entries[:auditPage]
		v.Older = q.href(c.At("/audit"), entries[auditPage-1].ID)
	}
	var ids []domain.ID
	for _, e := range entries {
		ids = append(ids, e.BusinessID)
	}
	names, err := p.Requests.BusinessNames(c.Ctx(), ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		shown := showEntry(c, e)
		shown.BusinessName = names[e.BusinessID]
		v.Entries = append(v.Entries, shown)
	}
	return p.Show(c, http.StatusOK, "audit", "Audit log", v)
}

// ShortTarget returns the kind and the end of a long ID, so that an entry has one line.
func (e entryView) ShortTarget() string {
	if kind, _, found := strings.Cut(e.Target, "_"); found && len(e.Target) > 20 {
		return kind + "_…" + e.Target[len(e.Target)-6:]
	}
	return e.Target
}

func showEntry(c *call, e domain.AuditEntry) entryView {
	only := func(name string, id domain.ID) string {
		return c.At("/audit?" + url.Values{name: {string(id)}}.Encode())
	}
	shown := entryView{ID: string(e.ID), By: e.Actor.Name, What: actionText(e.Action), Target: string(e.Target),
		Business: string(e.BusinessID), Details: pages.AuditDetails(e), At: e.At, Request: e.Actor.RequestID}
	if e.Actor.ID != "" {
		shown.ByHref = only("actor", e.Actor.ID)
	}
	if e.Target != "" {
		shown.TargetHref = only("target", e.Target)
	}
	if e.BusinessID != "" {
		shown.BusinessHref = only("business", e.BusinessID)
	}
	return shown
}

// auditCSV sends the list as a file: from the same entry on, at most auditFile entries.
func (p *Console) auditCSV(c *call) error {
	q := readAudit(c)
	if len(c.Faults) > 0 {
		return domain.ErrNotFound
	}
	return c.CSV("waybill-audit.csv", func(write func(...string) error) error {
		err := write("time", "action", "what", "who", "actor_id", "business_id", "record", "details", "request_id", "id")
		q.page.Limit = auditRead
		for n, more := 0, true; err == nil && more && n < auditFile; {
			entries, failed := p.auditEntries(c, q)
			if failed != nil {
				return failed
			}
			more = len(entries) > auditRead
			for _, e := range entries[:min(len(entries), auditRead)] {
				shown := showEntry(c, e)
				err = errors.Join(err, write(domain.FormatTime(e.At), string(e.Action), shown.What, shown.By, string(e.Actor.ID), shown.Business,
					shown.Target, strings.Join(shown.Details, "; "), shown.Request, shown.ID))
				q.page.After = &domain.Position{ID: e.ID}
				n++
			}
		}
		return err
	})
}
