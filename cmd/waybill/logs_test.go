package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/adapters/telemetry"
)

// keyAt is where the keys begin among what a method of a logger takes.
var keyAt = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "With": 0,
	"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2,
}

// A key that is not listed shows as omitted, and is found missing when it is needed.
func TestEveryKeyThatIsLoggedMayBeShown(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, folder := range []string{"../../adapters", "../../application", "../../cmd"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, key := range loggedKeys(n) {
					if seen++; !telemetry.Loggable[key] {
						t.Errorf("%s logs %q, which shows as omitted: list it in loggable, if it can never be personal or secret", path, key)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 30 {
		t.Errorf("only %d keys were found", seen)
	}
}

// loggedKeys are the keys in a call of a logger: what is called log, Log or Logger.
func loggedKeys(n ast.Node) (keys []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if isAttribute(method) {
		if key, ok := literal(call.Args[0]); ok {
			keys = append(keys, key) // "" is a group that adds no name
		}
		return keys
	}
	name := ""
	switch logger := method.X.(type) {
	case *ast.Ident:
		name = logger.Name
	case *ast.SelectorExpr:
		name = logger.Sel.Name
	}
	first, known := keyAt[method.Sel.Name]
	if !known || !slices.Contains([]string{"log", "logger", "slog"}, strings.ToLower(name)) {
		return nil
	}
	for i := first; i < len(call.Args); i++ {
		key, ok := literal(call.Args[i])
		if !ok {
			continue // an attribute, whose own call is looked at
		}
		keys = append(keys, key)
		i++ // its value
	}
	return keys
}

// isAttribute reports whether a call makes an attribute of a line.
func isAttribute(f *ast.SelectorExpr) bool {
	makes := []string{"String", "Int", "Int64", "Uint64", "Float64", "Bool", "Time", "Duration", "Any"}
	name, ok := f.X.(*ast.Ident)
	return ok && name.Name == "slog" && slices.Contains(makes, f.Sel.Name)
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// logged returns the log lines of a program with this message.
func logged(t *testing.T, r *running, said string) (lines []object) {
	t.Helper()
	for line := range strings.Lines(r.stderr.String()) {
		var fields object
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("logged %q: %v", line, err)
		}
		if fields["msg"] == said {
			lines = append(lines, fields)
		}
	}
	return lines
}

func TestARequestIsLoggedWithItsKeyAndItsOwnIDApart(t *testing.T) {
	t.Parallel()
	environ := append(served(t), "WAYBILL_TRUSTED_PROXIES=127.0.0.0/8", "WAYBILL_RATE_LIMIT_PER_KEY=2/60s")
	r, v := startServe(t, environ)
	_, app := madeApp(t, environ)
	key := made(t, environ, "key", "create", "--app", app, "--env", "live", "--scopes", "all")
	id, secret := key["id"].(string), key["key"].(string)
	ask := func(key, from, own string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.Live+"/api-key", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("X-Forwarded-For", from)
		if own != "" {
			request.Header.Set("X-Request-ID", own)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if shown := response.Header.Get("X-Request-ID"); own != "" && shown != own {
			t.Errorf("sent %s, got %s", own, shown)
		}
	}
	const forged = "req_00000000000000000000000000000001"
	ask(secret, "198.51.100.77", forged)
	ask(secret, "198.51.100.77", "")
	ask(secret, "198.51.100.77", "") // beyond the limit
	ask("nonsense", "2001:db8:1:2ff::77", "")
	var lines []object
	eventually(t, "all is logged", func() bool { lines = logged(t, r, "request"); return len(lines) >= 4 })
	for i, want := range []object{
		{"status": 200.0, "key_id": id, "client_request_id": forged, "client_network": nil},
		{"status": 200.0, "key_id": id, "client_request_id": nil, "client_network": nil},
		{"status": 429.0, "key_id": id, "client_request_id": nil, "client_network": "198.51.100.0/24"},
		{"status": 401.0, "key_id": nil, "client_request_id": nil, "client_network": "2001:db8:1:200::/56"},
	} {
		for name, value := range want {
			if lines[i][name] != value {
				t.Errorf("line %d: %s is %v, want %v", i, name, lines[i][name], value)
			}
		}
		if ours, _ := lines[i]["request_id"].(string); !strings.HasPrefix(ours, "req_") || ours == forged {
			t.Errorf("line %d: request_id is %q", i, ours)
		}
	}
	for _, never := range []string{secret, "198.51.100.77", "2ff::77"} {
		if strings.Contains(r.stderr.String(), never) {
			t.Errorf("%s was logged", never)
		}
	}
	r.terminate(t)
}
