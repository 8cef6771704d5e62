package strictjson_test

import (
	"encoding/json"
	"testing"

	"waybill/adapters/web/strictjson"
)

// createBody is a create request of about 1 KB, as integrators send it.
const createBody = `{
  "external_id": "order-2024-000123",
  "recipient": {
    "phone_number": "+233241234567",
    "name": "Ama Serwaa Mensah",
    "address": {
      "address": "12 Liberation Road, Airport Residential Area, next to the old cinema",
      "latitude": 5.603717,
      "longitude": -0.186964,
      "municipality": "Accra Metropolitan",
      "label": "Home",
      "delivery_notes": "Call at the gate, the bell is broken. Ask for Kofi if nobody answers the phone."
    }
  },
  "pickup": {
    "name": "Adom Foods, Osu branch",
    "contact": "+233302123456",
    "address": "Oxford Street 45, Osu, Accra, behind the filling station",
    "latitude": 5.5571,
    "longitude": -0.1818
  },
  "vehicle_type": "bike",
  "payment": {
    "type": "cod",
    "goods_value": 245.50
  },
  "delivery_instructions": "Keep the box upright, please. It holds glass jars and one cake that must not be turned over.",
  "sandbox": {
    "scenario": "delivered",
    "step_seconds": 15
  }
}`

var (
	addressShape = strictjson.Object{
		"address": strictjson.Leaf, "latitude": strictjson.Leaf, "longitude": strictjson.Leaf,
		"municipality": strictjson.Leaf, "label": strictjson.Leaf, "delivery_notes": strictjson.Leaf,
	}
	createShape = strictjson.Object{
		"external_id": strictjson.Leaf,
		"recipient": strictjson.Object{
			"phone_number": strictjson.Leaf, "name": strictjson.Leaf, "address": addressShape,
		},
		"pickup": strictjson.Object{
			"name": strictjson.Leaf, "contact": strictjson.Leaf, "address": strictjson.Leaf,
			"latitude": strictjson.Leaf, "longitude": strictjson.Leaf,
		},
		"vehicle_type":          strictjson.Leaf,
		"payment":               strictjson.Object{"type": strictjson.Leaf, "goods_value": strictjson.Leaf},
		"delivery_instructions": strictjson.Leaf,
		"sandbox":               strictjson.Object{"scenario": strictjson.Leaf, "step_seconds": strictjson.Leaf},
	}
	bulkShape    = strictjson.Object{"deliveries": strictjson.ArrayOf(createShape)}
	vehicleTypes = []string{"bike", "car", "van", "truck"}
)

// readCreate reads every field of a create request, as its handler would.
func readCreate(r *strictjson.Reader) {
	r.Text("external_id", strictjson.Optional, strictjson.Length(1, 128))
	recipient := r.Object("recipient", strictjson.Optional)
	recipient.Text("phone_number", strictjson.Required)
	recipient.Text("name", strictjson.Optional, strictjson.Length(1, 128))
	address := recipient.Object("address", strictjson.Required)
	address.Text("address", strictjson.Required, strictjson.Length(2, 500), strictjson.Multiline())
	address.Number("latitude", strictjson.Required, strictjson.Between(-90, 90))
	address.Number("longitude", strictjson.Required, strictjson.Between(-180, 180))
	address.Text("municipality", strictjson.Optional, strictjson.Length(1, 128))
	address.Text("label", strictjson.Optional, strictjson.Length(1, 64))
	address.Text("delivery_notes", strictjson.Optional, strictjson.Length(0, 500), strictjson.Multiline())
	pickup := r.Object("pickup", strictjson.Optional)
	pickup.Text("name", strictjson.Required, strictjson.Length(1, 128))
	pickup.Text("contact", strictjson.Required)
	pickup.Text("address", strictjson.Required, strictjson.Length(2, 500), strictjson.Multiline())
	pickup.Number("latitude", strictjson.Required, strictjson.Between(-90, 90))
	pickup.Number("longitude", strictjson.Required, strictjson.Between(-180, 180))
	r.Enum("vehicle_type", strictjson.Required, vehicleTypes)
	payment := r.Object("payment", strictjson.Required)
	payment.Enum("type", strictjson.Required, []string{"cod", "delivery_only"})
	value, _ := payment.Decimal("goods_value", strictjson.Optional)
	_, _ = value.MinorUnits(2, 100_000_000)
	r.Text("delivery_instructions", strictjson.Optional, strictjson.Length(0, 500), strictjson.Multiline())
	sandbox := r.Object("sandbox", strictjson.Optional)
	sandbox.Text("scenario", strictjson.Required)
	sandbox.Integer("step_seconds", strictjson.Optional, strictjson.Between(1, 300))
}

func BenchmarkParse(b *testing.B) {
	body := []byte(createBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, bad := strictjson.Parse(body, nil); bad != nil {
			b.Fatal(bad)
		}
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	root, _ := strictjson.Parse([]byte(createBody), nil)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = root.AppendCanonical(buf[:0])
	}
}

func BenchmarkReader(b *testing.B) {
	root, _ := strictjson.Parse([]byte(createBody), nil)
	b.ReportAllocs()
	for b.Loop() {
		r := strictjson.NewReader(root)
		readCreate(r)
		if p := r.Problems(); p != nil {
			b.Fatal(p)
		}
	}
}

// BenchmarkWholeRequest measures all the steps of a create.
func BenchmarkWholeRequest(b *testing.B) {
	body := []byte(createBody)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		root, _ := strictjson.Parse(body, createShape)
		buf = root.AppendCanonical(buf[:0])
		readCreate(strictjson.NewReader(root))
	}
}

// BenchmarkEncodingJSON measures the standard library's lax decoding of the same body into a
// map, for comparison.
func BenchmarkEncodingJSON(b *testing.B) {
	body := []byte(createBody)
	b.ReportAllocs()
	for b.Loop() {
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			b.Fatal(err)
		}
	}
}
