package httpapi

import (
	"slices"
	"testing"
)

func TestAFieldIsRecordedWithItsCodeAndNoSeparatorOfAClient(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, f := range [][2]string{{"recipient.address.latitude", "out_of_range"}, {"a,b:c", "meant:phone_number"}, {"old", ""}, {"", "required"}} {
		fields = appendField(fields, f[0], f[1])
	}
	if want := []string{"recipient.address.latitude:out_of_range", "a_b_c:meant:phone_number", "old"}; !slices.Equal(fields, want) {
		t.Errorf("%q, want %q", fields, want)
	}
}
