package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// argumentsOf returns the names that an object may have, nested ones in parentheses.
func argumentsOf(schema *jsonschema.Schema) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		text := name
		if slices.Contains(schema.Required, name) {
			text += " (required)"
		}
		if inner := argumentsOf(schema.Properties[name]); inner != "" {
			text += " {" + inner + "}"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// nameArguments adds the right names to the error of arguments that do not fit the tool.
func (s *server) nameArguments(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		called, ok := result.(*sdk.CallToolResult)
		if err != nil || !ok || called.GetError() == nil || !strings.HasPrefix(called.GetError().Error(), "validating ") {
			return result, err
		}
		if params, ok := r.GetParams().(*sdk.CallToolParamsRaw); ok {
			called.Content = nil // the text of the error goes there
			called.SetError(fmt.Errorf("%w\nNothing was sent. The arguments of %s are: %s", called.GetError(), params.Name, s.takes[params.Name]))
		}
		return called, nil
	}
}
