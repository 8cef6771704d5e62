package architecture

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEveryFileImportsOnlyWhatItsLayerMay(t *testing.T) {
	sources, err := load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 20 {
		t.Fatalf("found %d Go files, so the test looks in the wrong place", len(sources))
	}
	for _, breach := range check(sources) {
		t.Error(breach)
	}
}

func TestEveryArrowIsUsed(t *testing.T) {
	sources, err := load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, s := range sources {
		for _, imported := range s.imports {
			used[area(s.pkg)+" "+area(strings.TrimPrefix(imported, module+"/"))] = true
		}
	}
	for from, targets := range arrows {
		for _, to := range targets {
			if !used[from+" "+to] {
				t.Errorf("no file of %s imports %s any more; take the arrow out of the table", from, to)
			}
		}
	}
}

func TestTheTopLevelHoldsOnlyWhatTheOwnerFixed(t *testing.T) {
	names, err := rootEntries(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unexpected(names) {
		t.Errorf("%s stands at the top level, where only dot files and %s may", name, strings.Join(topLevel, ", "))
	}
}

func TestAnUnexpectedNameAtTheTopLevelIsFound(t *testing.T) {
	got := unexpected([]string{"domain", "Makefile", ".golangci.yml", "pkg", "Dockerfile"})
	if want := []string{"pkg", "Dockerfile"}; !slices.Equal(got, want) {
		t.Errorf("unexpected %v, want %v", got, want)
	}
}

func TestForbiddenImportsAreRefused(t *testing.T) {
	for _, c := range []struct {
		rule, pkg, imported string
	}{
		{"domain: nothing of ours", "domain", "waybill/ports"},
		{"domain: nothing of ours", "domain", "waybill/configs"},
		{"domain: no third party", "domain", "github.com/google/uuid"},
		{"domain: no cgo", "domain", "C"},
		{"domain is flat", "domain/money", "fmt"},
		{"ports: domain only", "ports", "waybill/application/quotes"},
		{"ports: domain only", "ports", "waybill/adapters/storage/gormstore"},
		{"ports: domain only", "ports", "waybill/ports/mocks"},
		{"ports: no third party", "ports", "gorm.io/gorm"},
		{"ports are flat", "ports/storage", "fmt"},
		{"mocks: ports and domain only", "ports/mocks", "waybill/application/quotes"},
		{"application: no adapter", "application/quotes", "waybill/adapters/pricing/tariff"},
		{"application: no configs", "application/quotes", "waybill/configs"},
		{"application: no mocks", "application/quotes", "waybill/ports/mocks"},
		{"application: no command", "application/quotes", "waybill/cmd/waybill"},
		{"application: no format of callers", "application/pickuplocations", "encoding/csv"},
		{"application: no third party", "application/quotes", "github.com/google/uuid"},
		{"application: no arrow", "application/quotes", "waybill/application/deliveries"},
		{"application: an arrow leads one way", "application/idempotency", "waybill/application/deliveries"},
		{"application: a package per area", "application", "fmt"},
		{"adapter: no sibling of another port", "adapters/storage/gormstore", "waybill/adapters/pricing/tariff"},
		{"adapter: no sibling of its port", "adapters/pricing/tariff", "waybill/adapters/pricing/httppricing"},
		{"adapter: no sibling below a sibling", "adapters/httpapi", "waybill/adapters/storage/gormstore/migrations"},
		{"adapter: no use case", "adapters/storage/gormstore", "waybill/application/quotes"},
		{"adapter: no configs", "adapters/pricing/httppricing", "waybill/configs"},
		{"adapter: no mocks", "adapters/pricing/httppricing", "waybill/ports/mocks"},
		{"adapter: adapters/<port>/<technology>", "adapters/storage", "fmt"},
		{"shared: no port", "adapters/upstream", "waybill/ports"},
		{"shared: no port", "adapters/batch", "waybill/ports"},
		{"shared: nothing shared", "adapters/batch", "waybill/adapters/upstream"},
		{"shared: no adapter", "adapters/upstream", "waybill/adapters/pricing/httppricing"},
		{"client: nothing of ours", "adapters/clients/go/waybillapi", "waybill/domain"},
		{"client: no third party", "adapters/clients/go/waybillapi", "github.com/google/uuid"},
		{"client: no sibling", "adapters/httpapi", "waybill/adapters/clients/go/waybillapi"},
		{"edge: no edge", "adapters/httpapi", "waybill/adapters/opsapi"},
		{"edge: no edge's package", "adapters/opsapi", "waybill/adapters/httpapi/forms"},
		{"kit: no edge", "adapters/web", "waybill/adapters/httpapi"},
		{"kit: no other adapter", "adapters/web/views", "waybill/adapters/upstream"},
		{"kit: no use case", "adapters/web", "waybill/application/quotes"},
		{"kit: for edges only", "adapters/pricing/httppricing", "waybill/adapters/web/strictjson"},
		{"pages: no use case", "adapters/pages", "waybill/application/people"},
		{"pages: for edges only", "adapters/pricing/httppricing", "waybill/adapters/pages"},
		{"edge: no adapter", "adapters/httpapi", "waybill/adapters/storage/gormstore"},
		{"edge: no command", "adapters/httpapi", "waybill/cmd/waybill"},
		{"cli: no adapter", "adapters/cli/doctor", "waybill/adapters/storage/gormstore"},
		{"cli: no other edge", "adapters/cli/admin", "waybill/adapters/httpapi"},
		{"cli: no command", "adapters/cli/admin", "waybill/cmd/waybill"},
		{"cli: the client for integrators only", "adapters/cli/admin", "waybill/adapters/clients/go/waybillapi"},
		{"cli: no use case for integrators", "adapters/cli/integrator", "waybill/application/quotes"},
		{"cli: no use case on the terminal", "adapters/cli/term", "waybill/application/quotes"},
		{"cli: only cli reads the settings", "adapters/httpapi", "waybill/configs"},
		{"cobra stays in the commands", "adapters/httpapi", "github.com/spf13/cobra"},
		{"configs: nothing of ours", "configs", "waybill/domain"},
		{"configs: no test", "configs", "waybill/test/sample"},
		{"cmd: no test", "cmd/waybill", "waybill/test/sample"},
		{"cmd: no mocks", "cmd/waybill", "waybill/ports/mocks"},
		{"adapter: no test", "adapters/httpapi", "waybill/test/sample"},
		{"domain: no test", "domain", "waybill/test/sample"},
		{"gorm stays in its adapter", "cmd/waybill", "gorm.io/gorm"},
		{"gin stays in its adapters", "adapters/periodic", "github.com/gin-gonic/gin"},
		{"asynq stays in its adapter", "adapters/periodic", "github.com/hibiken/asynq"},
		{"go-redis stays in its adapters", "adapters/ratelimit/guarded", "github.com/redis/go-redis/v9"},
		{"OpenTelemetry stays in its adapter", "adapters/httpapi", "go.opentelemetry.io/otel/trace"},
		{"templates without calls of methods", "adapters/portal", "html/template"},
		{"templates without calls of methods", "cmd/waybill", "text/template"},
		{"application: no pages", "application/quotes", "github.com/DataDog/datadog-agent/pkg/template/html"},
		{"wire stays in cmd", "adapters/httpapi", "github.com/google/wire"},
		{"test tools stay in tests", "cmd/waybill", "github.com/golang/mock/gomock"},
		{"the root holds no package", "cmd/waybill", "waybill"},
		{"no other layer", "pkg/util", "fmt"},
		{"no package at the root", "", "fmt"},
	} {
		forbidden := source{file: c.pkg + "/forbidden.go", pkg: c.pkg, imports: []string{"strings", c.imported}}
		if breaches := check([]source{forbidden}); len(breaches) != 1 {
			t.Errorf("%s: %s importing %s: breaches %q, want one", c.rule, c.pkg, c.imported, breaches)
		}
	}
}

func TestForbiddenImportsInTestFilesAreRefused(t *testing.T) {
	for _, c := range []struct{ rule, pkg, imported string }{
		{"domain's tests: no adapter", "domain", "waybill/adapters/storage/gormstore"},
		{"domain's tests: no use case", "domain", "waybill/application/quotes"},
		{"use cases' tests: only the adapter of the table", "application/quotes", "waybill/adapters/httpapi"},
		{"use cases' tests: no foreign area", "application/quotes", "waybill/application/recipients"},
		{"adapters' tests: no sibling", "adapters/pricing/tariff", "waybill/adapters/pricing/httppricing"},
		{"adapters' tests: no use case", "adapters/pricing/tariff", "waybill/application/quotes"},
		{"configs' tests: nothing of ours", "configs", "waybill/domain"},
		{"tests: no command", "adapters/httpapi", "waybill/cmd/waybill"},
		{"tests: one way to compare", "test/contract", "github.com/stretchr/testify/require"},
		{"tests: one way to compare", "adapters/web", "github.com/stretchr/testify/assert"},
	} {
		forbidden := source{file: c.pkg + "/forbidden_test.go", pkg: c.pkg, test: true, imports: []string{"testing", c.imported}}
		if breaches := check([]source{forbidden}); len(breaches) != 1 {
			t.Errorf("%s: a test of %s importing %s: breaches %q, want one", c.rule, c.pkg, c.imported, breaches)
		}
	}
}

func TestImportsTheLayersNeedAreAllowed(t *testing.T) {
	for _, s := range []source{
		{pkg: "domain", imports: []string{"time", "crypto/sha256"}},
		{pkg: "ports", imports: []string{"context", "waybill/domain"}},
		{pkg: "ports/mocks", imports: []string{"waybill/domain", "waybill/ports", "github.com/golang/mock/gomock"}},
		{pkg: "application/deliveries", imports: []string{"waybill/domain", "waybill/ports", "waybill/application/idempotency", "log/slog"}},
		{pkg: "application/deliveries/parts", imports: []string{"waybill/application/deliveries", "waybill/application/idempotency"}},
		{pkg: "adapters/httpapi", imports: []string{"waybill/application/quotes", "waybill/adapters/web/strictjson", "github.com/gin-gonic/gin"}},
		{pkg: "adapters/periodic", imports: []string{"waybill/application/quotes", "waybill/domain", "waybill/ports"}},
		{pkg: "adapters/opsapi", imports: []string{"waybill/adapters/web", "waybill/adapters/web/views"}},
		{pkg: "adapters/portal", imports: []string{"waybill/adapters/pages", "waybill/adapters/web", "waybill/application/people",
			"github.com/gin-gonic/gin"}},
		{pkg: "adapters/web", imports: []string{"waybill/adapters/web/strictjson", "waybill/domain", "waybill/ports", "net/http"}},
		{pkg: "adapters/storage/gormstore", imports: []string{"waybill/domain", "waybill/ports", "waybill/adapters/storage/gormstore/migrations",
			"gorm.io/driver/postgres"}},
		{pkg: "adapters/pricing/httppricing", imports: []string{"waybill/adapters/upstream", "waybill/domain", "waybill/ports"}},
		{pkg: "adapters/upstream", imports: []string{"net/http", "waybill/domain"}},
		{pkg: "adapters/redis/autopipeline", imports: []string{"waybill/adapters/batch", "github.com/redis/go-redis/v9"}},
		{pkg: "adapters/cli/admin", imports: []string{"waybill/adapters/cli/term", "waybill/adapters/web/views", "waybill/application/tenancy",
			"waybill/configs", "github.com/spf13/cobra"}},
		{pkg: "adapters/cli/integrator", imports: []string{"waybill/adapters/clients/go/waybillapi", "waybill/adapters/cli/settings",
			"waybill/adapters/upstream"}},
		{pkg: "configs", imports: []string{"os", "github.com/knadh/koanf/v2"}},
		{pkg: "cmd/waybill", imports: []string{"waybill/configs", "waybill/adapters/httpapi", "waybill/application/quotes", "waybill/domain",
			"github.com/spf13/cobra", "github.com/google/wire"}},
		{pkg: "test/bench", imports: []string{"waybill/cmd/waybill", "waybill/test/sample", "github.com/jackc/pgx/v5"}},
		{pkg: "domain", test: true, imports: []string{"waybill/domain", "waybill/test/sample", "pgregory.net/rapid"}},
		{pkg: "application/quotes", test: true, imports: []string{"waybill/ports/mocks", "waybill/adapters/storage/gormstore",
			"github.com/golang/mock/gomock"}},
		{pkg: "adapters/storage/gormstore", test: true, imports: []string{"waybill/adapters/storage/gormstore",
			"waybill/test/conformance/storage", "waybill/test/postgres"}},
		{pkg: "cmd/waybill", test: true, imports: []string{"waybill/adapters/httpapi", "waybill/test/e2e"}},
	} {
		for _, breach := range check([]source{s}) {
			t.Errorf("%q refused: %s", s.pkg, breach)
		}
	}
}

// The rules are only as good as the reading of the files.
func TestAFileThatBreaksARuleIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"domain/clock.go": "package domain\n\nimport \"time\"\n\nvar _ time.Time\n",
		"domain/forbidden.go": "//go:build never\n\npackage domain\n\nimport (\n\t\"fmt\"\n\t_ " +
			"\"waybill/adapters/storage/gormstore\"\n)\n",
		"domain/forbidden_test.go":     "package domain_test\n\nimport db \"waybill/adapters/storage/gormstore\"\n",
		"domain/testdata/ignored.go":   "package ignored\n\nimport _ \"waybill/ports\"\n",
		".scratch/ignored.go":          "package ignored\n\nimport _ \"waybill/ports\"\n",
		"adapters/queue/x/y/z/deep.go": "package deep\n\nimport _ \"waybill/adapters/storage/gormstore\"\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	breaches := check(sources)
	for _, file := range []string{"domain/forbidden.go", "domain/forbidden_test.go", "adapters/queue/x/y/z/deep.go"} {
		if !slices.ContainsFunc(breaches, func(b string) bool {
			return strings.HasPrefix(b, file+" imports waybill/adapters/storage/gormstore")
		}) {
			t.Errorf("%s was not refused; breaches: %q", file, breaches)
		}
	}
	if len(breaches) != 3 {
		t.Errorf("%d breaches, want 3: %q", len(breaches), breaches)
	}
}

// root returns the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// load reads the imports of every Go file below dir, whatever its build tags,
// but for the folders that the go command ignores too.
func load(dir string) ([]source, error) {
	var sources []source
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != dir && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return nil
		}
		s, err := read(dir, file)
		sources = append(sources, s)
		return err
	})
	return sources, err
}

func read(dir, file string) (source, error) {
	relative, err := filepath.Rel(dir, file)
	if err != nil {
		return source{}, err
	}
	relative = filepath.ToSlash(relative)
	pkg := strings.TrimSuffix(relative[:strings.LastIndex("/"+relative, "/")], "/")
	s := source{file: relative, pkg: pkg, test: strings.HasSuffix(relative, "_test.go")}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, fmt.Errorf("%s: import %s: %w", relative, spec.Path.Value, err)
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// rootEntries lists what stands at the top level: what git tracks in a checkout,
// so that an untracked note does not fail the test; outside of git the folder.
func rootEntries(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	inGit := false
	for _, entry := range entries {
		inGit = inGit || entry.Name() == ".git"
		names = append(names, entry.Name())
	}
	if !inGit {
		return names, nil
	}
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z") // in CI another user may own the checkout
	cmd.Dir = dir
	tracked, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	names = nil
	for _, file := range strings.Split(strings.TrimSuffix(string(tracked), "\x00"), "\x00") {
		name, _, _ := strings.Cut(file, "/")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func unexpected(names []string) []string {
	var found []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			found = append(found, name)
		}
	}
	return found
}
