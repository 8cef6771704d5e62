package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"
)

// OpenAPIYAML is the description of the public API, as it is served under
// /v1/openapi.yaml. Treat it as read-only.
//
//go:embed openapi.yaml
var OpenAPIYAML []byte

// OpenAPIJSON is the same document in JSON, its members in the order of the
// YAML. The conversion happens on the first call; treat the result as read-only.
func OpenAPIJSON() []byte { return openAPIJSON() }

var openAPIJSON = sync.OnceValue(func() []byte {
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(OpenAPIYAML, &doc, yaml.UseOrderedMap()); err != nil {
		// The document is part of the program, and the tests read it.
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	var out bytes.Buffer
	if err := writeJSON(&out, doc); err != nil {
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	return out.Bytes()
})

// writeJSON keeps the order of ordered maps, which encoding/json cannot do.
func writeJSON(out *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case yaml.MapSlice:
		out.WriteByte('{')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeScalar(out, fmt.Sprint(item.Key)); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := writeJSON(out, item.Value); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeJSON(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	return writeScalar(out, value)
}

func writeScalar(out *bytes.Buffer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line feed Encode adds
	return nil
}
