package admin

import (
	"strings"
	"testing"

	"waybill/ports"
)

func TestWhereTheRowsOfBusinessesAreIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema ports.SchemaStatus
		want   string
	}{
		{ports.SchemaStatus{Nodes: 2, Distributed: true}, "distributed over 2 nodes of Citus."},
		{ports.SchemaStatus{Nodes: 2, HalfDistributed: true}, "Only some tables"},
		{ports.SchemaStatus{Nodes: 1}, "1 node of Citus, and all rows are on the coordinator: waybill migrate distribute"},
	} {
		if got := distributionOf(c.schema); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q lacks %q", c.schema, got, c.want)
		}
	}
}
