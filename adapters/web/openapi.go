package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Description is the OpenAPI document of an API. Treat its results as read-only.
type Description struct {
	YAML func() []byte
	JSON func() []byte // the same document, with members in the order of the YAML
}

// DescriptionOf returns the description of an embedded YAML document. The first request for
// JSON converts it.
func DescriptionOf(document []byte) Description {
	return Description{
		YAML: func() []byte { return document },
		JSON: sync.OnceValue(func() []byte {
			converted, err := JSONOf(document)
			if err != nil {
				// The document is embedded, and the tests read it.
				panic(fmt.Errorf("openapi.yaml: %w", err))
			}
			return converted
		}),
	}
}

// JSONOf converts a YAML document to JSON and keeps the order of members. Dates and times
// become strings.
func JSONOf(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := appendJSON(&b, &root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func appendJSON(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return appendJSON(b, n.Content[0])
	case yaml.SequenceNode:
		return appendAll(b, '[', ']', len(n.Content), func(i int) error { return appendJSON(b, n.Content[i]) })
	case yaml.MappingNode:
		return appendAll(b, '{', '}', len(n.Content)/2, func(i int) error {
			name := n.Content[2*i]
			if name.Kind != yaml.ScalarNode || name.ShortTag() == "!!merge" {
				return fmt.Errorf("line %d: a name is no text", name.Line)
			}
			if err := appendValue(b, name.Value); err != nil { // a string, though 404 is none
				return err
			}
			b.WriteByte(':')
			return appendJSON(b, n.Content[2*i+1])
		})
	}
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: an alias has no form in JSON", n.Line)
	}
	var value any = n.Value
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float":
		if err := n.Decode(&value); err != nil {
			return err
		}
	}
	return appendValue(b, value)
}

func appendAll(b *bytes.Buffer, begin, end byte, n int, one func(i int) error) error {
	b.WriteByte(begin)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := one(i); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

func appendValue(b *bytes.Buffer, value any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	b.Truncate(len(bytes.TrimSuffix(b.Bytes(), []byte("\n")))) // removes the line feed of the encoder
	return err
}
