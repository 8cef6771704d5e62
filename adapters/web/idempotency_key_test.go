package web

import (
	"net/http"
	"testing"

	"waybill/domain"
)

func TestAnIdempotencyKeyHasEightTo255PrintableCharacters(t *testing.T) {
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'k'
	}
	for _, good := range []string{"12345678", string(long[:255]), "with space and ~"} {
		key, err := IdempotencyKey(http.Header{"Idempotency-Key": []string{good}}, true)
		if err != nil {
			t.Fatal(err)
		}
		if key != good {
			t.Fatalf("key: %q, want %q", key, good)
		}
	}
	for _, bad := range []string{"1234567", string(long), "tab\tinside", "ümlaut-key", "bell\x07bell", domain.MakeAPIKey(domain.Live, [32]byte{1}),
		"once " + domain.MakeOperatorToken([32]byte{2})} {
		_, err := IdempotencyKey(http.Header{"Idempotency-Key": []string{bad}}, false)
		if !domain.HasCode(err, domain.CodeValidation) {
			t.Fatalf("%s: domain.HasCode(err, domain.CodeValidation) is false", bad)
		}
	}
	_, err := IdempotencyKey(http.Header{"Idempotency-Key": nil}, true)
	if !domain.HasCode(err, domain.CodeIdempotencyKeyRequired) {
		t.Fatal("domain.HasCode(err, domain.CodeIdempotencyKeyRequired) is false")
	}
	_, err = IdempotencyKey(http.Header{"Idempotency-Key": []string{""}}, true)
	if !domain.HasCode(err, domain.CodeIdempotencyKeyRequired) {
		t.Fatal("domain.HasCode(err, domain.CodeIdempotencyKeyRequired) is false")
	}
	_, err = IdempotencyKey(http.Header{"Idempotency-Key": nil}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = IdempotencyKey(http.Header{"Idempotency-Key": []string{"12345678", "12345678"}}, true)
	if !domain.HasCode(err, domain.CodeValidation) {
		t.Fatal("sent twice: domain.HasCode(err, domain.CodeValidation) is false")
	}
}
