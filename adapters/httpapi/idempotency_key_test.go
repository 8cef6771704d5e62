package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waybill/domain"
)

func TestAnIdempotencyKeyHasEightTo255PrintableCharacters(t *testing.T) {
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'k'
	}
	for _, good := range []string{"12345678", string(long[:255]), "with space and ~"} {
		key, err := idempotencyKey([]string{good}, true)
		require.NoError(t, err)
		require.Equal(t, good, key)
	}
	for _, bad := range []string{"1234567", string(long), "tab\tinside", "ümlaut-key", "bell\x07bell"} {
		_, err := idempotencyKey([]string{bad}, false)
		require.True(t, domain.HasCode(err, domain.CodeValidation), bad)
	}
	_, err := idempotencyKey(nil, true)
	require.True(t, domain.HasCode(err, domain.CodeIdempotencyKeyRequired))
	_, err = idempotencyKey([]string{""}, true)
	require.True(t, domain.HasCode(err, domain.CodeIdempotencyKeyRequired))
	_, err = idempotencyKey(nil, false)
	require.NoError(t, err)
	_, err = idempotencyKey([]string{"12345678", "12345678"}, true)
	require.True(t, domain.HasCode(err, domain.CodeValidation), "sent twice")
}
