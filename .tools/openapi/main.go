// Program openapi lints the descriptions of the APIs that it is given. It is run
// by .tools/openapi.sh, with the modules of .tools/tools.mod.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/speakeasy-api/openapi/linter"
	"github.com/speakeasy-api/openapi/openapi"
	rules "github.com/speakeasy-api/openapi/openapi/linter"
)

// exceptions are findings that are none here.
var exceptions = []linter.RuleEntry{
	except("owasp-security-hosts-https-oas3", ".*"),                      // the server puts its own addresses in
	except("style-operation-success-response", "`receiveEvent`"),         // has '2XX', which the rule does not know
	except("validation-unknown-properties", "`dependentRequired` found"), // is of JSON Schema 2020-12
}

func except(rule, finding string) linter.RuleEntry {
	yes := true
	return linter.RuleEntry{ID: rule, Match: regexp.MustCompile(finding), Disabled: &yes}
}

func main() {
	var failed error
	for _, path := range os.Args[1:] {
		failed = errors.Join(failed, lint(context.Background(), path))
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// lint fails for every finding, hints included.
func lint(ctx context.Context, path string) error {
	file, err := os.Open(path) //nolint:gosec // named by the caller
	if err != nil {
		return err
	}
	defer file.Close()
	document, broken, err := openapi.Unmarshal(ctx, file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	config := linter.NewConfig()
	config.Extends, config.Rules = []string{"recommended"}, exceptions
	l, err := rules.NewLinter(config)
	if err != nil {
		return err
	}
	found, err := l.Lint(ctx, linter.NewDocumentInfo(document, path), broken, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(found.Results) > 0 {
		return fmt.Errorf("%s:\n%s", path, found.FormatText())
	}
	return nil
}
