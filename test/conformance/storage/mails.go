package storage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func tell(t testing.TB, b ports.Database, all ...domain.Notice) {
	t.Helper()
	store(t, b, all, func(tx ports.Stores) func(context.Context, domain.Notice) error { return tx.Mails.Tell })
}

// leaseAll takes all mails that are due at a time.
func leaseAll(t testing.TB, b ports.Database, now time.Time) (all []domain.Mail) {
	t.Helper()
	for {
		some := must(b.Mails().Lease(t.Context(), ports.MailLease{Now: now, Until: now.Add(time.Minute), Limit: 3}))(t)
		if all = append(all, some...); len(some) < 3 {
			return all
		}
	}
}

func toldPersons(all []domain.Mail) (persons []domain.ID) {
	for _, m := range all {
		persons = append(persons, m.PersonID)
	}
	slices.Sort(persons)
	return persons
}

func sorted(ids ...domain.ID) []domain.ID { slices.Sort(ids); return ids }

func aNotice(with ...func(*domain.Notice)) domain.Notice {
	n := domain.Notice{
		Kind: domain.MailNewDevice, Cause: sample.ID(domain.PrefixSession), PersonID: sample.ID(domain.PrefixPerson), At: sample.Now,
		Facts: map[string]string{domain.FactDevice: "Firefox on Linux, ünïcode"},
	}
	for _, change := range with {
		change(&n)
	}
	return n
}

// addMember stores a person with a membership.
func addMember(t testing.TB, b ports.Database, business domain.ID, role domain.Role, accepted bool, state domain.PersonState) domain.ID {
	t.Helper()
	p := newPerson(func(p *domain.Person) { p.State = state })
	addPersons(t, b, p)
	m := domain.Membership{PersonID: p.ID, BusinessID: business, Role: role, CreatedAt: sample.Now}
	if accepted {
		m.AcceptedAt = new(sample.Now)
	}
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Memberships.Insert(ctx, m) })
	return p.ID
}

func testMails(t *testing.T, b ports.Database) {
	t.Run("a mail comes back as it was told, once while it is leased", func(t *testing.T) {
		n := aNotice(func(n *domain.Notice) {
			n.BusinessID = sample.ID(domain.PrefixBusiness)
			n.About, n.Budget = sample.ID(domain.PrefixAPIKey), domain.BudgetAccount
		})
		tell(t, b, n)
		leased := leaseAll(t, b, sample.Now)
		want := domain.MailTo(n, n.PersonID)
		want.Attempts, want.DueAt = 1, sample.Now.Add(time.Minute)
		wantEqual(t, "Lease", leased, []domain.Mail{want})
		wantEqual(t, "Lease while another has it", len(leaseAll(t, b, sample.Now.Add(time.Minute-time.Millisecond))), 0)
		again := leaseAll(t, b, sample.Now.Add(time.Minute))
		wantEqual(t, "Lease after the sender died", nth(t, again, 0).Attempts, 2)
		wantError(t, "Settle by the one who died", b.Mails().Settle(t.Context(), nth(t, leased, 0)), domain.ErrNotFound)
		settle(t, b, again[0], domain.MailSent)
		wantError(t, "Settle twice", b.Mails().Settle(t.Context(), again[0]), domain.ErrNotFound)
	})

	t.Run("the same cause tells a person once, sent or not", func(t *testing.T) {
		n := aNotice()
		tell(t, b, n, n)
		tell(t, b, n)
		all := leaseAll(t, b, sample.Now)
		wantEqual(t, "mails", len(all), 1)
		settle(t, b, nth(t, all, 0), domain.MailSent)
		tell(t, b, n)
		wantEqual(t, "mails after it was sent", len(leaseAll(t, b, sample.Now.Add(time.Hour))), 0)
	})

	t.Run("of a business those are told who have a role, accepted and are active", func(t *testing.T) {
		mine, other := newTenant(t, b).BusinessID, newTenant(t, b).BusinessID
		owner := addMember(t, b, mine, domain.RoleOwner, true, domain.PersonActive)
		developer := addMember(t, b, mine, domain.RoleDeveloper, true, domain.PersonActive)
		addMember(t, b, mine, domain.RoleViewer, true, domain.PersonActive)
		addMember(t, b, mine, domain.RoleOwner, false, domain.PersonActive)
		addMember(t, b, mine, domain.RoleOwner, true, domain.PersonDisabled)
		addMember(t, b, other, domain.RoleOwner, true, domain.PersonActive)
		of := func(business domain.ID) domain.Notice {
			return domain.Notice{Kind: domain.MailKeyCreated, Cause: sample.ID(domain.PrefixAuditEntry), BusinessID: business, At: sample.Now}
		}
		tell(t, b, of(mine))
		wantEqual(t, "told", toldPersons(drop(t, b)), sorted(owner, developer))
		tell(t, b, of(""), of("biz_1"), of(sample.ID(domain.PrefixBusiness)))
		wantEqual(t, "told of no business", len(drop(t, b)), 0)
	})

	t.Run("a link may be asked for by an address that nobody has, which is forgotten with the mail", func(t *testing.T) {
		n := aNotice(func(n *domain.Notice) { n.Kind, n.PersonID, n.Email = domain.MailSignInLink, "", "nobody@example.com" })
		tell(t, b, n)
		all := leaseAll(t, b, sample.Now)
		later := nth(t, all, 0)
		wantEqual(t, "the address", later.Email, n.Email)
		later.DueAt = sample.Now.Add(time.Second)
		wantError(t, "Settle for a later attempt", b.Mails().Settle(t.Context(), later), nil)
		all = leaseAll(t, b, later.DueAt)
		wantEqual(t, "the address, still", nth(t, all, 0).Email, n.Email)
		settle(t, b, all[0], domain.MailDropped)
	})

	t.Run("a mail that waits again comes when it is due and not before", func(t *testing.T) {
		tell(t, b, aNotice())
		m := nth(t, leaseAll(t, b, sample.Now), 0)
		m.DueAt, m.LastError = sample.Now.Add(10*time.Minute), "421 later\x00 please"
		wantError(t, "Settle", b.Mails().Settle(t.Context(), m), nil)
		wantEqual(t, "early", len(leaseAll(t, b, m.DueAt.Add(-time.Millisecond))), 0)
		n, since, err := b.Mails().Waiting(t.Context())
		wantError(t, "Waiting", err, nil)
		wantEqual(t, "Waiting", fmt.Sprint(n, since.UTC()), fmt.Sprint(1, sample.Now.UTC()))
		wantEqual(t, "in time", len(drop(t, b)), 1)
		n, since, err = b.Mails().Waiting(t.Context())
		wantEqual(t, "Waiting for none", fmt.Sprint(n, since.IsZero(), err), "0 true <nil>")
	})

	t.Run("what is rolled back is told to nobody", func(t *testing.T) {
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Mails.Tell(ctx, aNotice()); err != nil {
				return err
			}
			return domain.ErrNotFound
		})
		wantError(t, "InTx", err, domain.ErrNotFound)
		wantEqual(t, "mails", len(drop(t, b)), 0)
	})

	t.Run("links come first, and businesses take turns", func(t *testing.T) {
		patient, busy, new := sample.ID(domain.PrefixBusiness), sample.ID(domain.PrefixBusiness), sample.ID(domain.PrefixBusiness)
		of := func(kind domain.MailKind, business domain.ID, after time.Duration) domain.ID {
			n := aNotice(func(n *domain.Notice) { n.Kind, n.BusinessID, n.At = kind, business, sample.Now.Add(after) })
			tell(t, b, n)
			return domain.MailTo(n, n.PersonID).ID
		}
		first, second := of(domain.MailInvitation, busy, 0), of(domain.MailInvitation, busy, time.Second)
		company, later := of(domain.MailNewDevice, "", 2*time.Second), of(domain.MailNewDevice, patient, 3*time.Second)
		link := of(domain.MailSignInLink, busy, 4*time.Second)
		due := sample.Now.Add(time.Minute)
		lease := func(l ports.MailLease) (ids []domain.ID) {
			t.Helper()
			l.Now, l.Until = due, due.Add(time.Minute)
			for _, m := range must(b.Mails().Lease(t.Context(), l))(t) {
				m.DueAt = m.At
				wantError(t, "Settle", b.Mails().Settle(t.Context(), m), nil) // due again as before
				ids = append(ids, m.ID)
			}
			return ids
		}
		wantEqual(t, "the first", lease(ports.MailLease{Limit: 1}), []domain.ID{link})
		wantEqual(t, "one of each", lease(ports.MailLease{Limit: 9, OfOne: 1}), []domain.ID{company, later, link})
		wantEqual(t, "of one who is busy", lease(ports.MailLease{Limit: 9, Busy: []domain.ID{busy, new}}), []domain.ID{company, later})
		wantEqual(t, "while the company is busy", lease(ports.MailLease{Limit: 2, Busy: []domain.ID{""}}), []domain.ID{later, link})
		wantEqual(t, "a link of one who was served", lease(ports.MailLease{Limit: 1, Served: []domain.ID{busy, ""}}), []domain.ID{link})
		settle(t, b, must(b.Mails().Lease(t.Context(), ports.MailLease{Now: due, Until: due.Add(time.Minute), Limit: 1}))(t)[0], domain.MailSent)
		wantEqual(t, "in turn", lease(ports.MailLease{Limit: 3}), []domain.ID{first, company, later})
		wantEqual(t, "after one who was served", lease(ports.MailLease{Limit: 2, Served: []domain.ID{busy}}), []domain.ID{company, later})
		wantEqual(t, "after the company", lease(ports.MailLease{Limit: 2, Served: []domain.ID{"", new}}), []domain.ID{first, later})
		wantEqual(t, "all in all", lease(ports.MailLease{Limit: 9, Served: []domain.ID{busy, ""}}), []domain.ID{first, second, company, later})
		drop(t, b)
	})

	t.Run("many links of one come after the first of another one, and those to nobody are dropped at once", func(t *testing.T) {
		many, one := sample.ID(domain.PrefixBusiness), sample.ID(domain.PrefixBusiness)
		member := addMember(t, b, newTenant(t, b).BusinessID, domain.RoleOwner, true, domain.PersonActive)
		of := func(business domain.ID, to domain.Email, after time.Duration) domain.Notice {
			return aNotice(func(n *domain.Notice) {
				n.Kind, n.BusinessID, n.PersonID, n.Email, n.At = domain.MailSignInLink, business, "", to, sample.Now.Add(after)
			})
		}
		var all []domain.Notice
		for range 1500 {
			all = append(all, of(many, "nobody@example.com", 0))
		}
		real := of(one, must(b.Read().Persons.Get(t.Context(), member))(t).Email, time.Second)
		tell(t, b, append(all, real)...)
		due := sample.Now.Add(time.Minute)
		first := must(b.Mails().Lease(t.Context(), ports.MailLease{Now: due, Until: due, Limit: 2, OfOne: 1}))(t)
		wantEqual(t, "the second business", nth(t, first, 1).BusinessID, one)
		for _, want := range []int{1000, 500, 0} {
			wantEqual(t, "dropped", must(b.Mails().DropToNobody(t.Context(), due, 1000))(t), want)
		}
		left := drop(t, b)
		wantEqual(t, "left", len(left), 1)
		wantEqual(t, "to", left[0].Email, real.Email)
	})

	t.Run("of senders at once each gets other mails", func(t *testing.T) {
		for range 40 {
			tell(t, b, aNotice())
		}
		var mu sync.Mutex
		seen := map[domain.ID]int{}
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for {
					some, err := b.Mails().Lease(t.Context(), ports.MailLease{Now: sample.Now, Until: sample.Now.Add(time.Hour), Limit: 3})
					if err != nil {
						t.Error(err)
					}
					if len(some) == 0 {
						return
					}
					mu.Lock()
					for _, m := range some {
						seen[m.ID]++
					}
					mu.Unlock()
				}
			})
		}
		senders.Wait()
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was leased %d times", id, n)
			}
		}
		wantEqual(t, "mails that were leased", len(seen), 40)
	})
}

func testMailBudgets(t *testing.T, b ports.Database) {
	invitation := func(business domain.ID, to domain.Person, after time.Duration) domain.Notice {
		return domain.Notice{Kind: domain.MailInvitation, Cause: sample.ID(domain.PrefixLink), PersonID: to.ID, BusinessID: business,
			At: sample.Now.Add(after), Budget: domain.BudgetInvitations}
	}
	told := func(n domain.Notice) error {
		return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Mails.Tell(ctx, n) })
	}

	t.Run("of many invitations at once as many are told as the budget has, for each business", func(t *testing.T) {
		ama := newPerson()
		addPersons(t, b, ama)
		businesses := []domain.ID{newTenant(t, b).BusinessID, newTenant(t, b).BusinessID}
		var mu sync.Mutex
		sent := map[domain.ID]int{}
		var all sync.WaitGroup
		for _, business := range businesses {
			for range 3 * domain.MailsAnHourToOne {
				all.Go(func() {
					err := told(invitation(business, ama, 0))
					if err != nil && !domain.HasCode(err, domain.CodeTooManyMails) {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						sent[business]++
					}
				})
			}
		}
		all.Wait()
		for _, business := range businesses {
			wantEqual(t, "sent by "+string(business), sent[business], domain.MailsAnHourToOne)
		}
		wantError(t, "an hour later", told(invitation(businesses[0], ama, time.Hour)), nil)
		wantEqual(t, "mails", len(drop(t, b)), 2*domain.MailsAnHourToOne+1)
		staff := invitation("", ama, 0)
		staff.Budget = domain.BudgetStaffInvitations
		wantError(t, "by the staff, to the staff", told(staff), nil)
		drop(t, b)
	})

	t.Run("further notices to a person are one mail behind the hour, and told once", func(t *testing.T) {
		business := newTenant(t, b).BusinessID
		owner := addMember(t, b, business, domain.RoleOwner, true, domain.PersonActive)
		hour := sample.Now.Truncate(time.Hour)
		var all []domain.Notice
		for i := range 2 * domain.MailsAnHourToOne {
			all = append(all, domain.Notice{Kind: domain.MailKeyCreated, Cause: sample.ID(domain.PrefixAuditEntry), BusinessID: business,
				At: hour.Add(time.Duration(i) * time.Second), Budget: domain.BudgetSandboxKeys})
		}
		tell(t, b, all...)
		tell(t, b, all...)
		wantEqual(t, "mails at once", len(leaseAll(t, b, hour.Add(time.Minute))), domain.MailsAnHourToOne)
		var summary []domain.Mail
		for _, m := range drop(t, b) {
			if m.Kind == domain.MailKeyChanges {
				summary = append(summary, m)
			}
		}
		want := domain.SummaryTo(all[0], owner)
		want.Attempts, want.DueAt = 1, nth(t, summary, 0).DueAt
		wantEqual(t, "the summary", summary, []domain.Mail{want})
		later := all[len(all)-1]
		later.At = hour.Add(2 * time.Hour)
		tell(t, b, later) // such as a key of which it is told each hour that it expires
		wantEqual(t, "mails about what the summary has told", len(drop(t, b)), 0)
	})

	t.Run("notices of an account count for the person alone", func(t *testing.T) {
		ama, kofi := newPerson(), newPerson()
		addPersons(t, b, ama, kofi)
		business := newTenant(t, b).BusinessID
		notice := func(p domain.Person, k domain.MailKind) domain.Notice {
			return domain.AccountNotice(k, domain.Session{PersonID: p.ID, BusinessID: business}, sample.ID(domain.PrefixSession), sample.Now)
		}
		for range 2 * domain.MailsAnHourToOne {
			tell(t, b, notice(ama, domain.MailNewDevice))
		}
		tell(t, b, notice(ama, domain.MailPasswordChanged), notice(kofi, domain.MailNewDevice))
		kinds := map[domain.MailKind]int{}
		for _, m := range drop(t, b) {
			kinds[m.Kind]++
		}
		wantEqual(t, "mails", fmt.Sprint(kinds), fmt.Sprint(map[domain.MailKind]int{
			domain.MailNewDevice: domain.MailsAnHourToOne + 1, domain.MailPasswordChanged: 1, domain.MailAccountChanges: 1,
		}))
	})
}

// settle ends a leased mail.
func settle(t testing.TB, b ports.Database, m domain.Mail, state domain.MailState) {
	t.Helper()
	m.State, m.SettledAt = state, new(m.DueAt)
	wantError(t, "Settle", b.Mails().Settle(t.Context(), m), nil)
}

// drop ends all mails that wait, and tells which.
func drop(t testing.TB, b ports.Database) []domain.Mail {
	t.Helper()
	all := leaseAll(t, b, sample.Now.Add(24*time.Hour))
	for _, m := range all {
		settle(t, b, m, domain.MailDropped)
	}
	return all
}

func testMailsOfWebhooks(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	owner := addMember(t, b, tenant.BusinessID, domain.RoleOwner, true, domain.PersonActive)
	e := sample.WebhookEndpoint(tenant, func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} })
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		var err error
		e, err = tx.Webhooks.InsertEndpoint(ctx, e)
		return err
	})
	token := leaseOf(t, b, e)
	since, until := sample.Now.Add(-time.Hour), sample.Now.Add(-time.Minute)
	failing := domain.WebhookHealth{Failures: 12, FailingSince: &since, OpenUntil: &until, Opened: 3}
	record := func(health domain.WebhookHealth) {
		t.Helper()
		d := domain.WebhookDelivery{ID: sample.ID(domain.PrefixWebhookDelivery), EndpointID: e.ID} // gone by now
		o := sample.WebhookOutcome(d, sample.Arrived(sample.Now), sample.Now)
		wantError(t, "Record", b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{o}, health), nil)
	}

	t.Run("that an endpoint fails or goes on well is no news, that it recovers is, once", func(t *testing.T) {
		record(domain.WebhookHealth{})
		record(failing)
		wantEqual(t, "mails", len(drop(t, b)), 0)
		record(domain.WebhookHealth{})
		told := drop(t, b)
		wantEqual(t, "told", toldPersons(told), []domain.ID{owner})
		wantEqual(t, "of", fmt.Sprint(nth(t, told, 0).Kind, told[0].About), fmt.Sprint(domain.MailEndpointRecovered, e.ID))
		record(failing)
		record(domain.WebhookHealth{})
		wantEqual(t, "within the hour", len(drop(t, b)), 0)
	})

	t.Run("that an endpoint is disabled is told", func(t *testing.T) {
		e.Enabled, e.Disabled, e.UpdatedAt = false, domain.DisabledGone, sample.Now
		wantError(t, "Disable", b.Outbox().Disable(t.Context(), e, token, sample.EndpointEvent(domain.EventEndpointDisabled)), nil)
		told := drop(t, b)
		wantEqual(t, "told", toldPersons(told), []domain.ID{owner})
		wantEqual(t, "of", fmt.Sprint(nth(t, told, 0).Kind, told[0].Facts[domain.FactReason], told[0].Facts[domain.FactURL]),
			fmt.Sprint(domain.MailEndpointDisabled, domain.DisabledGone, e.Host()))
	})
}

func testDevices(t *testing.T, b ports.Database) {
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	seen := func(p domain.Person, device string) (answer string) {
		t.Helper()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			known, others, err := tx.Devices.Seen(ctx, p.ID, domain.BearerDigest(device), sample.Now)
			answer = fmt.Sprint(known, others)
			return err
		})
		return answer
	}
	known := func(person domain.ID, device string) bool {
		t.Helper()
		return must(b.Read().Devices.Known(t.Context(), person, domain.BearerDigest(device)))(t)
	}
	wantEqual(t, "known before", known(ama.ID, "laptop"), false)
	for _, c := range []struct {
		person domain.Person
		device string
		want   string
	}{
		{ama, "laptop", "false false"}, {ama, "laptop", "true false"}, {ama, "phone", "false true"}, {ama, "phone", "true true"},
		{kofi, "laptop", "false false"}, {ama, "laptop", "true true"}, {kofi, "laptop", "true false"},
	} {
		wantEqual(t, c.device+" of "+string(c.person.ID), seen(c.person, c.device), c.want)
	}
	wantEqual(t, "known after", fmt.Sprint(known(ama.ID, "laptop"), known(kofi.ID, "laptop"), known(kofi.ID, "phone"),
		known("nobody", "laptop"), known(newPerson().ID, "laptop")), "true true false false false")
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Devices.RemoveAll(ctx, ama.ID) })
	wantEqual(t, "known after RemoveAll", fmt.Sprint(known(ama.ID, "laptop"), known(ama.ID, "phone"), known(kofi.ID, "laptop")), "false false true")
}

func testCleaningOfMails(t *testing.T, b ports.Database) {
	ama := newPerson()
	addPersons(t, b, ama)
	purge := func(t *testing.T, limit, want int) {
		t.Helper()
		n, more, err := b.PurgeExpired(t.Context(), limit)
		wantEqual(t, "purged", fmt.Sprint(n, more, err), fmt.Sprint(want, want == limit, error(nil)))
	}
	ago := func(d time.Duration) time.Time { return domain.Millis(time.Now().Add(-d)) }

	t.Run("what became of a mail is kept for a while, and a mail that waits for ever", func(t *testing.T) {
		old := func(n *domain.Notice) { n.At = ago(domain.MailKept + 2*time.Hour) }
		gone, kept, waits := []domain.Notice{aNotice(old), aNotice(old), aNotice(old)}, aNotice(old), aNotice(old)
		tell(t, b, append(gone, kept)...)
		for _, m := range leaseAll(t, b, time.Now()) {
			m.State, m.SettledAt = domain.MailSent, new(ago(domain.MailKept+time.Hour))
			if m.Cause == kept.Cause {
				m.State, m.SettledAt = domain.MailGivenUp, new(ago(domain.MailKept-time.Hour))
			}
			wantError(t, "Settle", b.Mails().Settle(t.Context(), m), nil)
		}
		tell(t, b, waits)
		purge(t, 2, 2)
		purge(t, 2, 1)
		purge(t, 2, 0)
		tell(t, b, append(gone, kept, waits)...)
		var causes, want []domain.ID
		for _, m := range leaseAll(t, b, time.Now()) {
			causes = append(causes, m.Cause)
		}
		for _, n := range append(gone, waits) {
			want = append(want, n.Cause)
		}
		wantEqual(t, "what is told, the old anew", sorted(causes...), sorted(want...))
	})

	t.Run("a device is known for as long as somebody signs in by it", func(t *testing.T) {
		seen := func(device string, at time.Time) (known bool) {
			t.Helper()
			inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
				known, _, err = tx.Devices.Seen(ctx, ama.ID, domain.BearerDigest(device), at)
				return err
			})
			return known
		}
		for _, device := range []string{"one", "two", "three", "used again"} {
			seen(device, ago(domain.DeviceKept+time.Hour))
		}
		seen("used again", ago(domain.DeviceKept-time.Hour))
		purge(t, 2, 2)
		purge(t, 2, 1)
		purge(t, 2, 0)
		wantEqual(t, "known, of one and of the one that was used again",
			fmt.Sprint(seen("one", ago(0)), seen("used again", ago(0))), "false true")
	})
}

func testExpiringKeys(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	key := func(expires time.Duration, with ...func(*domain.APIKey)) domain.APIKey {
		return sample.APIKey(tenant.ApplicationID, append([]func(*domain.APIKey){func(k *domain.APIKey) {
			k.RevokedAt, k.ExpiresAt = nil, nil
			if expires != 0 {
				k.ExpiresAt = new(sample.Now.Add(expires))
			}
		}}, with...)...)
	}
	first, last := key(time.Millisecond), key(time.Hour)
	all := []domain.APIKey{first, last, key(0), key(-time.Hour), key(time.Hour + time.Millisecond), key(time.Minute, func(k *domain.APIKey) {
		k.RevokedAt = new(sample.Now)
	})}
	store(t, b, all, func(tx ports.Stores) func(context.Context, domain.APIKey) error { return tx.Tenancy.InsertAPIKey })
	var found []domain.ID
	after := domain.ID("")
	for {
		some := must(b.Read().Tenancy.ExpiringKeys(t.Context(), sample.Now, sample.Now.Add(time.Hour), after, 1))(t)
		if len(some) == 0 {
			break
		}
		after = some[0].Key.ID
		found = append(found, after)
		wantEqual(t, "of", fmt.Sprint(some[0].Business.ID, some[0].Application.ID), fmt.Sprint(tenant.BusinessID, tenant.ApplicationID))
	}
	wantEqual(t, "ExpiringKeys", sorted(found...), sorted(first.ID, last.ID))
}
