package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testIdempotency(t *testing.T, b ports.Database) {
	find := func(t testing.TB, tenant domain.Tenant, key string) (domain.KeyRecord, error) {
		return b.Read().Idempotency.Find(t.Context(), tenant, key)
	}
	claim := func(t testing.TB, tenant domain.Tenant, r domain.KeyRecord, retention time.Duration) error {
		return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Idempotency.Claim(ctx, tenant, r, retention)
		})
	}

	t.Run("every field comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		full := sample.KeyRecord(func(r *domain.KeyRecord) {
			r.Key = `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`
			r.Answer.Body = []byte("{\"name\":\"K\u00f6fi\"}\n\x00\xff") // bytes, whatever they mean
		})
		wantFilled(t, full, "KeyRecord.LeaseLeft") // of a bulk under way alone
		bare := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer.Location = "" })
		for _, record := range []domain.KeyRecord{full, bare} {
			if err := claim(t, tenant, record, time.Hour); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "Find", must(find(t, tenant, record.Key))(t), record)
		}
	})

	t.Run("an unknown key is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		for _, key := range append(oddTexts, "", "never-used") {
			wantError(t, "Find "+key, errorOf(find(t, tenant, key)), domain.ErrNotFound)
		}
	})

	t.Run("a claim is completed in its transaction", func(t *testing.T) {
		tenant := newTenant(t, b)
		record := sample.KeyRecord()
		answer := record.Answer
		record.Answer = domain.Answer{}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Idempotency.Claim(ctx, tenant, record, time.Hour); err != nil {
				return err
			}
			return tx.Idempotency.Complete(ctx, tenant, record.Key, answer)
		})
		record.Answer = answer
		wantEqual(t, "Find", must(find(t, tenant, record.Key))(t), record)

		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Idempotency.Complete(ctx, tenant, record.Key, domain.Answer{Status: 200, Body: []byte("another")})
		})
		if err == nil {
			t.Error("an answer that was given could be replaced")
		}
		wantEqual(t, "Find", must(find(t, tenant, record.Key))(t), record)
	})

	t.Run("a taken key is refused and stays as it is", func(t *testing.T) {
		tenant := newTenant(t, b)
		first := sample.KeyRecord()
		if err := claim(t, tenant, first, time.Hour); err != nil {
			t.Fatal(err)
		}
		second := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key = first.Key })
		wantError(t, "the second claim", claim(t, tenant, second, time.Hour), ports.ErrKeyTaken)
		wantEqual(t, "Find", must(find(t, tenant, first.Key))(t), first)

		// Case counts.
		other := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key = "K" + first.Key[1:] })
		if err := claim(t, tenant, other, time.Hour); err != nil {
			t.Errorf("claim of a key that differs in case: %v", err)
		}
	})

	t.Run("a key is one per application and environment", func(t *testing.T) {
		tenant := newTenant(t, b)
		key := sample.KeyRecord().Key
		for name, tenant := range map[string]domain.Tenant{
			"the tenant": tenant, "its other environment": live(tenant),
			"another application": newSibling(t, b, tenant), "another business": newTenant(t, b),
		} {
			record := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key = key })
			if err := claim(t, tenant, record, time.Hour); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wantEqual(t, name, must(find(t, tenant, key))(t), record)
		}
	})

	t.Run("an expired key is not found and can be taken over", func(t *testing.T) {
		tenant := newTenant(t, b)
		first := sample.KeyRecord()
		if err := claim(t, tenant, first, 3*time.Second); err != nil {
			t.Fatal(err)
		}
		second := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key, r.Answer.Location = first.Key, "" })
		wantError(t, "a claim before it expires", claim(t, tenant, second, time.Hour), ports.ErrKeyTaken)
		eventually(t, "the key expires", func() bool {
			_, err := find(t, tenant, first.Key)
			return errors.Is(err, domain.ErrNotFound)
		})
		if err := claim(t, tenant, second, time.Hour); err != nil {
			t.Fatalf("take over: %v", err)
		}
		wantEqual(t, "Find", must(find(t, tenant, first.Key))(t), second)
		wantError(t, "a third claim", claim(t, tenant, first, time.Hour), ports.ErrKeyTaken)
	})

	t.Run("of many that take over an expired key one wins", func(t *testing.T) {
		tenant := newTenant(t, b)
		key := sample.KeyRecord()
		if err := claim(t, tenant, key, 0); err != nil {
			t.Fatal(err)
		}
		records := make([]domain.KeyRecord, 16)
		errs := together(len(records), func(i int) error {
			records[i] = sample.KeyRecord(func(r *domain.KeyRecord) { r.Key = key.Key })
			return claim(t, tenant, records[i], time.Hour)
		})
		wantOneWinner(t, errs, ports.ErrKeyTaken)
		for i, err := range errs {
			if err == nil {
				wantEqual(t, "Find", must(find(t, tenant, key.Key))(t), records[i])
			}
		}
	})

	t.Run("a second claim waits for the first to decide", func(t *testing.T) {
		tenant := newTenant(t, b)
		key := sample.KeyRecord()
		claimed, second := make(chan struct{}), make(chan error, 1)
		wantError(t, "the first", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Idempotency.Claim(ctx, tenant, key, time.Hour); err != nil {
				return err
			}
			go func() {
				close(claimed)
				second <- claim(t, tenant, key, time.Hour)
			}()
			<-claimed
			select {
			case err := <-second:
				t.Errorf("the second claim did not wait: %v", err)
				second <- err
			case <-time.After(100 * time.Millisecond):
			}
			return errChangedMind
		}), errChangedMind)
		if err := <-second; err != nil {
			t.Errorf("the second claim, after the first was rolled back: %v", err)
		}
	})
}
