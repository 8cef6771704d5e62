package storage

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// oddTexts can be in no record, or mean something to a query language.
var oddTexts = []string{"\x00", "a\x00b", "\xff\xfe", "%", "_", `\`, `%\`, "'; --", "?", "@name", "$1"}

func testRecipients(t *testing.T, b ports.Database) {
	t.Run("every field comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		full := sample.Recipient()
		wantFilled(t, full)
		for _, recipient := range []domain.Recipient{full, sample.Recipient(func(r *domain.Recipient) { r.Name = "" })} {
			stored, created := addRecipient(t, b, tenant, recipient)
			wantEqual(t, "what Add returns", stored, recipient)
			if !created {
				t.Error("Add of a new phone number says it was there")
			}
			read, ctx := b.Read().Recipients, t.Context()
			wantEqual(t, "Get", must(read.Get(ctx, tenant, recipient.ID))(t), recipient)
			wantEqual(t, "FindByPhone", must(read.FindByPhone(ctx, tenant, recipient.PhoneNumber))(t), recipient)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				wantEqual(t, "Get in a transaction", must(tx.Recipients.Get(ctx, tenant, recipient.ID))(t), recipient)
				return nil
			})
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		read, ctx := b.Read().Recipients, t.Context()
		for _, id := range []domain.ID{sample.ID(domain.PrefixRecipient), "", "rcp_", "rcp_%", domain.ID(domain.PrefixAddress) + sample.ID("")} {
			_, err := read.Get(ctx, tenant, id)
			wantError(t, "Get "+string(id), err, domain.ErrNotFound)
		}
		for _, odd := range oddTexts {
			_, err := read.FindByPhone(ctx, tenant, domain.PhoneNumber(odd))
			wantError(t, "FindByPhone "+odd, err, domain.ErrNotFound)
		}
		if got := must(read.List(ctx, tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 5}))(t); len(got) != 0 {
			t.Errorf("List of nothing has %d records", len(got))
		}
	})

	t.Run("a known phone number gives the stored recipient, whose name stays", func(t *testing.T) {
		tenant := newTenant(t, b)
		first := sample.Recipient()
		addRecipient(t, b, tenant, first)
		second := sample.Recipient(func(r *domain.Recipient) {
			r.PhoneNumber, r.Name, r.UpdatedAt = first.PhoneNumber, "Somebody else", sample.Now.Add(time.Hour)
		})
		stored, created := addRecipient(t, b, tenant, second)
		wantEqual(t, "what Add returns", stored, first)
		if created {
			t.Error("Add of a known phone number says it is new")
		}
		wantEqual(t, "Get", must(b.Read().Recipients.Get(t.Context(), tenant, first.ID))(t), first)
		_, err := b.Read().Recipients.Get(t.Context(), tenant, second.ID)
		wantError(t, "Get of the one that was not added", err, domain.ErrNotFound)
	})

	t.Run("an empty name is filled in, once, and can be searched", func(t *testing.T) {
		tenant := newTenant(t, b)
		nameless := sample.Recipient(func(r *domain.Recipient) { r.Name = "" })
		addRecipient(t, b, tenant, nameless)
		again := nameless
		again.UpdatedAt = sample.Now.Add(time.Hour)
		stored, _ := addRecipient(t, b, tenant, again)
		wantEqual(t, "Add without a name", stored, nameless)

		want := nameless
		want.Name, want.UpdatedAt = "Kofi Ÿeboah", sample.Now.Add(2*time.Hour)
		named := sample.Recipient(func(r *domain.Recipient) {
			r.PhoneNumber, r.Name, r.UpdatedAt = nameless.PhoneNumber, want.Name, want.UpdatedAt
		})
		stored, created := addRecipient(t, b, tenant, named)
		wantEqual(t, "Add with a name", stored, want)
		if created {
			t.Error("filling in a name says the recipient is new")
		}
		wantEqual(t, "Get", must(b.Read().Recipients.Get(t.Context(), tenant, nameless.ID))(t), want)
		for _, search := range []string{"ÿEBO", string(want.PhoneNumber)[4:]} {
			found := must(b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: search}, domain.PageRequest{Limit: 5}))(t)
			wantEqual(t, "List after filling in", found, []domain.Recipient{want})
		}
	})

	t.Run("one phone number is one recipient per business and environment", func(t *testing.T) {
		tenant, other := newTenant(t, b), newTenant(t, b)
		sibling := newSibling(t, b, tenant)
		phone := sample.PhoneNumber()
		for _, c := range []struct {
			name   string
			tenant domain.Tenant
			want   bool
		}{
			{"the business", tenant, true}, {"its other application", sibling, false},
			{"its other environment", live(tenant), true}, {"another business", other, true},
		} {
			_, created := addRecipient(t, b, c.tenant, sample.Recipient(func(r *domain.Recipient) { r.PhoneNumber = phone }))
			if created != c.want {
				t.Errorf("%s: created is %v, want %v", c.name, created, c.want)
			}
		}
	})

	t.Run("a list is complete and in order, whatever the page", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipients := manyRecipients(t, b, tenant)
		for _, limit := range []int{1, 2, 3, len(recipients), 100} {
			got := pages(t, limit, func(p domain.PageRequest) ([]domain.Recipient, error) {
				return b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{}, p)
			}, recipientPosition)
			wantEqual(t, "List", got, recipients)
		}
	})

	t.Run("a search finds name and phone number in any case, and takes every character as it is", func(t *testing.T) {
		tenant := newTenant(t, b)
		names := []string{"Ama Owusu", "ÉMILE Ângström", "100% Fresh_Fish", `back\slash`, "straße", ""}
		byName := map[string]domain.Recipient{}
		for i, name := range names {
			r := sample.Recipient(func(r *domain.Recipient) {
				r.Name, r.CreatedAt = name, sample.Now.Add(time.Duration(i)*time.Second)
			})
			addRecipient(t, b, tenant, r)
			byName[name] = r
		}
		phone := string(byName["straße"].PhoneNumber)
		for search, want := range map[string][]string{
			"ama": {"Ama Owusu"}, "A O": {"Ama Owusu"}, "émile": {"ÉMILE Ângström"}, "ÂNGSTRÖM": {"ÉMILE Ângström"},
			"%": {"100% Fresh_Fish"}, "_": {"100% Fresh_Fish"}, `\`: {`back\slash`}, `k\S`: {`back\slash`}, `ack\SLA`: {`back\slash`},
			"0% f": {"100% Fresh_Fish"}, "h_f": {"100% Fresh_Fish"}, "hxf": nil, "STRASSE": {"straße"},
			phone: {"straße"}, phone[5:]: {"straße"}, "+23320": names, "nobody": nil,
			"su+233": nil, "'; --": nil, "\x00": nil, "\xff": nil, "?": nil,
		} {
			got := must(b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: search}, domain.PageRequest{Limit: 50}))(t)
			var found []string
			for _, r := range got {
				found = append(found, r.Name)
			}
			if !slices.Equal(found, want) {
				t.Errorf("search %q finds %q, want %q", search, found, want)
			}
		}
	})

	t.Run("a search folds apostrophes, dashes and white space", func(t *testing.T) {
		tenant := newTenant(t, b)
		wanted := sample.Recipient(func(r *domain.Recipient) { r.Name = "Adwoa O’Neil  Yeboah–Hene" })
		addRecipient(t, b, tenant, wanted)
		addRecipient(t, b, tenant, sample.Recipient(func(r *domain.Recipient) { r.Name = "Yeboah Hene, Adwoa Neil O" }))
		for search, want := range map[string][]domain.Recipient{
			"o'neil": {wanted}, "O’Neil": {wanted}, "Oʼneil": {wanted}, "neil yeboah": {wanted}, "NEIL\u00a0 YEBOAH": {wanted},
			"yeboah-hene": {wanted}, "Yeboah—Hene": {wanted}, "o'neil yeboah-hene": {wanted}, "'n": {wanted}, "’": {wanted}, "l y": {wanted},
			"o neil": nil, "yeboah'hene": nil, "neil-yeboah": nil, "hene " + string(wanted.PhoneNumber): nil,
		} {
			for _, limit := range []int{1, 5} {
				got := pages(t, limit, func(p domain.PageRequest) ([]domain.Recipient, error) {
					return b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: search}, p)
				}, recipientPosition)
				wantEqual(t, "search "+search, got, want)
			}
		}
		all := must(b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: " "}, domain.PageRequest{Limit: 5}))(t)
		wantEqual(t, "found by white space alone", len(all), 2)
	})

	t.Run("a search finds a few among many, whatever the page and however long the text", func(t *testing.T) {
		tenant, other := newTenant(t, b), newTenant(t, b)
		long := "Nana Akosua Boateng-Mensah of the old "
		var wanted []domain.Recipient
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for i := range 400 {
				r := sample.Recipient(func(r *domain.Recipient) {
					r.Name, r.CreatedAt = long+"corner shop", sample.Now.Add(time.Duration(i)*time.Millisecond)
					if i%60 == 59 {
						r.Name = long + "Fire Station"
						wanted = append(wanted, *r)
					}
				})
				if _, _, err := tx.Recipients.Add(ctx, tenant, r); err != nil {
					return err
				}
			}
			_, _, err := tx.Recipients.Add(ctx, other, sample.Recipient(func(r *domain.Recipient) { r.Name = long + "fire station" }))
			return err
		})
		for _, search := range []string{"FIRE stat", "fi", strings.ToUpper(long) + "fire", "d fire station!"} {
			want := wanted
			if strings.HasSuffix(search, "!") {
				want = nil
			}
			for _, limit := range []int{1, 2, len(wanted), 100} {
				got := pages(t, limit, func(p domain.PageRequest) ([]domain.Recipient, error) {
					return b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: search}, p)
				}, recipientPosition)
				wantEqual(t, "search "+search, append([]domain.Recipient{}, got...), append([]domain.Recipient{}, want...))
			}
		}
		wantEqual(t, "by phone number as it is typed", must(b.Read().Recipients.List(t.Context(), tenant,
			domain.RecipientFilter{Search: "no such text", SearchPhone: string(wanted[2].PhoneNumber)[3:]}, domain.PageRequest{Limit: 5}))(t),
			wanted[2:3])
	})

	t.Run("a search passes over records that have all parts of the text and not the text", func(t *testing.T) {
		tenant := newTenant(t, b)
		text := "Nana Akosua Boateng-Mensah of the old Fire Station"
		nearly := "Akosua Boateng-Mensah of the old Fire Station, Nana Akosua Boateng-Mensah of the old Fire"
		var wanted []domain.Recipient
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for i := range 400 {
				r := sample.Recipient(func(r *domain.Recipient) {
					r.Name, r.CreatedAt = "Kofi", sample.Now.Add(time.Duration(i)*time.Millisecond)
					switch {
					case slices.Contains([]int{5, 300, 350, 398}, i):
						r.Name = text
						wanted = append(wanted, *r)
					case i%3 == 0:
						r.Name = nearly
					}
				})
				if _, _, err := tx.Recipients.Add(ctx, tenant, r); err != nil {
					return err
				}
			}
			return nil
		})
		for _, limit := range []int{1, 2, 3, len(wanted), 100} {
			got := pages(t, limit, func(p domain.PageRequest) ([]domain.Recipient, error) {
				return b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: text}, p)
			}, recipientPosition)
			wantEqual(t, "search", got, wanted)
		}
	})

	t.Run("a list by phone number has that one", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipients := manyRecipients(t, b, tenant)
		list := func(f domain.RecipientFilter) []domain.Recipient {
			t.Helper()
			return must(b.Read().Recipients.List(t.Context(), tenant, f, domain.PageRequest{Limit: 50}))(t)
		}
		wantEqual(t, "by phone number", list(domain.RecipientFilter{PhoneNumber: recipients[3].PhoneNumber}), recipients[3:4])
		wantEqual(t, "and a search that fits", list(domain.RecipientFilter{PhoneNumber: recipients[3].PhoneNumber, Search: "AMA"}),
			recipients[3:4])
		for _, f := range []domain.RecipientFilter{
			{PhoneNumber: recipients[3].PhoneNumber, Search: "kwame"}, {PhoneNumber: "+233200000000"},
			{PhoneNumber: recipients[3].PhoneNumber[:12]}, {PhoneNumber: "\x00"},
		} {
			if got := list(f); len(got) != 0 {
				t.Errorf("%+v finds %d recipients, want none", f, len(got))
			}
		}
	})
}

func addRecipient(t testing.TB, b ports.Database, tenant domain.Tenant, r domain.Recipient) (stored domain.Recipient, created bool) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		stored, created, err = tx.Recipients.Add(ctx, tenant, r)
		return err
	})
	return stored, created
}

// manyRecipients stores seven, some at the same time, and returns them in the
// order of lists.
func manyRecipients(t testing.TB, b ports.Database, tenant domain.Tenant) []domain.Recipient {
	t.Helper()
	var recipients []domain.Recipient
	for i := range 7 {
		recipients = append(recipients, sample.Recipient(func(r *domain.Recipient) {
			r.CreatedAt = sample.Now.Add(time.Duration(i/3) * time.Millisecond)
		}))
	}
	for i := range recipients { // the order of storing must not matter
		addRecipient(t, b, tenant, recipients[(i*3+5)%len(recipients)])
	}
	return recipients
}

func recipientPosition(r domain.Recipient) domain.Position {
	return domain.Position{CreatedAt: r.CreatedAt, ID: r.ID}
}
