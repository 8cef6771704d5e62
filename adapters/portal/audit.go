package portal

import (
	"cmp"
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
)

type auditView struct {
	Action, Person pages.Field
	Entries        []entryView
	Older          string // the next page; empty: there is none
	CSV            string // the same entries as a file
	Most           int64  // most entries of a file
}

type entryView struct {
	ID, By, ByHref, What, Target string
	Details                      []string
	At                           time.Time
}

// auditQuery holds the filter and page in the address: actor, action and position.
type auditQuery struct {
	filter domain.AuditFilter
	page   domain.PageRequest
}

func readAuditQuery(c *call) (q auditQuery, err error) {
	q.filter.Action, q.page.Limit = domain.Action(c.Query("action")), auditPage
	if q.filter.Action != "" && !slices.Contains(domain.Actions(), q.filter.Action) {
		return q, domain.ErrNotFound
	}
	if person := c.Query("person"); person != "" {
		if q.filter.ActorID, err = domain.ParseID(domain.PrefixPerson, person); err != nil {
			return q, err
		}
	}
	if before, err := domain.ParseID(domain.PrefixAuditEntry, c.Query("before")); err == nil {
		q.page.After = &domain.Position{ID: before}
	}
	return q, nil
}

// href returns a page of the same query. An empty ID means the newest page.
func (q auditQuery) href(path string, before domain.ID) string {
	values := url.Values{}
	for name, value := range map[string]string{"action": string(q.filter.Action), "person": string(q.filter.ActorID),
		"before": string(before)} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func (p *Portal) listAudit(c *call) error {
	q, err := readAuditQuery(c)
	if err != nil {
		return err
	}
	entries, err := p.Audit.EntriesOfBusiness(c.Ctx(), c.Business(), q.filter, q.page)
	if err != nil {
		return err
	}
	v := auditView{Action: actionField(q.filter.Action), Most: auditFile, CSV: q.href("/audit.csv", domain.ID(c.Query("before")))}
	if v.Person, err = p.personField(c, q.filter.ActorID); err != nil {
		return err
	}
	if len(entries) > auditPage {
		entries = entries[:auditPage]
		v.Older = q.href("/audit", entries[auditPage-1].ID)
	}
	for _, e := range entries {
		v.Entries = append(v.Entries, showEntry(c, e))
	}
	return p.Show(c, http.StatusOK, "audit", "Audit log", v)
}

func actionField(chosen domain.Action) pages.Field {
	f := pages.Field{ID: "action", Name: "action", Label: "What was done", Options: []pages.Option{{Value: "", Text: "Everything"}}}
	for _, a := range domain.Actions() {
		if text := pages.ActionTexts[a]; text != "" {
			f.Options = append(f.Options, pages.Option{Value: string(a), Text: text, Chosen: a == chosen})
		}
	}
	return f
}

// personField lists the people of the business. It adds the ID of a chosen person who left.
func (p *Portal) personField(c *call, chosen domain.ID) (pages.Field, error) {
	f := pages.Field{ID: "person", Name: "person", Label: "Who did it", Options: []pages.Option{{Value: "", Text: "Everybody"}}}
	members, err := p.Directory.Members(c.Ctx(), c.Business())
	there := chosen == ""
	for _, m := range members {
		f.Options = append(f.Options, pages.Option{Value: string(m.Reference()), Text: m.Person.Name, Chosen: m.Reference() == chosen})
		there = there || m.Reference() == chosen
	}
	if !there {
		f.Options = append(f.Options, pages.Option{Value: string(chosen), Text: string(chosen), Chosen: true})
	}
	return f, err
}

func showEntry(c *call, e domain.AuditEntry) entryView {
	shown := entryView{ID: string(e.ID), By: actorName(e.Actor), What: pages.ActionText(e), Target: string(e.Target), At: e.At,
		Details: pages.AuditDetails(e)}
	if e.Action == domain.ActionViewBegin || e.Action == domain.ActionViewEnd {
		shown.By = "Support of the delivery company"
	}
	if c.ByStaff() { // staff know each other by name
		shown.By = cmp.Or(e.Actor.Name, shown.By)
	}
	if e.Details["state"] == string(domain.PersonInvited) && !c.ByStaff() {
		shown.Target = string(domain.InvitedReference(e.Target))
	}
	if e.Actor.Kind() == domain.ActorPerson {
		shown.ByHref = auditQuery{filter: domain.AuditFilter{ActorID: e.Actor.ID}}.href("/audit", "")
	}
	return shown
}

// auditCSV sends the list as a file: from the same entry on, at most auditFile entries.
func (p *Portal) auditCSV(c *call) error {
	q, err := readAuditQuery(c)
	if err != nil {
		return err
	}
	return c.CSV("waybill-audit.csv", func(write func(...string) error) error {
		err := write("time", "action", "what", "who", "person_id", "record", "details", "id")
		q.page.Limit = auditRead
		for n, more := 0, true; err == nil && more && n < auditFile; {
			entries, failed := p.Audit.EntriesOfBusiness(c.Ctx(), c.Business(), q.filter, q.page)
			if failed != nil {
				return failed
			}
			more = len(entries) > auditRead
			for _, e := range entries[:min(len(entries), auditRead)] {
				shown, person := showEntry(c, e), ""
				if e.Actor.Kind() == domain.ActorPerson {
					person = string(e.Actor.ID)
				}
				details := strings.Join(shown.Details, "; ")
				err = errors.Join(err, write(domain.FormatTime(e.At), string(e.Action), shown.What, shown.By, person, shown.Target, details, shown.ID))
				q.page.After = &domain.Position{ID: e.ID}
				n++
			}
		}
		return err
	})
}
