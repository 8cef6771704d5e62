package toystore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

type machinery struct{ session }

func (s machinery) Endpoints(_ context.Context, f domain.EndpointFilter, now time.Time, after *domain.EndpointPlace,
	limit int) (all []domain.EndpointShown, _ error) {
	at := s.now()
	rank := func(of domain.EndpointStanding) int { return slices.Index(domain.EndpointStandings(), of) }
	for _, e := range at.endpoints.rows {
		x := domain.EndpointShown{WebhookEndpoint: e.WebhookEndpoint, Standing: standing(at, e, now)}
		if e.Listener || f.BusinessID != "" && e.Tenant.BusinessID != f.BusinessID ||
			f.ApplicationID != "" && e.Tenant.ApplicationID != f.ApplicationID ||
			f.Environment != "" && e.Tenant.Environment != f.Environment || !strings.Contains(strings.ToLower(e.URL), strings.ToLower(f.Host)) ||
			f.Standing != "" && x.Standing != f.Standing || f.Unwell && rank(x.Standing) >= rank(domain.StandingPaused) ||
			after != nil && cmp.Or(cmp.Compare(rank(x.Standing), rank(after.Standing)), cmp.Compare(e.ID, after.ID)) <= 0 {
			continue
		}
		business, _ := at.businesses.get(e.Tenant.BusinessID)
		application, _ := at.applications.get(e.Tenant.ApplicationID)
		x.Business, x.Application = business.Name, application.Name
		for _, d := range at.webhooks.rows {
			if pendingFor(e.ID)(d) {
				if x.Waiting++; x.Oldest == nil || d.DueAt.Before(*x.Oldest) {
					x.Oldest = d.DueAt
				}
			}
			if d.EndpointID != e.ID {
				continue
			}
			for _, a := range at.attempts.rows[d.ID] {
				if x.Last == nil || a.Result.StartedAt.After(x.Last.Result.StartedAt) {
					x.Last = &a
				}
			}
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b domain.EndpointShown) int {
		return cmp.Or(cmp.Compare(rank(a.Standing), rank(b.Standing)), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), limit)], nil
}

func (s machinery) Endpoint(_ context.Context, id domain.ID) (domain.WebhookEndpoint, error) {
	e, err := s.now().endpoints.take(id)
	if err != nil || e.Listener {
		return domain.WebhookEndpoint{}, domain.ErrNotFound
	}
	return e.WebhookEndpoint, nil
}

func standing(at *state, e endpoint, now time.Time) domain.EndpointStanding {
	due := at.due(e.ID, now.Add(-domain.BehindAfter))
	switch {
	case e.Enabled && e.Health.FailingSince != nil:
		return domain.StandingFailing
	case e.Enabled && len(due) > 0:
		return domain.StandingBehind
	case e.Enabled:
		return domain.StandingWell
	case e.Disabled != domain.DisabledByCaller:
		return domain.StandingDisabled
	}
	return domain.StandingPaused
}

func (s machinery) Work(_ context.Context, now time.Time) ([]domain.Work, error) {
	at := s.now()
	live := domain.Work{Kind: domain.WorkWebhooks, Environment: domain.Live}
	sandbox := domain.Work{Kind: domain.WorkWebhooks, Environment: domain.Sandbox}
	mail := domain.Work{Kind: domain.WorkMails}
	steps := domain.Work{Kind: domain.WorkSteps, Environment: domain.Sandbox}
	add := func(w *domain.Work, due *time.Time) {
		w.Waiting++
		if due == nil || due.After(now) {
			return
		}
		if w.Due++; w.Oldest == nil || due.Before(*w.Oldest) {
			w.Oldest = due
		}
	}
	for _, d := range at.webhooks.rows {
		e, known := at.endpoints.get(d.EndpointID)
		of := &live
		if e.Tenant.Environment == domain.Sandbox {
			of = &sandbox
		}
		switch {
		case !known || e.Listener:
		case d.Status == domain.WebhookPending:
			add(of, d.DueAt)
		case d.Status == domain.WebhookFailed:
			of.GivenUp++
		}
	}
	for _, m := range at.mails.rows {
		switch m.State {
		case domain.MailWaiting:
			add(&mail, &m.DueAt)
		case domain.MailGivenUp:
			mail.GivenUp++
		}
	}
	for _, d := range at.deliveries.rows {
		if x := d.Simulation(); x != nil && x.Status == domain.SimulationRunning {
			add(&steps, x.NextStepAt)
		}
	}
	return []domain.Work{live, sandbox, mail, steps}, nil
}

func (s machinery) GivenUpMails(_ context.Context, limit int) ([]domain.Mail, error) {
	all := s.now().mails.where(func(m domain.Mail) bool { return m.State == domain.MailGivenUp }, func(a, b domain.Mail) int {
		return cmp.Or(b.SettledAt.Compare(*a.SettledAt), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), limit)], nil
}

func (s machinery) RetryMail(_ context.Context, id domain.ID, now time.Time) (domain.Mail, error) {
	m, ok := s.tx.mails.get(id)
	if !ok || m.State != domain.MailGivenUp || m.PersonID == "" {
		return domain.Mail{}, domain.ErrNotFound
	}
	m.State, m.DueAt, m.SettledAt, m.ExpiresAt = domain.MailWaiting, now, nil, now.Add(m.Kind.Lifetime())
	s.tx.mails.put(id, m)
	return m, nil
}

func (s machinery) DropMail(_ context.Context, id domain.ID) (domain.Mail, error) {
	m, ok := s.tx.mails.get(id)
	if !ok || m.State != domain.MailGivenUp {
		return domain.Mail{}, domain.ErrNotFound
	}
	m.State = domain.MailDropped
	s.tx.mails.put(id, m)
	return m, nil
}

func (s machinery) Processes(_ context.Context, since time.Time) ([]domain.Process, error) {
	return s.now().processes.where(func(p domain.Process) bool { return !p.SeenAt.Before(since) },
		func(a, b domain.Process) int {
			return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
		}), nil
}

// KeepProcess keeps what a process tells of itself.
func (s *Store) KeepProcess(ctx context.Context, p domain.Process) error {
	return s.transact(ctx, func(on session) error {
		on.tx.processes.put(p.ID, p)
		purge(&on.tx.processes, len(on.tx.processes.rows), func(q domain.Process) bool {
			return q.SeenAt.Before(p.SeenAt.Add(-domain.ProcessKept))
		})
		return nil
	})
}

// Replicas are none.
func (s *Store) Replicas() (all []domain.ReplicaState, others int64) { return nil, 0 }

// State is always well.
func (s *Store) State(context.Context) (domain.DatabaseState, error) {
	return domain.DatabaseState{Product: "toystore", Version: "1"}, nil
}
