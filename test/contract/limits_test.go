package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/domain"
)

// The descriptions are written by hand: what a request may hold is said there and
// in domain/limits.go.
func TestTheDescriptionsHaveTheLimitsThatTheProgramJudgesBy(t *testing.T) {
	t.Parallel()
	public, ops := described(t, httpapi.OpenAPI.YAML()), described(t, opsapi.OpenAPI.YAML())
	for _, c := range []struct {
		document *openapi3.T
		schema   string // Name, or Name.property
		rule     domain.TextRule
	}{
		{public, "RecipientRequest.name", domain.NameRule},
		{public, "AddressRequest.address", domain.AddressRule},
		{public, "AddressRequest.label", domain.LabelRule},
		{public, "AddressRequest.municipality", domain.MunicipalityRule},
		{public, "AddressRequest.delivery_notes", domain.NotesRule},
		{public, "PickupRequest.name", domain.NameRule},
		{public, "PickupRequest.address", domain.AddressRule},
		{public, "PickupLocationRequest.name", domain.NameRule},
		{public, "PickupLocationRequest.address", domain.AddressRule},
		{public, "PickupLocationChange.name", domain.NameRule},
		{public, "PickupLocationChange.address", domain.AddressRule},
		{public, "DeliveryRequest.delivery_instructions", domain.NotesRule},
		{public, "ExternalId", domain.ExternalIDRule},
		{public, "PhoneNumberInput", domain.TextRule{Least: 1, Most: domain.MaxTypedPhone}},
		{public, "WebhookEndpointRequest.description", domain.DescriptionRule},
		{public, "WebhookEndpointChange.description", domain.DescriptionRule},
		{ops, "Name", domain.NameRule},
	} {
		schema := schemaAt(t, c.document, c.schema)
		if schema.MaxLength == nil {
			t.Errorf("%s has no maxLength, want %s", c.schema, c.rule)
		} else if most := int(*schema.MaxLength); most != c.rule.Most || int(schema.MinLength) != c.rule.Least {
			t.Errorf("%s: %d to %d characters, want %s", c.schema, schema.MinLength, most, c.rule)
		}
	}
	for name, most := range map[string]domain.Degrees{"Latitude": domain.MaxLatitude, "Longitude": domain.MaxLongitude} {
		schema := schemaAt(t, public, name)
		if schema.Min == nil || schema.Max == nil || *schema.Min != -float64(most) || *schema.Max != float64(most) {
			t.Errorf("%s: %v to %v, want %s", name, schema.Min, schema.Max, most)
		}
	}
	if got, want := schemaAt(t, public, "IdempotencyKey").Pattern, fmt.Sprintf("^[ -~]{%d,%d}$", domain.MinIdempotencyKey,
		domain.MaxIdempotencyKey); got != want {
		t.Errorf("an Idempotency-Key is %s, want %s", got, want)
	}
	limit := public.Components.Parameters["Limit"].Value.Schema.Value
	if *limit.Max != domain.MaxPage || fmt.Sprint(limit.Default) != fmt.Sprint(domain.DefaultPage) {
		t.Errorf("limit is at most %v and %v where it is not sent, want %d and %d", *limit.Max, limit.Default, domain.MaxPage, domain.DefaultPage)
	}
}

func described(t *testing.T, document []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func schemaAt(t *testing.T, document *openapi3.T, path string) *openapi3.Schema {
	t.Helper()
	name, property, within := strings.Cut(path, ".")
	found := document.Components.Schemas[name]
	if found != nil && within {
		found = found.Value.Properties[property]
	}
	if found == nil || found.Value == nil {
		t.Fatalf("there is no schema %s", path)
	}
	return found.Value
}
