package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// requestAt is a record of a request that began at a time.
func requestAt(at time.Time, of domain.Tenant, with ...func(*domain.RequestRecord)) domain.RequestRecord {
	var id [16]byte
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(id[6:], sample.ID(domain.PrefixRequest).Hex()[16:])
	r := domain.RequestRecord{
		ID: domain.MakeID(domain.PrefixRequest, id), Environment: of.Environment, BusinessID: of.BusinessID, ApplicationID: of.ApplicationID,
		KeyID: sample.ID(domain.PrefixAPIKey), Route: "POST /v1/deliveries", Status: 201, Took: 12345 * time.Microsecond,
		KeyDigest: []byte("12345678"), Network: "198.51.100.0/24", Agent: "shop/1.2", Weight: 1,
	}
	for _, change := range with {
		change(&r)
	}
	return r
}

func refusedRequest(r *domain.RequestRecord) {
	r.Status, r.Code, r.Fields = 422, domain.CodeValidation, []string{"dropoff.phone", "vehicle_type"}
}

func testRequestLog(t *testing.T, b ports.Database) {
	mine, other := newTenant(t, b), newTenant(t, b)
	now := time.Now().UTC()
	write := func(t testing.TB, writer string, records ...domain.RequestRecord) int {
		t.Helper()
		return must(b.WriteRequests(t.Context(), strings.Repeat(writer, 32), records, nil))(t).Records
	}
	delivery := sample.ID(domain.PrefixDelivery)
	records := []domain.RequestRecord{
		requestAt(now, mine, func(r *domain.RequestRecord) { r.DeliveryID, r.Replayed, r.Weight = delivery, true, 10 }),
		requestAt(now.Add(-time.Second), mine, refusedRequest, func(r *domain.RequestRecord) { r.ClientID = "order-7" }),
		requestAt(now.Add(-2*time.Second), live(mine), func(r *domain.RequestRecord) {
			r.Route, r.Status, r.KeyDigest, r.KeyID = "GET /v1/deliveries", 200, nil, ""
		}),
		requestAt(now.Add(-3*time.Second), mine, refusedRequest, func(r *domain.RequestRecord) {
			r.Status, r.Code, r.Fields = 503, "SERVICE_UNAVAILABLE", nil
		}),
	}
	theirs := requestAt(now, other)
	foreign := requestAt(now, domain.Tenant{Environment: domain.Live}, refusedRequest, func(r *domain.RequestRecord) {
		r.KeyID, r.KeyDigest = "", nil
	})
	wantEqual(t, "skipped", write(t, "a", append(slices.Clone(records), theirs, foreign)...), 0)
	list := func(t testing.TB, limit int, f domain.RequestFilter) []domain.RequestRecord {
		t.Helper()
		return pages(t, limit, func(p domain.PageRequest) ([]domain.RequestRecord, error) {
			return b.Read().Requests.List(t.Context(), f, p)
		}, func(r domain.RequestRecord) domain.Position { return domain.Position{ID: r.ID} })
	}

	t.Run("a business has its own, newest first", func(t *testing.T) {
		for _, limit := range []int{1, 3, 4, 50} {
			wantEqual(t, "List", list(t, limit, domain.RequestFilter{BusinessID: mine.BusinessID}), records)
		}
		wantEqual(t, "of the other", list(t, 5, domain.RequestFilter{BusinessID: other.BusinessID}), []domain.RequestRecord{theirs})
		wantEqual(t, "of all", len(list(t, 5, domain.RequestFilter{})), len(records)+2)
	})
	t.Run("a filter lets through what it says", func(t *testing.T) {
		after, before := now.Add(-2500*time.Millisecond), now.Add(-1500*time.Millisecond)
		for what, c := range map[string]struct {
			f    domain.RequestFilter
			want []int
		}{
			"application":    {domain.RequestFilter{ApplicationID: mine.ApplicationID}, []int{0, 1, 2, 3}},
			"other's":        {domain.RequestFilter{ApplicationID: other.ApplicationID}, nil},
			"key":            {domain.RequestFilter{KeyID: records[1].KeyID}, []int{1}},
			"environment":    {domain.RequestFilter{Environment: domain.Live}, []int{2}},
			"delivery":       {domain.RequestFilter{DeliveryID: delivery}, []int{0}},
			"ID":             {domain.RequestFilter{ID: records[2].ID}, []int{2}},
			"client ID":      {domain.RequestFilter{ClientID: "order-7"}, []int{1}},
			"route":          {domain.RequestFilter{Route: "GET /v1/deliveries"}, []int{2}},
			"code":           {domain.RequestFilter{Code: "SERVICE_UNAVAILABLE"}, []int{3}},
			"status":         {domain.RequestFilter{Status: 422}, []int{1}},
			"success":        {domain.RequestFilter{Status: 200}, []int{2}},
			"failures":       {domain.RequestFilter{Failed: new(true)}, []int{1, 3}},
			"successes":      {domain.RequestFilter{Failed: new(false)}, []int{0, 2}},
			"class":          {domain.RequestFilter{Class: 4}, []int{1}},
			"successes 2xx":  {domain.RequestFilter{Class: 2}, []int{0, 2}},
			"other class":    {domain.RequestFilter{Class: 2, Status: 422}, nil},
			"unknown caller": {domain.RequestFilter{Unknown: true}, nil},
			"contradiction":  {domain.RequestFilter{Failed: new(true), Status: 200}, nil},
			"after":          {domain.RequestFilter{CreatedAfter: &after}, []int{0, 1, 2}},
			"before":         {domain.RequestFilter{CreatedBefore: &before}, []int{2, 3}},
			"malformed ID":   {domain.RequestFilter{KeyID: "key_1"}, nil},
			"unstorable":     {domain.RequestFilter{Route: "a\x00b"}, nil},
			"before 1970":    {domain.RequestFilter{CreatedBefore: new(time.Unix(-1, 0))}, nil},
			"after and code": {domain.RequestFilter{CreatedAfter: &after, Code: domain.CodeValidation}, []int{1}},
		} {
			c.f.BusinessID = mine.BusinessID
			var want []domain.RequestRecord
			for _, i := range c.want {
				want = append(want, records[i])
			}
			wantEqual(t, what, list(t, 3, c.f), want)
		}
	})
	t.Run("a look stops after the newest records and goes on behind them", func(t *testing.T) {
		look := func(most int, f domain.RequestFilter) (found []domain.RequestRecord, looks int) {
			t.Helper()
			for p := (domain.PageRequest{Limit: 2}); ; looks++ {
				some, further, err := b.Read().Requests.Look(t.Context(), f, p, most)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, some[:min(len(some), p.Limit)]...)
				switch {
				case len(some) > p.Limit:
					further = some[p.Limit-1].ID
				case further == "":
					return found, looks + 1
				}
				p.After = &domain.Position{ID: further}
			}
		}
		of := func(i ...int) (want []domain.RequestRecord) {
			for _, n := range i {
				want = append(want, records[n])
			}
			return want
		}
		for what, c := range map[string]struct {
			f     domain.RequestFilter
			most  int
			want  []domain.RequestRecord
			looks int
		}{
			"all of a business":      {domain.RequestFilter{BusinessID: mine.BusinessID}, 50, records, 2},
			"the last one of four":   {domain.RequestFilter{BusinessID: mine.BusinessID, Status: 503}, 50, of(3), 1},
			"one of it in each look": {domain.RequestFilter{BusinessID: mine.BusinessID, Environment: domain.Live}, 1, of(2), 5},
			"a code of all":          {domain.RequestFilter{Code: "SERVICE_UNAVAILABLE"}, 1, of(3), 4},
			"unknown callers":        {domain.RequestFilter{Unknown: true}, 50, []domain.RequestRecord{foreign}, 1},
			"a class of all":         {domain.RequestFilter{Class: 5}, 50, of(3), 1},
			"nothing":                {domain.RequestFilter{KeyID: "key_1"}, 50, nil, 1},
		} {
			found, looks := look(c.most, c.f)
			wantEqual(t, what, found, c.want)
			wantEqual(t, "looks at "+what, looks, c.looks)
		}
	})
	t.Run("failures are counted by whose, where and what, and so that each number is a list", func(t *testing.T) {
		after, before := now.Add(-time.Minute), now.Add(time.Minute)
		f := domain.RequestFilter{CreatedAfter: &after, CreatedBefore: &before}
		count := func(f domain.RequestFilter, most, kinds int) ([]domain.FailureSum, time.Time) {
			t.Helper()
			sums, since, err := b.Read().Requests.Failures(t.Context(), f, most, kinds)
			if err != nil {
				t.Fatal(err)
			}
			return sums, since
		}
		sums, since := count(f, 50, 50)
		wantEqual(t, "since", since, after)
		wantEqual(t, "kinds", len(sums), 3)
		for _, sum := range sums {
			of := f
			of.BusinessID, of.Route, of.Status, of.Code, of.Unknown = sum.BusinessID, sum.Route, sum.Status, sum.Code, sum.BusinessID == ""
			wantEqual(t, fmt.Sprintf("the list of %+v", sum), int64(len(list(t, 3, of))), sum.Calls)
		}
		sums, _ = count(f, 50, 1)
		wantEqual(t, "one kind, and one more", len(sums), 2)
		f.Environment = domain.Live
		sums, _ = count(f, 50, 50)
		wantEqual(t, "of live", sums, []domain.FailureSum{{Route: foreign.Route, Status: 422, Code: domain.CodeValidation, Calls: 1}})
		f.Environment, f.BusinessID = "", mine.BusinessID
		sums, since = count(f, 1, 50)
		wantEqual(t, "since, of more than are counted", since.Equal(records[3].ID.MadeAt()), true)
		wantEqual(t, "kinds since then", len(sums), 2)
		f.BusinessID = "biz_1"
		sums, _ = count(f, 50, 50)
		wantEqual(t, "of none", len(sums), 0)
	})
	t.Run("one request is its business's alone", func(t *testing.T) {
		for _, r := range records {
			wantEqual(t, "Get", must(b.Read().Requests.Get(t.Context(), mine.BusinessID, r.ID))(t), r)
			wantError(t, "another's", errorOf(b.Read().Requests.Get(t.Context(), other.BusinessID, r.ID)), domain.ErrNotFound)
		}
		wantEqual(t, "of any", must(b.Read().Requests.Get(t.Context(), "", foreign.ID))(t), foreign)
		wantError(t, "malformed", errorOf(b.Read().Requests.Get(t.Context(), mine.BusinessID, "req_1")), domain.ErrNotFound)
	})
	t.Run("what is of another time is left out and loses nothing else", func(t *testing.T) {
		good := requestAt(now.Add(time.Second), mine)
		strange := requestAt(now.AddDate(40, 0, 0), mine)
		skipped := write(t, "b", strange, good)
		_, err := b.Read().Requests.Get(t.Context(), "", strange.ID)
		if stored := err == nil; stored == (skipped == 1) {
			t.Errorf("%d records were left out, and that of another time is stored: %v", skipped, stored)
		}
		wantEqual(t, "the other one", must(b.Read().Requests.Get(t.Context(), "", good.ID))(t), good)
	})
}

func testUsage(t *testing.T, b ports.Database) {
	const minutes = time.Minute
	mine, other := newTenant(t, b), newTenant(t, b)
	hour := time.Now().UTC().Truncate(time.Hour)
	key, second := sample.ID(domain.PrefixAPIKey), sample.ID(domain.PrefixAPIKey)
	minute := func(after time.Duration, of domain.ID, calls int64, with ...func(*domain.UsageMinute)) domain.UsageMinute {
		u := domain.UsageMinute{
			Minute: hour.Add(after), Environment: mine.Environment, BusinessID: mine.BusinessID, ApplicationID: mine.ApplicationID, KeyID: of,
			Route: "POST /v1/deliveries", Status: 201, Calls: calls, Replayed: calls / 2, Took: time.Duration(calls) * time.Millisecond,
		}
		for _, change := range with {
			change(&u)
		}
		return u
	}
	write := func(writer string, usage ...domain.UsageMinute) {
		t.Helper()
		must(b.WriteRequests(t.Context(), strings.Repeat(writer, 32), nil, usage))(t)
	}
	refused := func(u *domain.UsageMinute) { u.Status, u.Code = 409, "IDEMPOTENCY_CONFLICT" }
	write("a", minute(0, key, 3), minute(0, key, 2, refused))
	write("a", minute(0, key, 8)) // the same minute, by now
	write("a", minute(0, key, 8)) // once more, as after an error
	write("b", minute(0, key, 10), minute(time.Minute, second, 4), minute(-time.Hour, key, 1),
		minute(0, key, 100, func(u *domain.UsageMinute) {
			u.BusinessID, u.ApplicationID = other.BusinessID, other.ApplicationID
		}))
	ask := func(t testing.TB, q domain.UsageQuery) (calls []int64) {
		t.Helper()
		q.BusinessID = mine.BusinessID
		if q.From.IsZero() {
			q.From, q.Until = hour, hour.Add(time.Hour)
		}
		for _, u := range must(b.Read().Requests.Usage(t.Context(), q))(t) {
			calls = append(calls, u.Calls)
		}
		return calls
	}

	t.Run("each process counts once however often it writes", func(t *testing.T) {
		wantEqual(t, "of the hour", ask(t, domain.UsageQuery{}), []int64{24})
		wantEqual(t, "of two hours", ask(t, domain.UsageQuery{From: hour.Add(-time.Hour), Until: hour.Add(time.Hour)}), []int64{25})
		wantEqual(t, "of no time", ask(t, domain.UsageQuery{From: hour.Add(time.Hour), Until: hour.Add(2 * time.Hour)}), nil)
	})
	t.Run("what is of a time without room is told, and costs nothing else", func(t *testing.T) {
		strange := minute(-400*24*time.Hour, second, 7)
		ancient := domain.UsageQuery{From: strange.Minute, Until: strange.Minute.Add(time.Minute)}
		before := ask(t, domain.UsageQuery{})
		skipped := must(b.WriteRequests(t.Context(), strings.Repeat("c", 32), nil, []domain.UsageMinute{strange, minute(0, key, 0)}))(t)
		if stored := len(ask(t, ancient)) == 1; stored == (len(skipped.Usage) == 1) {
			t.Errorf("%+v was left out, and what is of another time is stored: %v", skipped.Usage, stored)
		}
		wantEqual(t, "the rest", ask(t, domain.UsageQuery{}), before)
	})
	t.Run("it is told by what was asked for", func(t *testing.T) {
		wantEqual(t, "by key", ask(t, domain.UsageQuery{ByKey: true}), []int64{20, 4})
		wantEqual(t, "by result", ask(t, domain.UsageQuery{ByResult: true}), []int64{22, 2})
		wantEqual(t, "of a key", ask(t, domain.UsageQuery{KeyID: second}), []int64{4})
		wantEqual(t, "of an application", ask(t, domain.UsageQuery{ApplicationID: mine.ApplicationID}), []int64{24})
		wantEqual(t, "of another's", ask(t, domain.UsageQuery{ApplicationID: other.ApplicationID}), nil)
		wantEqual(t, "of live", ask(t, domain.UsageQuery{Environment: domain.Live}), nil)
	})
	t.Run("steps begin where they should", func(t *testing.T) {
		two := domain.UsageQuery{From: hour.Add(-time.Hour), Until: hour.Add(time.Hour)}
		for step, want := range map[domain.UsageStep][]int64{domain.UsageByMinute: {1, 20, 4}, domain.UsageByHour: {1, 24}} {
			q := two
			q.Step = step
			wantEqual(t, string(step), ask(t, q), want)
		}
		q := two
		q.BusinessID, q.Step, q.ByKey, q.ByRoute, q.ByResult = mine.BusinessID, domain.UsageByHour, true, true, true
		got := must(b.Read().Requests.Usage(t.Context(), q))(t)
		wantEqual(t, "all of it", got, []domain.Usage{
			{At: hour.Add(-time.Hour), KeyID: key, Route: "POST /v1/deliveries", Status: 201, Calls: 1, Took: time.Millisecond,
				Last: hour.Add(-time.Hour)},
			{At: hour, KeyID: key, Route: "POST /v1/deliveries", Status: 201, Calls: 18, Replayed: 9, Took: 18 * time.Millisecond, Last: hour},
			{At: hour, KeyID: second, Route: "POST /v1/deliveries", Status: 201, Calls: 4, Replayed: 2, Took: 4 * time.Millisecond,
				Last: hour.Add(time.Minute)},
			{At: hour, KeyID: key, Route: "POST /v1/deliveries", Status: 409, Code: "IDEMPOTENCY_CONFLICT", Calls: 2, Replayed: 1,
				Took: 2 * time.Millisecond, Last: hour},
		})
		day := hour.Truncate(24 * time.Hour)
		q = domain.UsageQuery{BusinessID: mine.BusinessID, From: hour, Until: hour.Add(time.Hour), Step: domain.UsageByDay}
		wantEqual(t, "day", must(b.Read().Requests.Usage(t.Context(), q))(t)[0].At, day)
	})
	t.Run("whole hours and the minutes around them count the same as minutes", func(t *testing.T) {
		third := sample.ID(domain.PrefixAPIKey)
		for _, more := range []int64{5, 9} { // each sum is written again as it grows
			for _, at := range []time.Duration{-121, -120, -90, -61, -60, -59, -1} {
				write("d", minute(at*time.Minute, third, more))
			}
			write("e", minute(-61*time.Minute, third, more), minute(-61*time.Minute, third, more, refused))
		}
		for _, c := range []struct {
			from, until time.Duration
			want        int64
		}{{-121, -59, 9 * 7}, {-120, -60, 9 * 5}, {-121, 0, 9 * 9}, {-122, -120, 9}, {-61, -59, 9 * 4}, {-60, 0, 9 * 3}, {-90, -89, 9},
			{-119, -62, 9}} {
			for _, step := range []domain.UsageStep{"", domain.UsageByMinute, domain.UsageByHour, domain.UsageByDay} {
				sum := int64(0)
				for _, calls := range ask(t, domain.UsageQuery{KeyID: third, From: hour.Add(c.from * minutes), Until: hour.Add(c.until * minutes),
					Step: step}) {
					sum += calls
				}
				wantEqual(t, fmt.Sprintf("%d to %d by %q", c.from, c.until, step), sum, c.want)
			}
		}
		found := must(b.Read().Requests.Usage(t.Context(), domain.UsageQuery{BusinessID: mine.BusinessID, KeyID: third,
			From: hour.Add(-2 * time.Hour), Until: hour.Add(-time.Hour)}))(t)
		wantEqual(t, "the last minute", found[0].Last, hour.Add(-61*minutes))
	})
}

func testRequestRotation(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	now := time.Now().UTC()
	keep := domain.RequestLogKeeping{Successes: 10 * time.Minute, Failures: 30 * 24 * time.Hour, Usage: 30 * 24 * time.Hour}
	recent, old := requestAt(now, tenant), requestAt(now.Add(-24*time.Hour-30*time.Minute), tenant)
	failed := requestAt(now.Add(-24*time.Hour-30*time.Minute), tenant, refusedRequest)
	for range 2 { // the second time finds what the first one made
		if err := b.RotateRequests(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
	}
	must(b.WriteRequests(t.Context(), strings.Repeat("a", 32), []domain.RequestRecord{recent, old, failed}, nil))(t)
	wantEqual(t, "before", len(must(b.Read().Requests.List(t.Context(), domain.RequestFilter{}, domain.PageRequest{Limit: 10}))(t)), 3)
	if err := b.RotateRequests(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	left := must(b.Read().Requests.List(t.Context(), domain.RequestFilter{}, domain.PageRequest{Limit: 10}))(t)
	wantEqual(t, "what is left", left, []domain.RequestRecord{recent, failed})
}
