package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newRun(at time.Time, with ...func(*domain.MoveRun)) domain.MoveRun {
	id := domain.ID(string(domain.PrefixMoveRun) + idAt(at).Hex())
	r := domain.MoveRun{
		ID: id, Key: "dispatch-" + id.Hex(), Fingerprint: [32]byte{1, 2, 3}, CreatedAt: domain.Millis(at),
		By: domain.AuditActor{ID: sample.ID(domain.PrefixOperatorToken), Name: "Dispatch, ünïcode", RequestID: "req_1"},
		Items: []domain.MoveItem{
			{Sent: "7k3m qx8p 2vtd", DeliveryID: sample.ID(domain.PrefixDelivery), Reference: "7K3M-QX8P-2VTD", To: domain.Failed,
				Reason: domain.ReasonCODRefused, Outcome: domain.MovePending},
			{Index: 1, Sent: "nothing", To: domain.Assigned, Outcome: domain.MoveNotFound},
		},
	}
	for _, change := range with {
		change(&r)
	}
	return r
}

func holdOf(r domain.MoveRun, token string) ports.MoveHold {
	return ports.MoveHold{Run: r.ID, Token: token, Lease: aLease}
}

func onRuns(t testing.TB, b ports.Database, fn func(ctx context.Context, runs ports.MoveRunStore) error) error {
	t.Helper()
	return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return fn(ctx, tx.MoveRuns) })
}

func begin(t testing.TB, b ports.Database, r domain.MoveRun, h ports.MoveHold) error {
	t.Helper()
	return onRuns(t, b, func(ctx context.Context, runs ports.MoveRunStore) error { return runs.Begin(ctx, r, h) })
}

// runLeft reports whether a run may be taken over, as Left tells.
func runLeft(t testing.TB, b ports.Database, id domain.ID) bool {
	t.Helper()
	for _, left := range must(b.Read().MoveRuns.Left(t.Context(), 100))(t) {
		if left == id {
			return true
		}
	}
	return false
}

func testMoveRuns(t *testing.T, b ports.Database) {
	type step = func(context.Context, ports.MoveRunStore, ports.MoveHold) error
	resume := func(ctx context.Context, runs ports.MoveRunStore, h ports.MoveHold) error { return runs.Resume(ctx, h) }
	extend := func(ctx context.Context, runs ports.MoveRunStore, h ports.MoveHold) error { return runs.Extend(ctx, h) }
	release := func(ctx context.Context, runs ports.MoveRunStore, h ports.MoveHold) error {
		return runs.Release(ctx, h)
	}
	finish := func(ctx context.Context, runs ports.MoveRunStore, h ports.MoveHold) error {
		return runs.Finish(ctx, h, sample.Now)
	}
	do := func(t *testing.T, h ports.MoveHold, s step) error {
		t.Helper()
		return onRuns(t, b, func(ctx context.Context, runs ports.MoveRunStore) error { return s(ctx, runs, h) })
	}

	t.Run("a run comes back as it was begun, by its ID and by its key", func(t *testing.T) {
		r := newRun(sample.Now)
		wantError(t, "Begin", begin(t, b, r, holdOf(r, theirs)), nil)
		for what, got := range map[string]domain.MoveRun{
			"by ID": must(b.Read().MoveRuns.Get(t.Context(), r.ID))(t), "by key": must(b.Read().MoveRuns.FindByKey(t.Context(), r.Key))(t),
		} {
			if got.LeaseLeft <= 0 || got.LeaseLeft > aLease {
				t.Errorf("%s: %s of a lease of %s are left", what, got.LeaseLeft, aLease)
			}
			got.LeaseLeft = 0
			wantEqual(t, what, got, r)
		}
		for _, id := range []domain.ID{"", "run_1", sample.ID(domain.PrefixMoveRun), domain.ID("dlv_" + r.ID.Hex())} {
			wantError(t, "Get of "+string(id), errorOf(b.Read().MoveRuns.Get(t.Context(), id)), domain.ErrNotFound)
		}
		for _, key := range []string{"", "unknown-key", "a\x00b"} {
			wantError(t, "FindByKey", errorOf(b.Read().MoveRuns.FindByKey(t.Context(), key)), domain.ErrNotFound)
		}
	})

	t.Run("a key has one run, and the same run may be begun again", func(t *testing.T) {
		r := newRun(sample.Now)
		wantError(t, "Begin", begin(t, b, r, holdOf(r, theirs)), nil)
		wantError(t, "Begin again", begin(t, b, r, holdOf(r, theirs)), nil)
		wantError(t, "Begin under another token", begin(t, b, r, holdOf(r, another)), ports.ErrKeyTaken)
		other := newRun(sample.Now, func(o *domain.MoveRun) { o.Key = r.Key })
		wantError(t, "Begin of another run", begin(t, b, other, holdOf(other, theirs)), ports.ErrKeyTaken)
		wantEqual(t, "items", len(must(b.Read().MoveRuns.Get(t.Context(), r.ID))(t).Items), 2)
	})

	t.Run("an outcome is recorded once and comes back whole", func(t *testing.T) {
		r := newRun(sample.Now)
		h := holdOf(r, theirs)
		wantError(t, "Begin", begin(t, b, r, h), nil)
		want := r.Items[0]
		want.Outcome, want.Current, want.Code, want.Message = domain.MoveRefused, domain.Delivered, "TRANSITION_INVALID", "It is ünïcode."
		want.Allowed = []domain.Status{domain.Assigned, domain.Cancelled}
		settle := func(ctx context.Context, runs ports.MoveRunStore, h ports.MoveHold) error {
			return runs.Settle(ctx, h, want)
		}
		wantError(t, "Settle", do(t, h, settle), nil)
		wantError(t, "Settle again", do(t, h, settle), ports.ErrItemDone)
		want.Index = 1
		wantError(t, "Settle of what was not pending", do(t, h, settle), ports.ErrItemDone)
		want.Index = 0
		wantEqual(t, "items", must(b.Read().MoveRuns.Get(t.Context(), r.ID))(t).Items, []domain.MoveItem{want, r.Items[1]})
	})

	t.Run("a lease belongs to one process until it runs out or is released", func(t *testing.T) {
		r := newRun(sample.Now)
		ours, foreign := holdOf(r, theirs), holdOf(r, another)
		wantError(t, "Begin", begin(t, b, r, ours), nil)
		for name, s := range map[string]step{"Resume": resume, "Extend": extend, "Finish": finish} {
			wantError(t, name+" by another", do(t, foreign, s), ports.ErrLeaseLost)
		}
		wantError(t, "Release by another", do(t, foreign, release), nil)
		wantEqual(t, "may be taken over", runLeft(t, b, r.ID), false)
		wantError(t, "Resume by its holder", do(t, ours, resume), nil)
		wantError(t, "Release", do(t, ours, release), nil)
		wantEqual(t, "may be taken over", runLeft(t, b, r.ID), true)
		wantError(t, "Resume by another", do(t, foreign, resume), nil)
		wantEqual(t, "may be taken over", runLeft(t, b, r.ID), false)
		wantError(t, "Extend by the former holder", do(t, ours, extend), ports.ErrLeaseLost)

		foreign.Lease = ranOut
		wantError(t, "Extend by so little", do(t, foreign, extend), nil)
		eventually(t, "the lease runs out", func() bool { return runLeft(t, b, r.ID) })
		wantError(t, "Resume of what ran out", do(t, ours, resume), nil)
	})

	t.Run("a run that is finished is worked on no more", func(t *testing.T) {
		r := newRun(sample.Now)
		h := holdOf(r, theirs)
		wantError(t, "Begin", begin(t, b, r, h), nil)
		wantError(t, "Finish", do(t, h, finish), nil)
		for name, s := range map[string]step{"Resume": resume, "Extend": extend, "Finish": finish} {
			wantError(t, name, do(t, h, s), ports.ErrLeaseLost)
		}
		r.FinishedAt = new(sample.Now)
		wantEqual(t, "the run", must(b.Read().MoveRuns.Get(t.Context(), r.ID))(t), r)
		wantEqual(t, "may be taken over", runLeft(t, b, r.ID), false)
	})

	t.Run("runs are listed newest first", func(t *testing.T) {
		late := sample.Now.AddDate(9, 0, 0)
		var all []domain.ID
		for i := range 3 {
			r := newRun(late.Add(time.Duration(i) * time.Minute))
			wantError(t, "Begin", begin(t, b, r, holdOf(r, theirs)), nil)
			all = append([]domain.ID{r.ID}, all...)
		}
		var found []domain.ID
		p := domain.PageRequest{Limit: 1}
		for len(found) < 3 {
			page := must(b.Read().MoveRuns.List(t.Context(), p))(t)
			wantEqual(t, "records of a page", len(page), 2)
			found, p.After = append(found, page[0].ID), &domain.Position{ID: page[0].ID}
		}
		wantEqual(t, "runs", found, all)
	})
}

func testCleaningOfMoveRuns(t *testing.T, b ports.Database) {
	t.Run("runs go when they are old, and their keys with them", func(t *testing.T) {
		old, recent := newRun(time.Now().Add(-domain.MoveRunKept-time.Hour)), newRun(time.Now().Add(-domain.MoveRunKept+time.Hour))
		for _, r := range []domain.MoveRun{old, recent} {
			wantError(t, "Begin", begin(t, b, r, holdOf(r, theirs)), nil)
		}
		eventually(t, "the old run is gone", func() bool {
			_, _, err := b.PurgeExpired(t.Context(), 50)
			wantError(t, "PurgeExpired", err, nil)
			_, err = b.Read().MoveRuns.Get(t.Context(), old.ID)
			return err != nil
		})
		wantEqual(t, "items of the recent one", len(must(b.Read().MoveRuns.Get(t.Context(), recent.ID))(t).Items), 2)
		wantError(t, "Begin under the old key", begin(t, b, old, holdOf(old, theirs)), nil)
	})
}

func testFeedOfAll(t *testing.T, b ports.Database) {
	one, two := newTenant(t, b), newTenant(t, b)
	elsewhere := live(one)
	var want []domain.PlatformEvent
	book := func(tenant domain.Tenant) *domain.Delivery {
		recipient, address := newRecipient(t, b, tenant)
		w := bookWrite(t, b, sample.BookingTo(tenant, recipient, address))
		d := w.Delivery
		if tenant.Environment == one.Environment {
			events := must(b.Read().Deliveries.Events(t.Context(), tenant, d.ID))(t)
			want = append(want, domain.PlatformEvent{Tenant: tenant, FeedEvent: domain.FeedEvent{ID: events[0].ID, Type: events[0].Type,
				DeliveryID: d.ID, Sequence: 1, OccurredAt: events[0].OccurredAt}})
		}
		return d
	}
	for range 3 {
		book(one)
		book(elsewhere)
		book(two)
	}
	moved := book(two)
	if _, _, err := moveLocked(t.Context(), b, two, moved.ID, domain.Assigned); err != nil {
		t.Fatal(err)
	}
	event := must(b.Read().Deliveries.Events(t.Context(), two, moved.ID))(t)[1]
	want = append(want, domain.PlatformEvent{Tenant: two, FeedEvent: domain.FeedEvent{ID: event.ID, Type: event.Type, DeliveryID: moved.ID,
		Sequence: 2, OccurredAt: event.OccurredAt}})

	read := func(t *testing.T, f domain.PlatformFeedFilter, n int) (found []domain.PlatformEvent) {
		t.Helper()
		var after *domain.FeedPosition
		eventually(t, "the feed has them all", func() bool {
			for {
				page := must(b.Read().Feed.OfAll(t.Context(), f, after, 2))(t)
				found, after = append(found, page.Events...), &page.Next
				if !page.More {
					return len(found) >= n
				}
			}
		})
		for i := range found {
			if len(found[i].Payload) == 0 || found[i].Position.ID != found[i].ID {
				t.Errorf("an event with %d bytes at %v", len(found[i].Payload), found[i].Position)
			}
			found[i].Payload, found[i].Position = nil, domain.FeedPosition{}
		}
		return found
	}
	all := domain.PlatformFeedFilter{Environment: one.Environment}
	t.Run("it has the events of all applications in one order", func(t *testing.T) {
		wantEqual(t, "events", read(t, all, len(want)), want)
	})
	t.Run("it may be narrowed to a business and to types", func(t *testing.T) {
		f := all
		f.BusinessID, f.Types = two.BusinessID, []domain.EventType{event.Type, "delivery.failed"}
		wantEqual(t, "events", read(t, f, 1), want[len(want)-1:])
		f.BusinessID = sample.ID(domain.PrefixBusiness)
		wantEqual(t, "events of an unknown business", read(t, f, 0), nil)
		f.BusinessID = "biz_1"
		wantEqual(t, "events of what is no business", read(t, f, 0), nil)
	})
	t.Run("a place that is not known is refused", func(t *testing.T) {
		page := must(b.Read().Feed.OfAll(t.Context(), all, nil, 1))(t)
		page.Next.ID = sample.ID(domain.PrefixEvent)
		_, err := b.Read().Feed.OfAll(t.Context(), all, &page.Next, 1)
		if !domain.HasCode(err, domain.CodeCursorExpired) {
			t.Errorf("behind an unknown event: %v", err)
		}
		known := must(b.Read().Feed.OfAll(t.Context(), all, nil, 1))(t).Next
		_, err = b.Read().Feed.OfAll(t.Context(), domain.PlatformFeedFilter{Environment: elsewhere.Environment}, &known, 1)
		if !domain.HasCode(err, domain.CodeCursorExpired) {
			t.Errorf("behind an event of the other environment: %v", err)
		}
	})
}

func testNamedDeliveries(t *testing.T, b ports.Database) {
	one, two := newTenant(t, b), live(newTenant(t, b))
	var booked []*domain.Delivery
	for _, tenant := range []domain.Tenant{one, two, one} {
		recipient, address := newRecipient(t, b, tenant)
		booked = append(booked, bookWrite(t, b, sample.BookingTo(tenant, recipient, address)).Delivery)
	}
	named := func(ids []domain.ID, references ...domain.Reference) map[domain.ID]domain.Reference {
		found := map[domain.ID]domain.Reference{}
		for _, d := range must(b.Read().Platform.Named(t.Context(), ids, references))(t) {
			found[d.ID] = d.Reference
		}
		return found
	}
	wantEqual(t, "by ID, by reference and by both", named([]domain.ID{booked[0].ID, booked[2].ID}, booked[1].Reference, booked[2].Reference),
		map[domain.ID]domain.Reference{
			booked[0].ID: booked[0].Reference, booked[1].ID: booked[1].Reference, booked[2].ID: booked[2].Reference,
		})
	wantEqual(t, "of none", named(nil), map[domain.ID]domain.Reference{})
	none := []domain.ID{sample.ID(domain.PrefixDelivery), "dlv_1", "", "biz_" + domain.ID(booked[0].ID.Hex())}
	wantEqual(t, "of what there is not", named(none,
		"", "7K3M-QX8P-2VTD", "a\x00b"), map[domain.ID]domain.Reference{})
}
